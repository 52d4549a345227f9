//! Fibers.
//!
//! An event is looked up in the list of clauses of the stack that would receive
//! it before anything is switched: a receiver notes its list when it waits, and
//! a new fiber has that of its `fiber.new`. The signal of the switch is the
//! number of the clause; a receiver that waits branches to the label, and a new
//! fiber's thunk calls the function.

use super::find_event;
use crate::intrinsic::FiberOp;
use crate::intrinsic::form::Use;
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{Builtin, ControlBlock, TrapCode};
use std::mem::offset_of;

const KIND: StackKind = StackKind::Fiber;

impl Translator<'_> {
    pub(super) fn fiber_intrinsic(&mut self, op: FiberOp, used: &Use) {
        match op {
            FiberOp::New => self.fiber_new(used, None),
            FiberOp::NewReturning => self.fiber_new(used, Some(used.catches[0].0)),
            FiberOp::Mount => self.fiber_mount(used),
            FiberOp::Switch => self.fiber_switch(used, false),
            FiberOp::Dismount => self.fiber_dismount(used, false),
            FiberOp::Release => self.fiber_release(used),
            FiberOp::DismountRelease => self.fiber_dismount(used, true),
            FiberOp::SwitchRelease => self.fiber_switch(used, true),
        }
    }

    fn fiber_new(&mut self, used: &Use, returns: Option<u32>) {
        let mut values = self.pop_operands(used);
        let functions = values.split_off(values.len() - used.functions.len());
        let none = self.builder.ins().iconst(I64, 0);
        let word = returns.map_or(none, |tag| self.event_word(tag));
        values.extend([self.context, word]);
        let function = functions.first().copied().unwrap_or(none);
        let block = self.new_stack(KIND, used, function, &values);
        let clauses = self.clause_list(used);
        self.store_word(clauses, block, offset_of!(ControlBlock, handlers));
        let reference = self.reference_of_kind(block, KIND);
        let made = self.env.info.function_type(used.function).results()[0];
        self.push_typed(reference, made);
    }

    fn fiber_mount(&mut self, used: &Use) {
        let mut values = self.pop_operands(used);
        let reference = values.pop().expect("the last operand is the fiber");
        let fiber = self.check_reference(reference, KIND);
        let parent = self.load_word(fiber, offset_of!(ControlBlock, parent));
        self.trap_unless_zero(parent, TrapCode::FiberHasParent);
        let innermost = self.load_word(fiber, offset_of!(ControlBlock, innermost));
        let (signal, unhandled) = self.look_up(used, innermost);
        self.wait(used);
        let current = self.current_stack();
        self.attach(fiber, current);
        self.send(used, &values, innermost, signal, unhandled);
    }

    fn fiber_dismount(&mut self, used: &Use, releases: bool) {
        let mut values = self.pop_operands(used);
        let reference = values.pop().expect("the last operand is the fiber");
        let fiber = self.running_fiber(reference);
        let parent = self.load_word(fiber, offset_of!(ControlBlock, parent));
        let (signal, unhandled) = self.look_up(used, parent);
        match releases {
            true => self.release_up_to(fiber),
            false => {
                self.wait(used);
                self.detach(fiber);
            }
        }
        self.send(used, &values, parent, signal, unhandled);
    }

    fn fiber_switch(&mut self, used: &Use, releases: bool) {
        let mut values = self.pop_operands(used);
        let to = values.pop().expect("the last operand is a fiber");
        let from = values.pop().expect("the operand before it is one too");
        let from = self.running_fiber(from);
        let to = self.check_reference(to, KIND);
        self.check_free_unless(to, from);
        let innermost = self.innermost_unless(to, from);
        let list = self.list_unless(used, to, from, innermost);
        let (signal, unhandled) = self.look_up_in(used, list);
        let parent = self.load_word(from, offset_of!(ControlBlock, parent));
        match releases {
            true => self.release_up_to(from),
            false => {
                self.wait(used);
                self.detach(from);
            }
        }
        self.attach(to, parent);
        self.send(used, &values, innermost, signal, unhandled);
    }

    fn fiber_release(&mut self, used: &Use) {
        let reference = self.pop_operands(used)[0];
        self.call_builtin(Builtin::release_fiber, &[reference]);
    }

    // ---- the parts

    /// The block of a fiber, which must be the running one or above it.
    fn running_fiber(&mut self, reference: Value) -> Value {
        let block = self.check_reference_or(reference, KIND, |this| {
            this.call_builtin(Builtin::fiber_not_running, &[reference]);
        });
        self.check_running(block, KIND);
        block
    }

    /// Traps if a fiber has a parent, unless it is the other one.
    fn check_free_unless(&mut self, fiber: Value, other: Value) {
        let parent = self.load_word(fiber, offset_of!(ControlBlock, parent));
        let is_other = self.builder.ins().icmp(IntCC::Equal, fiber, other);
        let nothing = self.builder.ins().iconst(I64, 0);
        let parent = self.builder.ins().select(is_other, nothing, parent);
        self.trap_unless_zero(parent, TrapCode::FiberHasParent);
    }

    /// The stack that is continued when a fiber is; the running one, if the
    /// fiber is the other one, which is about to be suspended.
    fn innermost_unless(&mut self, fiber: Value, other: Value) -> Value {
        let innermost = self.load_word(fiber, offset_of!(ControlBlock, innermost));
        let current = self.current_stack();
        let is_other = self.builder.ins().icmp(IntCC::Equal, fiber, other);
        self.builder.ins().select(is_other, current, innermost)
    }

    /// The clauses of that stack.
    fn list_unless(&mut self, used: &Use, fiber: Value, other: Value, innermost: Value) -> Value {
        let own = self.clause_list(used);
        let list = self.load_word(innermost, offset_of!(ControlBlock, handlers));
        let is_other = self.builder.ins().icmp(IntCC::Equal, fiber, other);
        self.builder.ins().select(is_other, own, list)
    }

    /// Looks an event up in the clauses with which a stack waits; answers the
    /// number of the clause, and the block where to go on if there is none.
    fn look_up(&mut self, used: &Use, receiver: Value) -> (Value, Block) {
        let list = self.load_word(receiver, offset_of!(ControlBlock, handlers));
        self.look_up_in(used, list)
    }

    fn look_up_in(&mut self, used: &Use, list: Value) -> (Value, Block) {
        let word = self.event_word(used.catches[0].0);
        let signal = find_event(&mut self.builder, list, word);
        let [handled, unhandled] = [self.builder.create_block(), self.builder.create_block()];
        self.builder.ins().brif(signal, handled, &[], unhandled, &[]);
        self.enter_sealed(handled);
        (signal, unhandled)
    }

    /// Switches to a stack with an event, and goes on at the clause of the
    /// event that comes back; and behind all this, where the event was not
    /// handled.
    fn send(
        &mut self,
        used: &Use,
        values: &[Value],
        receiver: Value,
        signal: Value,
        unhandled: Block,
    ) {
        let none = self.builder.ins().iconst(I64, 0);
        let delivered = self.most_values(&used.clauses);
        let delivery = self.exchange(receiver, signal, none, values, delivered);
        self.branch_to_clause(&delivery, &used.clauses);
        // Without clauses nothing comes back but exceptions.
        self.builder.ins().trap(trap(TrapCode::Unreachable));
        self.enter_sealed(unhandled);
    }
}
