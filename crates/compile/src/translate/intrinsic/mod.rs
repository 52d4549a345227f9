//! The reserved imports, in line.
//!
//! All designs share with typed continuations the check of a
//! [reference](super::stack_reference) and the [switch](super::switching). A stack
//! that is suspended without a parent is one of these:
//!
//! * a base, or several stacks up to a base, of which the base's reference is
//!   good for one use (bag of stacks);
//! * a task or fiber, or several stacks up to one, whose reference stays the
//!   same and whose parent is null exactly while it is suspended.

mod base;
mod fiber;
mod first_class;
mod stack;
mod task;
mod walk;

use super::switching::Delivery;
use super::{Translator, trap};
use crate::function::THUNKS;
use crate::handlers::clauses_of_use;
use crate::intrinsic::Intrinsic;
use crate::intrinsic::form::Use;
use crate::near::near_function;
use crate::thunk::Thunk;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::signature::DIRECT_PARAMS;
use ropewalk_abi::stack::{ClauseKind, NEXT_GENERATION, StackKind, StackState, kind_bits};
use ropewalk_abi::transfer::transfer_offset;
use ropewalk_abi::{Builtin, ControlBlock, RawVal, StoreContext, TrapCode};
use std::mem::offset_of;
use wasmparser::Operator;

/// Which case of an instruction is emitted. The common one comes first: the
/// running stack is the one that is left, and the other one is suspended alone.
/// Where that is not so it goes to the other, before it has changed anything.
#[derive(Clone, Copy)]
enum Case {
    Common { otherwise: Block },
    Any,
}

impl Translator<'_> {
    /// Opens the `try_table` around a reserved import. It catches no
    /// exceptions.
    pub fn open_form(&mut self, operator: &Operator<'_>) {
        let Operator::TryTable { try_table } = operator else {
            unreachable!("only these open a form");
        };
        match self.is_reachable() {
            true => self.block(try_table.ty),
            false => self.open_unreachable(),
        }
    }

    /// Translates a call of a reserved import.
    pub fn intrinsic(&mut self, used: &Use) {
        if !self.is_reachable() {
            return;
        }
        match used.intrinsic {
            Intrinsic::Stack(op) => self.stack_intrinsic(op, used),
            Intrinsic::Task(op) => self.task_intrinsic(op, used),
            Intrinsic::Fiber(op) => self.fiber_intrinsic(op, used),
            Intrinsic::FirstClass(op) => self.first_class_intrinsic(op, used),
        }
    }

    /// Pops the operands of a call, the first one first.
    fn pop_operands(&mut self, used: &Use) -> Vec<Value> {
        let env = self.env;
        let count = env.info.function_type(used.function).params().len();
        self.stack.split_off(self.stack.len() - count)
    }

    /// Emits an instruction in the common case, and in any.
    fn in_both_cases(&mut self, mut emit: impl FnMut(&mut Self, Case)) {
        let otherwise = self.cold_block();
        emit(self, Case::Common { otherwise });
        self.enter_sealed(otherwise);
        emit(self, Case::Any);
    }

    // ---- new stacks

    /// A new stack: what it is for, where it begins, its function, and the
    /// values that it is made with. Answers its block.
    fn new_stack(
        &mut self,
        kind: StackKind,
        used: &Use,
        function: Value,
        values: &[Value],
    ) -> Value {
        let block = match kind {
            StackKind::Task | StackKind::Fiber => self.free_stack_for_life(),
            _ => self.free_stack(),
        };
        // What can trap comes first: until then the stack stays on the list.
        let sp = self.put_on_new_stack(block, values);
        let next = self.load_word(block, offset_of!(ControlBlock, next_free));
        self.store_to_store(next, offset_of!(StoreContext, free_stacks));
        let state = match kind {
            StackKind::Continuation => StackState::Continuation,
            StackKind::Coroutine => StackState::Coroutine,
            StackKind::Task => StackState::Task,
            StackKind::Fiber => StackState::Fiber,
            StackKind::FirstClass => StackState::FirstClass,
        };
        let parent = match kind {
            StackKind::Task | StackKind::Fiber => self.builder.ins().iconst(I64, 0),
            _ => self.no_parent(),
        };
        let entry = self.thunk_address(used);
        let zero = self.builder.ins().iconst(I64, 0);
        let none = self.builder.ins().iconst(I32, 0);
        let state = self.builder.ins().iconst(I32, state as i64);
        self.store_word(sp, block, offset_of!(ControlBlock, sp));
        self.store_word(zero, block, offset_of!(ControlBlock, fp));
        self.store_word(function, block, offset_of!(ControlBlock, function));
        self.store_word(entry, block, offset_of!(ControlBlock, entry));
        self.store_word(parent, block, offset_of!(ControlBlock, parent));
        self.store_word(zero, block, offset_of!(ControlBlock, sought));
        self.store_word(none, block, offset_of!(ControlBlock, bound));
        self.store_word(state, block, offset_of!(ControlBlock, state));
        block
    }

    /// The reference of a block, as one of a kind.
    fn reference_of_kind(&mut self, block: Value, kind: StackKind) -> Value {
        let reference = self.load_word(block, offset_of!(ControlBlock, reference));
        self.builder.ins().bor_imm_u(reference, kind_bits(kind) as i64)
    }

    /// The first free stack, as [`free_stack`](Self::free_stack), whose present
    /// generation is not the last: it is for one that is made stale in the end.
    fn free_stack_for_life(&mut self) -> Value {
        let first = self.free_stack();
        let reference = self.load_word(first, offset_of!(ControlBlock, reference));
        let one = self.builder.ins().iconst(I64, NEXT_GENERATION as i64);
        let (_, overflow) = self.builder.ins().uadd_overflow(reference, one);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        let block = self.builder.append_block_param(next, I64);
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(overflow, cold, &[], next, &[first.into()]);
        self.enter_sealed(cold);
        let renewed = self.call_builtin(Builtin::renew_free, &[]);
        self.jump(next, &[renewed]);
        self.enter_sealed(next);
        block
    }

    /// Puts the address where stacks begin on top of a new one, and values
    /// behind it; answers the stack pointer.
    fn put_on_new_stack(&mut self, block: Value, values: &[Value]) -> Value {
        let size = values.len() * size_of::<RawVal>();
        let top = self.load_word(block, offset_of!(ControlBlock, top));
        let sp = self.builder.ins().iadd_imm_s(top, -(size as i64));
        if values.len() > DIRECT_PARAMS {
            let limit = self.load_word(block, offset_of!(ControlBlock, limit));
            let fits = self.builder.ins().icmp(IntCC::UnsignedGreaterThan, sp, limit);
            self.builder.ins().trapz(fits, trap(TrapCode::CallStackExhausted));
        }
        let store = self.store_context();
        let start = self.load_constant(store, offset_of!(StoreContext, start) as i32);
        self.store_word(start, sp, 0);
        let values_at = self.builder.ins().iadd_imm_s(sp, size_of::<usize>() as i64);
        for (i, &value) in (0..).zip(values) {
            self.store_word(value, values_at, transfer_offset(i) as usize);
        }
        sp
    }

    /// The number of the code in which the stacks or functions of a call begin.
    fn thunk_number(&self, used: &Use) -> u32 {
        let thunk = Thunk::of(used).expect("the call needs one");
        self.env.thunks.get(&thunk).expect("collected before")
    }

    /// The code in which the stacks that a call makes begin.
    fn thunk_address(&mut self, used: &Use) -> Value {
        let number = self.thunk_number(used);
        let signature = self.builder.import_signature(crate::signature::thunk());
        let function = near_function(&mut self.builder, THUNKS, number, signature);
        self.builder.ins().func_addr(I64, function)
    }

    // ---- tasks and fibers

    /// The block of a task or fiber, which must be the running stack or among its
    /// parents. If the reference is not valid, it does something that traps.
    fn running_one(
        &mut self,
        reference: Value,
        kind: StackKind,
        case: Case,
        complain: impl FnOnce(&mut Self),
    ) -> Value {
        if let Case::Common { otherwise } = case {
            let own = self.current_reference();
            let own = self.builder.ins().bor_imm_u(own, kind_bits(kind) as i64);
            let is_current = self.builder.ins().icmp(IntCC::Equal, reference, own);
            self.go_on_if(is_current, otherwise);
            return self.current_stack();
        }
        let (block, _) = self.check_reference_or(reference, kind, complain);
        self.check_running(block, kind);
        block
    }

    /// The innermost of the stacks that are suspended with a task or fiber, which
    /// has no parent then. If it has one, it does something else. In the common
    /// case it is suspended alone.
    fn innermost_of_suspended(
        &mut self,
        block: Value,
        case: Case,
        has_parent: impl FnOnce(&mut Self, Value),
    ) -> Value {
        let parent = self.load_word(block, offset_of!(ControlBlock, parent));
        if let Case::Common { otherwise } = case {
            let place = offset_of!(ControlBlock, bound) as i32;
            let flags = self.builder.ins().uload32(MemFlagsData::trusted(), block, place);
            let any = self.builder.ins().bor(flags, parent);
            self.go_on_unless(any, otherwise);
            return block;
        }
        has_parent(self, parent);
        self.innermost(block, case)
    }

    /// Traps unless a task or fiber is the running stack or among its parents.
    fn check_running(&mut self, block: Value, kind: StackKind) {
        let code = match kind {
            StackKind::Fiber => TrapCode::FiberNotRunning,
            _ => TrapCode::TaskNotRunning,
        };
        let no_parent = self.no_parent();
        let [search, outwards, found] = std::array::from_fn(|_| self.next_block());
        let [stack] = self.words(search);
        let current = self.current_stack();
        self.jump(search, &[current]);
        self.builder.switch_to_block(search);
        let is_this = self.builder.ins().icmp(IntCC::Equal, stack, block);
        self.builder.ins().brif(is_this, found, &[], outwards, &[]);
        self.enter_sealed(outwards);
        let parent = self.load_word(stack, offset_of!(ControlBlock, parent));
        let is_outermost = self.builder.ins().icmp(IntCC::Equal, parent, no_parent);
        self.builder.ins().trapnz(is_outermost, trap(code));
        self.jump(search, &[parent]);
        self.builder.seal_block(search);
        self.enter_sealed(found);
    }

    /// Notes the clauses of a call, by which the running stack is found.
    fn note_clauses(&mut self, used: &Use) {
        let current = self.current_stack();
        let clauses = self.clause_list(used);
        self.store_other(clauses, current, offset_of!(ControlBlock, handlers));
    }

    /// Makes the running stack wait for another, with the clauses of a call.
    fn wait(&mut self, used: &Use) {
        self.note_clauses(used);
        let current = self.current_stack();
        self.forget_any_through(current);
    }

    /// Takes the running stack and its parents up to a task or fiber out of the
    /// running ones; answers the parent.
    fn detach(&mut self, block: Value, case: Case) -> Value {
        self.suspend_up_to(block, case);
        let parent = self.load_word(block, offset_of!(ControlBlock, parent));
        let nothing = self.builder.ins().iconst(I64, 0);
        self.store_word(nothing, block, offset_of!(ControlBlock, parent));
        parent
    }

    /// Gives a suspended stack a parent, and makes it and those that are
    /// suspended with it ready to be continued.
    fn attach(&mut self, block: Value, parent: Value, case: Case) {
        self.store_word(parent, block, offset_of!(ControlBlock, parent));
        if let Case::Any = case {
            self.disentangle(block);
        }
    }

    /// Makes the reference of a task or fiber stale, and frees the running stack
    /// and its parents up to and with it.
    fn release_one(&mut self, block: Value, case: Case) {
        if let Case::Any = case {
            self.call_builtin(Builtin::release_running, &[block]);
            return;
        }
        let reference = self.load_word(block, offset_of!(ControlBlock, reference));
        let stale = self.builder.ins().iadd_imm_s(reference, NEXT_GENERATION as i64);
        self.store_word(stale, block, offset_of!(ControlBlock, reference));
        self.put_on_free_list(block);
    }

    fn put_on_free_list(&mut self, block: Value) {
        let free = self.load_from_store(offset_of!(StoreContext, free_stacks));
        let state = self.builder.ins().iconst(I32, StackState::Free as i64);
        self.store_word(free, block, offset_of!(ControlBlock, next_free));
        self.store_word(state, block, offset_of!(ControlBlock, state));
        self.store_to_store(block, offset_of!(StoreContext, free_stacks));
    }

    /// What a stack is used for.
    fn load_state(&mut self, block: Value) -> Value {
        let offset = offset_of!(ControlBlock, state) as i32;
        self.builder.ins().uload16(I32, MemFlagsData::trusted(), block, offset)
    }

    fn is_state(&mut self, actual: Value, state: StackState) -> Value {
        self.builder.ins().icmp_imm_u(IntCC::Equal, actual, state as i64)
    }

    // ---- events

    /// The address of the clauses of a call.
    fn clause_list(&mut self, used: &Use) -> Value {
        let clauses = clauses_of_use(used);
        let number = self.env.lists.get(&clauses).expect("collected before");
        let offset = self.env.layout.handler_table(number);
        let context = self.running_context();
        self.builder.ins().iadd_imm_s(context, i64::from(offset))
    }

    /// The word by which clauses for an event are found.
    fn event_word(&mut self, tag: u32) -> Value {
        self.handler_word(tag, ClauseKind::Event)
    }

    /// Looks an event up in the clauses of the stack that would receive it;
    /// answers the signal, or goes on at a block.
    fn look_up(&mut self, tag: u32, receiver: Value, unhandled: Block) -> Value {
        let list = self.load_word(receiver, offset_of!(ControlBlock, handlers));
        let word = self.event_word(tag);
        find_event(&mut self.builder, list, word, unhandled)
    }

    /// How many values at most come with the event of a clause.
    fn most_values(&self, clauses: &[(u32, u32)]) -> usize {
        let count = |(tag, _): &(u32, u32)| self.env.info.tag_type(*tag).params().len();
        clauses.iter().map(count).max().unwrap_or(0)
    }

    /// Branches to the label of the clause that the signal names, with the
    /// values that came. Each signal names one.
    fn branch_to_clause(&mut self, delivery: &Delivery, clauses: &[(u32, u32)]) {
        let env = self.env;
        for (i, (tag, label)) in clauses.iter().enumerate() {
            let number = i as i64 + 1;
            let is_clause = self.builder.ins().icmp_imm_u(IntCC::Equal, delivery.signal, number);
            let [clause, next] = [self.builder.create_block(), self.builder.create_block()];
            match i + 1 == clauses.len() {
                true => self.jump(clause, &[]),
                false => {
                    self.builder.ins().brif(is_clause, clause, &[], next, &[]);
                }
            }
            self.enter_sealed(clause);
            let height = self.stack.len();
            self.receive(env.info.tag_type(*tag).params(), delivery);
            let (block, operands) = self.branch(*label);
            self.jump(block, &operands);
            self.stack.truncate(height);
            self.enter_sealed(next);
        }
    }

    fn no_parent(&mut self) -> Value {
        self.load_from_store(offset_of!(StoreContext, no_parent))
    }
}

/// The number of a word in a list of clauses, counted from one. If it is not
/// there, goes on at a block.
pub(crate) fn find_event(
    builder: &mut FunctionBuilder<'_>,
    list: Value,
    word: Value,
    none: Block,
) -> Value {
    let [begin, search, other, found] = std::array::from_fn(|_| builder.create_block());
    let [number, clause] = [(); 2].map(|()| builder.append_block_param(search, I64));
    let signal = builder.append_block_param(found, I64);
    let one = builder.ins().iconst(I64, 1);
    let load = |builder: &mut FunctionBuilder<'_>, place| {
        builder.ins().load(I64, MemFlagsData::trusted(), place, 0)
    };
    let first = load(builder, list);
    let is_first = builder.ins().icmp(IntCC::Equal, word, first);
    builder.ins().brif(is_first, found, &[one.into()], begin, &[]);
    builder.switch_to_block(begin);
    builder.seal_block(begin);
    let first = load(builder, list);
    builder.ins().jump(search, &[one.into(), first.into()]);
    builder.switch_to_block(search);
    builder.ins().brif(clause, other, &[], none, &[]);
    builder.switch_to_block(other);
    builder.seal_block(other);
    let offset = builder.ins().ishl_imm_u(number, i64::from(size_of::<u64>().trailing_zeros()));
    let place = builder.ins().iadd(list, offset);
    let clause = load(builder, place);
    let next = builder.ins().iadd_imm_s(number, 1);
    let is_this = builder.ins().icmp(IntCC::Equal, clause, word);
    builder.ins().brif(is_this, found, &[next.into()], search, &[next.into(), clause.into()]);
    builder.seal_block(search);
    builder.switch_to_block(found);
    builder.seal_block(found);
    signal
}
