//! Translates the operations of tasks.

use crate::design::OperationCall;
use crate::emit::record::{Records, block};
use crate::emit::trap;
use crate::translate::{Cached, Translator};
use crate::verbs::Case;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{Builtin, TrapCode, ValType};

const KIND: StackKind = StackKind::Task;

pub(super) fn new(t: &mut Translator<'_>, call: &OperationCall) {
    let mut values = t.pop_operands(call.import);
    let function = values.pop().expect("the last operand is the function");
    let block = t.new_stack(KIND, call.thunk_number(), function, &values);
    let reference = t.reference_of_kind(block, KIND);
    t.push_result(reference, call.import);
}

pub(super) fn resume(t: &mut Translator<'_>, call: &OperationCall) {
    let values = t.pop_operands(call.import);
    let types = t.env.info.function_type(call.import).params();
    let back = back_with_results(t, call);
    t.cache_running(Cached::Stack);
    let task = t.check_reference(values[0], KIND);
    t.in_both_cases(|t, case| {
        let innermost = innermost_of_task(t, task, case);
        t.wait(&call.clauses);
        let current = t.current_stack();
        t.attach(task, current, case);
        continue_with(t, &values[1..], &types[1..], innermost, back);
    });
    receive_results(t, call, back);
}

pub(super) fn suspend(t: &mut Translator<'_>, call: &OperationCall) {
    let values = t.pop_operands(call.import);
    let types = t.env.info.function_type(call.import).params();
    let back = back_with_results(t, call);
    t.cache_running(Cached::Reference);
    t.in_both_cases(|t, case| {
        let task = running_task(t, values[0], case);
        let parent = t.detach(task, case);
        continue_with(t, &values[1..], &types[1..], parent, back);
    });
    receive_results(t, call, back);
}

pub(super) fn switchto(t: &mut Translator<'_>, call: &OperationCall) {
    let values = t.pop_operands(call.import);
    let types = t.env.info.function_type(call.import).params();
    let back = back_with_results(t, call);
    t.cache_running(Cached::Reference);
    t.in_both_cases(|t, case| {
        let from = running_task(t, values[0], case);
        let to = t.check_reference(values[1], KIND);
        let innermost = innermost_of_task(t, to, case);
        let parent = t.detach(from, case);
        t.attach(to, parent, case);
        continue_with(t, &values[2..], &types[2..], innermost, back);
    });
    receive_results(t, call, back);
}

pub(super) fn retire(t: &mut Translator<'_>, call: &OperationCall) {
    let values = t.pop_operands(call.import);
    let types = t.env.info.function_type(call.import).params();
    let back = t.back(0);
    t.cache_running(Cached::Reference);
    t.in_both_cases(|t, case| {
        let task = running_task(t, values[0], case);
        let parent = t.get(task, block::PARENT);
        t.release_one(task, case);
        continue_with(t, &values[1..], &types[1..], parent, back);
    });
    t.come_back(back);
    t.unreachable();
}

pub(super) fn release(t: &mut Translator<'_>, call: &OperationCall) {
    let values = t.pop_operands(call.import);
    let task = t.check_reference(values[0], KIND);
    innermost_of_task(t, task, Case::Any);
    t.call_builtin(Builtin::release_suspended, &[task]);
}

// ---- the parts

/// The innermost of the stacks that are suspended with a task. Traps unless the task is suspended.
pub(super) fn innermost_of_task(t: &mut Translator<'_>, task: Value, case: Case) -> Value {
    t.innermost_of_suspended(task, case, |t, parent| {
        t.ins().trapnz(parent, trap(TrapCode::TaskNotSuspended));
    })
}

/// The block of a task. Traps unless it is running.
pub(super) fn running_task(t: &mut Translator<'_>, reference: Value, case: Case) -> Value {
    t.running_one(reference, KIND, case, |t| t.trap_invalid(reference, KIND))
}

/// Switches to another stack with values.
pub(super) fn continue_with(
    t: &mut Translator<'_>,
    values: &[Value],
    types: &[ValType],
    to: Value,
    back: Block,
) {
    let none = t.ins().iconst(I64, 0);
    let reference = t.get(to, block::REFERENCE);
    let carried = t.carry(values, types);
    t.switch_to(to, none, reference, &carried, back);
}

/// The block for the switch back with the results of a call.
pub(super) fn back_with_results(t: &mut Translator<'_>, call: &OperationCall) -> Block {
    t.back(t.env.info.function_type(call.import).results().len())
}

pub(super) fn receive_results(t: &mut Translator<'_>, call: &OperationCall, back: Block) {
    let env = t.env;
    let delivery = t.come_back_regrouped(back);
    t.receive(env.info.function_type(call.import).results(), &delivery);
}
