//! The code of the operations.
//!
//! An event is looked up in the list of clauses of the stack that would receive
//! it before anything is switched: a receiver notes its list when it waits, and
//! a new fiber has that of its `fiber.new`. The signal of the switch is the
//! number of the clause; a receiver that waits branches to the label, and a new
//! fiber's thunk calls the function.

use crate::design::call::OperationCall;
use crate::design::shared::Case;
use crate::emit::record::{Records, block};
use crate::translate::switching::Delivery;
use crate::translate::{Known, Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{Builtin, TrapCode};

const KIND: StackKind = StackKind::Fiber;

impl Translator<'_> {
    pub(crate) fn fiber_new(&mut self, call: &OperationCall) {
        let mut values = self.pop_operands(call);
        let functions = values.split_off(values.len() - call.functions.len());
        values.push(self.running_context());
        let none = self.builder.ins().iconst(I64, 0);
        let function = functions.first().copied().unwrap_or(none);
        let block = self.new_stack(KIND, call, function, &values);
        let clauses = self.clause_list(call);
        self.set(block, block::HANDLERS, clauses);
        let reference = self.reference_of_kind(block, KIND);
        let made = self.env.info.function_type(call.import).results()[0];
        self.push_typed(reference, made);
    }

    pub(crate) fn fiber_mount(&mut self, call: &OperationCall) {
        let mut values = self.pop_operands(call);
        let reference = values.pop().expect("the last operand is the fiber");
        let [back, unhandled] = self.ways_on(call);
        self.know_running(Known::Stack);
        let known = self.known();
        let fiber = self.check_reference(reference, KIND);
        self.in_both_cases(|this, case| {
            let innermost = this.innermost_of_suspended(fiber, case, |this, parent| {
                this.builder.ins().trapnz(parent, trap(TrapCode::FiberHasParent));
            });
            let signal = this.look_up(call.catches[0].0, innermost, unhandled);
            this.wait(call);
            let current = this.current_stack();
            this.attach(fiber, current, case);
            let own = this.reference_of(innermost);
            this.send(call.catches[0].0, &values, [innermost, own], signal, back);
        });
        // A fiber that returns does not know the reference.
        let delivery = self.come_back_regrouped(back);
        self.event_comes(call, &delivery, unhandled, known);
    }

    pub(crate) fn fiber_dismount(&mut self, call: &OperationCall, releases: bool) {
        let mut values = self.pop_operands(call);
        let reference = values.pop().expect("the last operand is the fiber");
        let [back, unhandled] = self.ways_on(call);
        self.know_running(Known::Reference);
        self.in_both_cases(|this, case| {
            let fiber = this.running_fiber(reference, case);
            let parent = this.get(fiber, block::PARENT);
            let signal = this.look_up(call.catches[0].0, parent, unhandled);
            this.leave_fiber(call, fiber, releases, case);
            let own = this.reference_of(parent);
            this.send(call.catches[0].0, &values, [parent, own], signal, back);
        });
        let delivery = self.come_back(back);
        self.event_comes(call, &delivery, unhandled, Known::Reference);
    }

    pub(crate) fn fiber_switch(&mut self, call: &OperationCall, releases: bool) {
        let mut values = self.pop_operands(call);
        let to = values.pop().expect("the last operand is a fiber");
        let from = values.pop().expect("the operand before it is one too");
        let ways = self.ways_on(call);
        self.know_running(Known::Reference);
        let itself = self.cold_block();
        self.in_both_cases(|this, case| {
            let from = this.running_fiber(from, case);
            let (to, own) = this.check_reference_or(to, KIND, |this| this.trap_invalid(to, KIND));
            let [back, unhandled] = ways;
            let innermost = this.innermost_of_suspended(to, case, |this, parent| {
                this.continue_unless(parent, itself)
            });
            let signal = this.look_up(call.catches[0].0, innermost, unhandled);
            let parent = this.leave_fiber(call, from, releases, case);
            this.attach(to, parent, case);
            let own = match case {
                Case::Common { .. } => own,
                Case::Any => this.reference_of(innermost),
            };
            this.send(call.catches[0].0, &values, [innermost, own], signal, back);
            if let Case::Any = case {
                this.enter_sealed(itself);
                this.fiber_switch_to_itself(call, &values, [from, to], ways);
            }
        });
        let [back, unhandled] = ways;
        let delivery = self.come_back(back);
        self.event_comes(call, &delivery, unhandled, Known::Reference);
    }

    /// A switch to a fiber that has a parent must be one from the fiber to
    /// itself.
    pub(crate) fn fiber_switch_to_itself(
        &mut self,
        call: &OperationCall,
        values: &[Value],
        [from, to]: [Value; 2],
        [back, unhandled]: [Block; 2],
    ) {
        let is_itself = self.builder.ins().icmp(IntCC::Equal, from, to);
        self.builder.ins().trapz(is_itself, trap(TrapCode::FiberHasParent));
        self.note_clauses(call);
        let current = self.current_stack();
        let signal = self.look_up(call.catches[0].0, current, unhandled);
        let own = self.current_reference();
        self.send(call.catches[0].0, values, [current, own], signal, back);
    }

    pub(crate) fn fiber_release(&mut self, call: &OperationCall) {
        let reference = self.pop_operands(call)[0];
        self.call_builtin(Builtin::release_fiber, &[reference]);
    }

    // ---- the parts

    /// Where an event comes back to, and where to continue if the one that is sent
    /// is not handled.
    pub(crate) fn ways_on(&mut self, call: &OperationCall) -> [Block; 2] {
        let delivered = self.most_values(&call.clauses);
        [self.back(delivered), self.builder.create_block()]
    }

    /// The block of a fiber, which must be the running one or above it.
    pub(crate) fn running_fiber(&mut self, reference: Value, case: Case) -> Value {
        self.running_one(reference, KIND, case, |this| {
            this.call_builtin(Builtin::fiber_not_running, &[reference]);
        })
    }

    /// Suspends or frees a fiber and what runs below it; returns its parent.
    pub(crate) fn leave_fiber(
        &mut self,
        call: &OperationCall,
        fiber: Value,
        releases: bool,
        case: Case,
    ) -> Value {
        if releases {
            let parent = self.get(fiber, block::PARENT);
            self.release_one(fiber, case);
            return parent;
        }
        self.note_clauses(call);
        self.detach(fiber, case)
    }

    /// The reference under which a stack will be suspended the next time.
    pub(crate) fn reference_of(&mut self, stack: Value) -> Value {
        self.get(stack, block::REFERENCE)
    }

    /// Switches to a stack, whose reference is given, with an event: a tag and its
    /// values.
    pub(crate) fn send(
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

    /// Continues at the clause of the event that comes back; and after all this,
    /// where the event that was sent is not handled, and as much is known of what runs.
    fn event_comes(
        &mut self,
        call: &OperationCall,
        delivery: &Delivery,
        unhandled: Block,
        known: Known,
    ) {
        self.branch_to_clause(delivery, &call.clauses);
        // Without clauses nothing comes back but exceptions.
        self.builder.ins().trap(trap(TrapCode::Unreachable));
        self.enter_sealed(unhandled);
        self.set_known(known);
    }
}
