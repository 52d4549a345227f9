//! Fibers.
//!
//! An event is looked up in the list of clauses of the stack that would receive
//! it before anything is switched: a receiver notes its list when it waits, and
//! a new fiber has that of its `fiber.new`. The signal of the switch is the
//! number of the clause; a receiver that waits branches to the label, and a new
//! fiber's thunk calls the function.

use super::Case;
use crate::intrinsic::form::Use;
use crate::intrinsic::{FiberOp, Intrinsic};
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
            FiberOp::New | FiberOp::NewReturning => self.fiber_new(used),
            FiberOp::Mount => self.fiber_mount(used),
            FiberOp::Switch => self.fiber_switch(used, false),
            FiberOp::Dismount => self.fiber_dismount(used, false),
            FiberOp::Release => self.fiber_release(used),
            FiberOp::DismountRelease => self.fiber_dismount(used, true),
            FiberOp::SwitchRelease => self.fiber_switch(used, true),
        }
    }

    fn fiber_new(&mut self, used: &Use) {
        let mut values = self.pop_operands(used);
        let functions = values.split_off(values.len() - used.functions.len());
        values.push(self.running_context());
        let none = self.builder.ins().iconst(I64, 0);
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
        let [back, unhandled] = self.ways_on(used);
        let fiber = self.check_reference(reference, KIND);
        self.in_both_cases(|this, case| {
            let innermost = this.innermost_of_suspended(fiber, case, |this, parent| {
                this.builder.ins().trapnz(parent, trap(TrapCode::FiberHasParent));
            });
            let signal = this.look_up(used.catches[0].0, innermost, unhandled);
            this.wait(used);
            let current = this.current_stack();
            this.attach(fiber, current, case);
            let own = this.reference_of(innermost);
            this.send(used.catches[0].0, &values, [innermost, own], signal, back);
        });
        self.event_comes(used, [back, unhandled]);
    }

    fn fiber_dismount(&mut self, used: &Use, releases: bool) {
        let mut values = self.pop_operands(used);
        let reference = values.pop().expect("the last operand is the fiber");
        let [back, unhandled] = self.ways_on(used);
        self.in_both_cases(|this, case| {
            let fiber = this.running_fiber(reference, case);
            let parent = this.load_word(fiber, offset_of!(ControlBlock, parent));
            let signal = this.look_up(used.catches[0].0, parent, unhandled);
            this.leave_fiber(used, fiber, releases, case);
            let own = this.reference_of(parent);
            this.send(used.catches[0].0, &values, [parent, own], signal, back);
        });
        self.event_comes(used, [back, unhandled]);
    }

    fn fiber_switch(&mut self, used: &Use, releases: bool) {
        let mut values = self.pop_operands(used);
        let to = values.pop().expect("the last operand is a fiber");
        let from = values.pop().expect("the operand before it is one too");
        let ways = self.ways_on(used);
        let itself = self.cold_block();
        self.in_both_cases(|this, case| {
            let from = this.running_fiber(from, case);
            let (to, own) = this.check_reference_or(to, KIND, |this| this.complain(to, KIND));
            let [back, unhandled] = ways;
            let innermost = this
                .innermost_of_suspended(to, case, |this, parent| this.go_on_unless(parent, itself));
            let signal = this.look_up(used.catches[0].0, innermost, unhandled);
            let parent = this.leave_fiber(used, from, releases, case);
            this.attach(to, parent, case);
            let own = match case {
                Case::Common { .. } => own,
                Case::Any => this.reference_of(innermost),
            };
            this.send(used.catches[0].0, &values, [innermost, own], signal, back);
            if let Case::Any = case {
                this.enter_sealed(itself);
                this.fiber_switch_to_itself(used, &values, [from, to], ways);
            }
        });
        self.event_comes(used, ways);
    }

    /// A switch to a fiber that has a parent must be one from the fiber to
    /// itself.
    fn fiber_switch_to_itself(
        &mut self,
        used: &Use,
        values: &[Value],
        [from, to]: [Value; 2],
        [back, unhandled]: [Block; 2],
    ) {
        let is_itself = self.builder.ins().icmp(IntCC::Equal, from, to);
        self.builder.ins().trapz(is_itself, trap(TrapCode::FiberHasParent));
        self.note_clauses(used);
        let current = self.current_stack();
        let signal = self.look_up(used.catches[0].0, current, unhandled);
        let own = self.current_reference();
        self.send(used.catches[0].0, values, [current, own], signal, back);
    }

    fn fiber_release(&mut self, used: &Use) {
        let reference = self.pop_operands(used)[0];
        self.call_builtin(Builtin::release_fiber, &[reference]);
    }

    // ---- the parts

    /// Where an event comes back to, and where to go on if the one that is sent
    /// is not handled.
    fn ways_on(&mut self, used: &Use) -> [Block; 2] {
        let delivered = self.most_values(&used.clauses);
        [self.back(delivered), self.builder.create_block()]
    }

    /// The block of a fiber, which must be the running one or above it.
    fn running_fiber(&mut self, reference: Value, case: Case) -> Value {
        self.running_one(reference, KIND, case, |this| {
            this.call_builtin(Builtin::fiber_not_running, &[reference]);
        })
    }

    /// Suspends or frees a fiber and what runs below it; answers its parent.
    fn leave_fiber(&mut self, used: &Use, fiber: Value, releases: bool, case: Case) -> Value {
        if releases {
            let parent = self.load_word(fiber, offset_of!(ControlBlock, parent));
            self.release_one(fiber, case);
            return parent;
        }
        self.note_clauses(used);
        self.detach(fiber, case)
    }

    /// The reference under which a stack will be suspended the next time.
    fn reference_of(&mut self, stack: Value) -> Value {
        self.load_word(stack, offset_of!(ControlBlock, reference))
    }

    /// Switches to a stack, whose reference is given, with an event: a tag and its
    /// values.
    fn send(
        &mut self,
        tag: u32,
        values: &[Value],
        [receiver, reference]: [Value; 2],
        signal: Value,
        back: Block,
    ) {
        let carried = self.carry(values, self.env.info.tag_type(tag).params());
        self.switch_to(receiver, signal, reference, &carried, back);
    }

    /// Goes on at the clause of the event that comes back; and behind all this,
    /// where the event that was sent is not handled.
    fn event_comes(&mut self, used: &Use, [back, unhandled]: [Block; 2]) {
        let delivery = match used.intrinsic {
            // A fiber that returns does not know the reference.
            Intrinsic::Fiber(FiberOp::Mount) => self.come_back_anew(back),
            _ => self.come_back(back),
        };
        self.branch_to_clause(&delivery, &used.clauses);
        // Without clauses nothing comes back but exceptions.
        self.builder.ins().trap(trap(TrapCode::Unreachable));
        self.enter_sealed(unhandled);
    }
}
