//! Translates the operations of the bag of stacks.

use crate::design::OperationCall;
use crate::emit::trap;
use crate::translate::{Cached, Translator};
use crate::verbs::Case;
use cranelift_codegen::ir::{InstBuilder, types::*};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{Builtin, TrapCode};

const KIND: StackKind = StackKind::Bag;

pub(super) fn new(t: &mut Translator<'_>, call: &OperationCall) {
    let function = t.pop();
    t.ins().trapz(function, trap(TrapCode::NullFunctionReference));
    let block = t.new_stack(KIND, call.thunk_number(), function, &[]);
    let reference = t.reference_of_kind(block, KIND);
    t.push_result(reference, call.import);
}

pub(super) fn switch(t: &mut Translator<'_>, call: &OperationCall) {
    let mut values = t.pop_operands(call.import);
    let reference = values.pop().expect("the last operand is the stack");
    let env = t.env;
    let results = env.info.function_type(call.import).results();
    let ty = stack_function(t, call);
    let sent = env.info.func_type(ty).params();
    let back = t.back(results.len());
    t.cache_running(Cached::Reference);
    let nothing = t.ins().iconst(I64, 0);
    let block = t.check_target(reference, KIND);
    let otherwise = t.cold_block();
    let common = Case::Common { otherwise };
    let base = t.base(common);
    t.check_alone(block, reference, otherwise);
    let next = t.take_generation(block, reference, KIND);
    let left = t.suspend_to_base(base, KIND, common);
    let carried = t.carry(&[values.as_slice(), &[left]].concat(), sent);
    t.run_base(block);
    t.switch_to(block, nothing, next, &carried, back);
    t.enter_sealed(otherwise);
    let base = t.base(Case::Any);
    let left = t.suspend_to_base(base, KIND, Case::Any);
    let slow = t.cold_block();
    let target = t.consume_group(block, slow);
    let carried = t.carry(&[values.as_slice(), &[left]].concat(), sent);
    t.run_base(target.block);
    t.switch_cold(target.innermost, nothing, target.reference, &carried, back);
    t.enter_sealed(slow);
    t.put_all(&values, &sent[..values.len()]);
    let target = t.consume_any(block, ty, values.len(), Some(left));
    t.run_base(target.block);
    t.continue_stack(&target, back);
    let delivery = t.come_back(back);
    t.receive(results, &delivery);
}

pub(super) fn switch_retire(t: &mut Translator<'_>, call: &OperationCall) {
    let mut values = t.pop_operands(call.import);
    let reference = values.pop().expect("the last operand is the stack");
    let ty = stack_function(t, call);
    let sent = t.env.info.func_type(ty).params();
    let back = t.back(0);
    t.cache_running(Cached::Stack);
    let nothing = t.ins().iconst(I64, 0);
    let block = t.check_target(reference, KIND);
    let otherwise = t.cold_block();
    let common = Case::Common { otherwise };
    let base = t.base(common);
    t.check_freed_at_once(base, common);
    t.check_alone(block, reference, otherwise);
    let next = t.take_generation(block, reference, KIND);
    t.release_base(base, common);
    let carried = t.carry(&[values.as_slice(), &[nothing]].concat(), sent);
    t.run_base(block);
    t.switch_to(block, nothing, next, &carried, back);
    t.enter_sealed(otherwise);
    let slow = t.cold_block();
    let alone = Case::Common { otherwise: slow };
    let base = t.base(alone);
    t.check_freed_at_once(base, alone);
    let target = t.consume_group(block, slow);
    t.release_base(base, alone);
    let carried = t.carry(&[values.as_slice(), &[nothing]].concat(), sent);
    t.run_base(target.block);
    t.switch_cold(target.innermost, nothing, target.reference, &carried, back);
    t.enter_sealed(slow);
    t.put_all(&values, &sent[..values.len()]);
    let target = t.consume_any(block, ty, values.len(), Some(nothing));
    let base = t.base(Case::Any);
    t.release_base(base, Case::Any);
    t.run_base(target.block);
    t.continue_stack(&target, back);
    t.come_back(back);
    t.unreachable();
}

/// Emits a switch that leaves the function: of its frame only the tail call remains, for after the
/// switch back.
pub(super) fn leave_function(
    t: &mut Translator<'_>,
    call: &OperationCall,
    switch: impl FnOnce(&mut Translator<'_>),
) {
    let operands = t.env.info.function_type(call.import).params().len();
    t.free_below(operands);
    t.without_handlers(switch);
}

/// The function type of the stack that a call switches to.
pub(super) fn stack_function(t: &Translator<'_>, call: &OperationCall) -> u32 {
    let params = t.env.info.function_type(call.import).params();
    let operand = *params.last().expect("the last operand is the stack");
    let index = t.env.subtyping().continuation_index(operand);
    t.env.info.cont_function(index.expect("its type is checked"))
}

pub(super) fn bind(t: &mut Translator<'_>, call: &OperationCall) {
    let mut values = t.pop_operands(call.import);
    let reference = values.pop().expect("the last operand is the stack");
    let ty = stack_function(t, call);
    let bound = t.bind(reference, &values, ty, KIND);
    t.push_result(bound, call.import);
}

/// Makes the exception without the stack that is left, and calls the runtime for the rest.
pub(super) fn switch_throw(t: &mut Translator<'_>, call: &OperationCall) {
    let env = t.env;
    let (tag, _) = call.catches[0];
    let reference = t.pop();
    // The runtime adds the stack that is left.
    let null = t.ins().iconst(I64, 0);
    t.push(null);
    let exception = t.new_exception(tag);
    let layout = &env.objects[env.info.tags[tag as usize] as usize];
    let offset = *layout.offsets.last().expect("the last value is the stack");
    let offset = t.index(u64::from(offset));
    let operands = [reference, exception, offset];
    let results = env.info.function_type(call.import).results();
    let delivery = t.switch_by(Builtin::switch_throw, &operands, results.len());
    t.receive(results, &delivery);
}
