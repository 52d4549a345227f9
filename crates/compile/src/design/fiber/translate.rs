//! Translates the operations of fibers.
//!
//! The clause for an event is looked up in the list of its receiver before anything is switched. A
//! receiver sets its list when it waits, and `fiber.new` sets the list of a new fiber. The signal
//! of the switch is the number of the clause. A waiting receiver branches to the label, and the
//! thunk of a new fiber calls the function.

use crate::design::OperationCall;
use crate::emit::record::{Records, block};
use crate::emit::trap;
use crate::translate::{Cached, Translator};
use crate::verbs::{Case, Delivery};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{Builtin, TrapCode};

const KIND: StackKind = StackKind::Fiber;

pub(super) fn new(t: &mut Translator<'_>, call: &OperationCall) {
    let mut values = t.pop_operands(call.import);
    let functions = values.split_off(values.len() - call.functions.len());
    values.push(t.running_context());
    let none = t.ins().iconst(I64, 0);
    let function = functions.first().copied().unwrap_or(none);
    let block = t.new_stack(KIND, call.thunk_number(), function, &values);
    let clauses = t.event_list(&call.clauses);
    t.set(block, block::HANDLERS, clauses);
    let reference = t.reference_of_kind(block, KIND);
    t.push_result(reference, call.import);
}

pub(super) fn mount(t: &mut Translator<'_>, call: &OperationCall) {
    let mut values = t.pop_operands(call.import);
    let reference = values.pop().expect("the last operand is the fiber");
    let [back, unhandled] = targets(t, call);
    t.cache_running(Cached::Stack);
    let cached = t.cached();
    let fiber = t.check_reference(reference, KIND);
    t.in_both_cases(|t, case| {
        let innermost = t.innermost_of_suspended(fiber, case, |t, parent| {
            t.ins().trapnz(parent, trap(TrapCode::FiberHasParent));
        });
        let signal = t.look_up(call.catches[0].0, innermost, unhandled);
        t.wait(&call.clauses);
        let current = t.current_stack();
        t.attach(fiber, current, case);
        let own = reference_of(t, innermost);
        send(t, call.catches[0].0, &values, [innermost, own], signal, back);
    });
    // A fiber that returns does not deliver the reference.
    let delivery = t.come_back_regrouped(back);
    event_comes(t, call, &delivery, unhandled, cached);
}

pub(super) fn dismount(t: &mut Translator<'_>, call: &OperationCall, releases: bool) {
    let mut values = t.pop_operands(call.import);
    let reference = values.pop().expect("the last operand is the fiber");
    let [back, unhandled] = targets(t, call);
    t.cache_running(Cached::Reference);
    t.in_both_cases(|t, case| {
        let fiber = running_fiber(t, reference, case);
        let parent = t.get(fiber, block::PARENT);
        let signal = t.look_up(call.catches[0].0, parent, unhandled);
        leave_fiber(t, call, fiber, releases, case);
        let own = reference_of(t, parent);
        send(t, call.catches[0].0, &values, [parent, own], signal, back);
    });
    let delivery = t.come_back(back);
    event_comes(t, call, &delivery, unhandled, Cached::Reference);
}

pub(super) fn switch(t: &mut Translator<'_>, call: &OperationCall, releases: bool) {
    let mut values = t.pop_operands(call.import);
    let to = values.pop().expect("the last operand is a fiber");
    let from = values.pop().expect("the operand before it is one too");
    let targets = targets(t, call);
    t.cache_running(Cached::Reference);
    let itself = t.cold_block();
    t.in_both_cases(|t, case| {
        let from = running_fiber(t, from, case);
        let (to, own) = t.check_reference_or(to, KIND, |t| t.trap_invalid(to, KIND));
        let [back, unhandled] = targets;
        let innermost =
            t.innermost_of_suspended(to, case, |t, parent| t.continue_unless(parent, itself));
        let signal = t.look_up(call.catches[0].0, innermost, unhandled);
        let parent = leave_fiber(t, call, from, releases, case);
        t.attach(to, parent, case);
        let own = match case {
            Case::Common { .. } => own,
            Case::Any => reference_of(t, innermost),
        };
        send(t, call.catches[0].0, &values, [innermost, own], signal, back);
        if let Case::Any = case {
            t.enter_sealed(itself);
            switch_to_itself(t, call, &values, [from, to], targets);
        }
    });
    let [back, unhandled] = targets;
    let delivery = t.come_back(back);
    event_comes(t, call, &delivery, unhandled, Cached::Reference);
}

/// A switch to a fiber that has a parent must be one from the fiber to itself.
pub(super) fn switch_to_itself(
    t: &mut Translator<'_>,
    call: &OperationCall,
    values: &[Value],
    [from, to]: [Value; 2],
    [back, unhandled]: [Block; 2],
) {
    let is_itself = t.ins().icmp(IntCC::Equal, from, to);
    t.ins().trapz(is_itself, trap(TrapCode::FiberHasParent));
    t.set_clauses(&call.clauses);
    let current = t.current_stack();
    let signal = t.look_up(call.catches[0].0, current, unhandled);
    let own = t.current_reference();
    send(t, call.catches[0].0, values, [current, own], signal, back);
}

pub(super) fn release(t: &mut Translator<'_>, call: &OperationCall) {
    let reference = t.pop_operands(call.import)[0];
    t.call_builtin(Builtin::release_fiber, &[reference]);
}

// ---- the parts

/// The block for the event that comes back, and the block if the event that is sent has no clause.
pub(super) fn targets(t: &mut Translator<'_>, call: &OperationCall) -> [Block; 2] {
    let delivered = t.most_values(&call.clauses);
    [t.back(delivered), t.builder.create_block()]
}

/// The block of a fiber. Traps unless it is running.
pub(super) fn running_fiber(t: &mut Translator<'_>, reference: Value, case: Case) -> Value {
    t.running_one(reference, KIND, case, |t| {
        t.call_builtin(Builtin::fiber_not_running, &[reference]);
    })
}

/// Suspends or frees a fiber and the stacks inside it; returns its parent.
pub(super) fn leave_fiber(
    t: &mut Translator<'_>,
    call: &OperationCall,
    fiber: Value,
    releases: bool,
    case: Case,
) -> Value {
    if releases {
        let parent = t.get(fiber, block::PARENT);
        t.release_one(fiber, case);
        return parent;
    }
    t.set_clauses(&call.clauses);
    t.detach(fiber, case)
}

/// The reference for the next suspension of a stack.
pub(super) fn reference_of(t: &mut Translator<'_>, stack: Value) -> Value {
    t.get(stack, block::REFERENCE)
}

/// Switches to a stack, with its reference, a tag and the values of the event.
pub(super) fn send(
    t: &mut Translator<'_>,
    tag: u32,
    values: &[Value],
    [receiver, reference]: [Value; 2],
    signal: Value,
    back: Block,
) {
    let carried = t.carry(values, t.env.info.tag_type(tag).params());
    t.switch_to(receiver, signal, reference, &carried, back);
}

/// Branches to the clause of the event that comes back. Afterwards continues where the event that
/// was sent has no clause.
fn event_comes(
    t: &mut Translator<'_>,
    call: &OperationCall,
    delivery: &Delivery,
    unhandled: Block,
    cached: Cached,
) {
    t.branch_to_clause(delivery, &call.clauses);
    // Without clauses, only exceptions come back.
    t.ins().trap(trap(TrapCode::Unreachable));
    t.enter_sealed(unhandled);
    t.set_cached(cached);
}
