//! The verbs of stack switching: what a design may emit.
//!
//! A design is made of the methods in this folder, and of methods that any instruction uses. It
//! never writes to a control block except through a verb or
//! [`set`](crate::emit::record::Records::set), and it never emits a switch of its own.
//!
//! | verb | |
//! | --- | --- |
//! | `in_both_cases` | emits an instruction for each [`Case`] |
//! | `pop_operands`, `push_result`, `push_is_same` | operands and results of an operation; whether two references are the same |
//! | [`reference`]: `check_reference`, `check_reference_or`, `trap_invalid` | the block that a reference names, or a trap |
//! | `check_alone`, `check_generation` | whether it is suspended alone; whether its reference has a next generation |
//! | `take_generation`, `consume_group`, `consume_any` | use up a reference: in line, for a group, by the runtime |
//! | `ungroup`, `keep_through`, `forget_through` | maintain which stacks are suspended together |
//! | [`new_stack`]: `new_stack`, `free_stack`, `begin_stack`, `put_on_free_list` | make a stack of the free list new, and give it back |
//! | `reference_of_kind` | the reference to a block, as a value of the program |
//! | [`bind`], [`copy`]: `copy_stack` | put arguments on a suspended stack; copy suspended stacks |
//! | [`base`]: `check_target`, `base`, `no_parent`, `innermost`, `check_freed_at_once` | stacks without a parent, under references for one use; whether one can be freed in line |
//! | `suspend_to_base`, `suspend_below`, `release_base`, `run_base` | leave such a stack, or the stacks inside another; free one; enter one |
//! | [`resumable`]: `running_one`, `innermost_of_suspended` | tasks and fibers, whose references stay the same |
//! | `detach`, `attach`, `release_one` | leave, enter and free one |
//! | [`clause`]: `clause_list`, `event_list`, `set_clauses`, `wait` | say which tags and events a stack handles |
//! | `clause_word`, `event_word`, `most_values`, `look_up` | find the clause for a tag or an event |
//! | `branch_to_clause`, `branch_by_signal` | branch by the signal that came |
//! | `carry`, `put_all`, `load_carried` | values for a switch: in registers, for the runtime, after the runtime |
//! | [`switch`]: `back`, `switch_to`, `switch_into`, `come_back`, `come_back_regrouped`, `receive` | switch, also into a thunk, and continue after the switch back |
//! | `switch_cold`, `continue_stack`, `cold_back`, `rejoin` | the same in the general case |
//! | `switch_by`, `leave_by` | have a builtin switch |
//! | `cache_running` | load what the next switch needs of the running stack |
//!
//! | methods of other layers | |
//! | --- | --- |
//! | [`emit::record`](crate::emit::record): `get_constant`, `get_short`, `set`, `load_word`, `store_word` | fields of records |
//! | [`translate`](crate::translate): `current_stack`, `current_reference`, `running_context`, `store_context`, `running_transfer`, `set_cached`, `reload_running` | the running stack, and its cached fields |
//! | `get_from_store`, `set_in_store`, `set_if_different` | fields of the store; a field that is written only if it changes |
//! | `pop`, `push`, `push_typed`, `new_exception`, `func_ref`, `type_info` | operands and objects |
//! | `call_builtin`, `builtin_call`, `guarded_call`, `emit_call` | calls |
//! | `cold_block`, `enter_sealed`, `jump`, `if_cold`, `continue_if`, `continue_unless`, `unreachable` | blocks |
//!
//! An instruction that switches has this order:
//!
//! ```text
//!   pop the operands
//!   back = back(n)                        the block where control comes back, with n values
//!   cache_running(...)                    load the running stack
//!   check_reference(...)                  traps happen before anything is changed
//!   look_up(...)                          so do searches that may fail
//!   suspend_to_base / detach / release    leave the running stack
//!   take_generation / attach              enter the other one
//!   carry(...), switch_to(...)            nothing may trap between changing links and the switch
//!   come_back(back), receive(...)         push the values that came
//! ```
//!
//! It is emitted twice, for each [`Case`]. The common case must not call the runtime before the
//! switch, since every call spills registers. It makes few stores, since the processor makes one at
//! a time: a link is compared before it is written. So the general case never returns to the common
//! case before the switch. It ends in a switch of its own (`switch_cold`), and both arrive at the
//! same block.
//!
//! A stack that is suspended without a parent is one of these:
//!
//! * a [base](base), or several stacks up to a base, whose reference can be used once (bag of
//!   stacks, first-class stacks);
//! * a [resumable](resumable) stack: a task or fiber, or several stacks up to one. Its reference
//!   stays the same, and its parent is null exactly while it is suspended.

mod base;
mod bind;
mod clause;
mod copy;
mod new_stack;
mod reference;
mod resumable;
mod switch;

pub(crate) use new_stack::NewStack;
pub(crate) use reference::SuspendedStack;
pub(crate) use switch::Delivery;

use crate::emit::record::{block, store};
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::stack::Purpose;

/// Which case of an instruction is emitted. The common case comes first: the running stack is the
/// one that is left, and the other one is suspended alone. Where that does not hold, it continues
/// at the general case before it has changed anything.
#[derive(Clone, Copy)]
pub(crate) enum Case {
    Common { otherwise: Block },
    Any,
}

impl Translator<'_> {
    /// Emits an instruction in the common case and in the general case.
    pub(crate) fn in_both_cases(&mut self, mut emit: impl FnMut(&mut Self, Case)) {
        let otherwise = self.cold_block();
        emit(self, Case::Common { otherwise });
        self.enter_sealed(otherwise);
        emit(self, Case::Any);
    }

    /// Pops the operands of a function, the first one first.
    pub(crate) fn pop_operands(&mut self, function: u32) -> Vec<Value> {
        let count = self.env.info.function_type(function).params().len();
        self.stack.split_off(self.stack.len() - count)
    }

    /// Pushes the single result of a function.
    pub(crate) fn push_result(&mut self, value: Value, function: u32) {
        let env = self.env;
        self.push_typed(value, env.info.function_type(function).results()[0]);
    }

    /// Pushes whether two references are the same. Of a task or fiber the whole word is the
    /// identity: a block gets the next generation when its task or fiber ends, and starts again
    /// with the first one only if nothing names it.
    pub(crate) fn push_is_same(&mut self, a: Value, b: Value) {
        let is_same = self.ins().icmp(IntCC::Equal, a, b);
        let is_same = self.ins().uextend(I32, is_same);
        self.push(is_same);
    }

    fn load_purpose(&mut self, block: Value) -> Value {
        let offset = block::PURPOSE_AND_OWNS.offset;
        self.ins().uload8(I32, MemFlagsData::trusted(), block, offset)
    }

    fn has_purpose(&mut self, actual: Value, purpose: Purpose) -> Value {
        self.ins().icmp_imm_u(IntCC::Equal, actual, purpose as i64)
    }

    /// The parent of bases.
    pub(crate) fn no_parent(&mut self) -> Value {
        self.get_from_store(store::NO_PARENT)
    }
}
