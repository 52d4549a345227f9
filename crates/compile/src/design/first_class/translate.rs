//! Translates the operations of first-class stacks.
//!
//! A stack that switches sets the events that the `try_table`s around it catch, as a list of
//! clauses. An event in the list of its receiver goes straight to the label, as for fibers.
//! The runtime throws any other event there.

use crate::design::OperationCall;
use crate::emit::carry::CARRIED;
use crate::emit::record::{Records, block, store};
use crate::emit::signature;
use crate::emit::trap;
use crate::translate::call::CallTarget;
use crate::translate::{Cached, Translator};
use crate::verbs::{Case, Delivery, NewStack, SuspendedStack};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::builtin::{LEAVE_FREED, LEAVE_SUSPENDED};
use ropewalk_abi::stack::{Purpose, StackKind};
use ropewalk_abi::{Builtin, PARKED, TrapCode};

const KIND: StackKind = StackKind::FirstClass;

pub(super) fn new_stack(t: &mut Translator<'_>, call: &OperationCall) {
    let block = t.free_stack();
    let store = t.store_context();
    let ground = t.get_constant(store, store::GROUND);
    let sp = t.get(block, block::TOP);
    let parent = Some(t.no_parent());
    let clauses = t.event_list(&call.clauses);
    let function = t.ins().iconst(I64, 0);
    t.store_word(ground, sp, 0);
    let purpose = Purpose::FirstClass;
    t.begin_stack(block, NewStack { sp, function, entry: None, parent, purpose });
    t.set(block, block::HANDLERS, clauses);
    let reference = t.reference_of_kind(block, KIND);
    t.push_result(reference, call.import);
}

// ---- events

pub(super) fn switch(t: &mut Translator<'_>, call: &OperationCall, leaving: u64) {
    let mut values = t.pop_operands(call.import);
    let reference = values.pop().expect("the last operand is the stack");
    let (tag, _) = call.catches[0];
    let back = t.back(t.most_values(&call.clauses));
    t.cache_running(Cached::Reference);
    let block = t.check_target(reference, KIND);
    t.set_clauses(&call.clauses);
    let [otherwise, thrown] = [(); 2].map(|()| t.cold_block());
    let common = Case::Common { otherwise };
    t.innermost(block, common);
    let signal = t.look_up(tag, block, thrown);
    let base = base_to_leave(t, leaving, common);
    t.check_generation(reference, otherwise);
    let next = t.take_generation(block, reference, KIND);
    let left = leave_base(t, base, leaving, common);
    let sent: Vec<_> = values.iter().copied().chain(left).collect();
    let types = t.env.info.tag_type(tag).params();
    let carried = t.carry(&sent, types);
    t.run_base(block);
    t.switch_to(block, signal, next, &carried, back);
    t.enter_sealed(otherwise);
    send_any(t, call, block, &values, leaving, [back, thrown]);
    t.enter_sealed(thrown);
    t.put_all(&values, &types[..values.len()]);
    let operands = [reference, t.event_word(tag), t.index(leaving)];
    t.leave_by(Builtin::event_throw, &operands, back);
    let delivery = t.come_back(back);
    event_arrives(t, call, &delivery);
}

/// The base of the running stack. If the switch frees it, it is not a root in the common case: a
/// root outlives the code that runs on it.
pub(super) fn base_to_leave(t: &mut Translator<'_>, leaving: u64, case: Case) -> Value {
    let base = t.base(case);
    if leaving == LEAVE_FREED {
        t.check_freed_at_once(base, case);
    }
    base
}

/// Suspends or frees everything up to the base. Returns the reference to a suspended base.
pub(super) fn leave_base(
    t: &mut Translator<'_>,
    base: Value,
    leaving: u64,
    case: Case,
) -> Option<Value> {
    if leaving == LEAVE_SUSPENDED {
        return Some(t.suspend_to_base(base, KIND, case));
    }
    t.release_base(base, case);
    None
}

/// Switches in the general case.
pub(super) fn send_any(
    t: &mut Translator<'_>,
    call: &OperationCall,
    block: Value,
    values: &[Value],
    leaving: u64,
    [back, thrown]: [Block; 2],
) {
    let (tag, _) = call.catches[0];
    let types = t.env.info.tag_type(tag).params();
    let innermost = t.innermost(block, Case::Any);
    let signal = t.look_up(tag, innermost, thrown);
    let suspends = leaving == LEAVE_SUSPENDED;
    let slow = t.cold_block();
    // A suspended stack may be a group. A stack that is freed in line is alone.
    let case = if suspends { Case::Any } else { Case::Common { otherwise: slow } };
    let base = base_to_leave(t, leaving, case);
    let left = suspends.then(|| t.suspend_to_base(base, KIND, case));
    let target = t.consume_group(block, slow);
    if !suspends {
        t.release_base(base, case);
    }
    let sent: Vec<_> = values.iter().copied().chain(left).collect();
    let carried = t.carry(&sent, types);
    t.run_base(target.block);
    t.switch_cold(target.innermost, signal, target.reference, &carried, back);
    t.enter_sealed(slow);
    t.put_all(values, &types[..values.len()]);
    let ty = t.env.info.tags[tag as usize];
    let target = t.consume_any(block, ty, values.len(), left);
    if !suspends {
        let base = t.base(Case::Any);
        t.release_base(base, Case::Any);
    }
    // The call of the runtime has lost the registers, so the event is looked up again.
    let never = t.cold_block();
    let signal = t.look_up(tag, target.innermost, never);
    let carried = t.load_carried(CARRIED);
    t.run_base(target.block);
    t.switch_cold(target.innermost, signal, target.reference, &carried, back);
    t.enter_sealed(never);
    t.ins().trap(trap(TrapCode::Unreachable));
}

/// Branches to the label for the event that continues this stack.
pub(super) fn event_arrives(t: &mut Translator<'_>, call: &OperationCall, delivery: &Delivery) {
    t.branch_to_clause(delivery, &call.clauses);
    // An event without a clause arrives as an exception.
    t.unreachable();
}

// ---- functions on top of other stacks

pub(super) fn switch_call(t: &mut Translator<'_>, call: &OperationCall) {
    let mut values = t.pop_operands(call.import);
    values.pop().expect("the last operand is the function, which the thunk has");
    let reference = values.pop().expect("the operand before it is the stack");
    let ty = t.env.info.functions[call.functions[0] as usize];
    let types = t.env.info.func_type(ty).params();
    let back = t.back(t.most_values(&call.clauses));
    t.cache_running(Cached::Reference);
    let block = t.check_target(reference, KIND);
    t.set_clauses(&call.clauses);
    let otherwise = t.cold_block();
    let common = Case::Common { otherwise };
    t.innermost(block, common);
    let base = t.base(common);
    t.check_generation(reference, otherwise);
    t.take_generation(block, reference, KIND);
    let left = t.suspend_to_base(base, KIND, common);
    let word = event_on_return(t, call);
    let thunk = call.thunk_number();
    let carried = t.carry(&[values.as_slice(), &[left]].concat(), types);
    let instance = t.running_context();
    t.run_base(block);
    t.switch_into(Some(thunk), block, word, instance, &carried, back);
    t.enter_sealed(otherwise);
    let base = t.base(Case::Any);
    let left = t.suspend_to_base(base, KIND, Case::Any);
    let slow = t.cold_block();
    let target = t.consume_group(block, slow);
    let carried = t.carry(&[values.as_slice(), &[left]].concat(), types);
    call_on_top(t, call, &target, &carried, back);
    t.enter_sealed(slow);
    t.put_all(&values, &types[..values.len()]);
    let target = t.consume_any(block, ty, values.len(), Some(left));
    let carried = t.load_carried(CARRIED);
    call_on_top(t, call, &target, &carried, back);
    let delivery = t.come_back(back);
    event_arrives(t, call, &delivery);
}

pub(super) fn extend(t: &mut Translator<'_>, call: &OperationCall) {
    let mut values = t.pop_operands(call.import);
    values.pop().expect("the last operand is the function, which the thunk has");
    let reference = values.pop().expect("the operand before it is the stack");
    let back = t.back(0);
    t.cache_running(Cached::Stack);
    let block = t.check_target(reference, KIND);
    t.wait(&call.clauses);
    let ty = t.env.info.functions[call.functions[0] as usize];
    t.put_all(&values, t.env.info.func_type(ty).params());
    let target = t.consume_any(block, ty, values.len(), None);
    let current = t.current_stack();
    t.set(target.block, block::EXTENDER, current);
    let base = t.base(Case::Any);
    t.set_in_store(store::EXTENDING, base);
    let carried = t.load_carried(CARRIED);
    call_on_top(t, call, &target, &carried, back);
    let extended = t.come_back_regrouped(back).reference;
    t.push_result(extended, call.import);
}

/// Runs a function on top of a stack, in the general case.
fn call_on_top(
    t: &mut Translator<'_>,
    call: &OperationCall,
    target: &SuspendedStack,
    carried: &[Value],
    back: Block,
) {
    unpark(t, target.innermost);
    let word = event_on_return(t, call);
    let thunk = call.thunk_number();
    let instance = t.running_context();
    let cold = t.cold_back(back);
    t.run_base(target.block);
    t.switch_into(Some(thunk), target.innermost, word, instance, carried, cold);
    t.rejoin(cold, back);
}

/// Unparks a stack on which a function will run, if it is parked.
fn unpark(t: &mut Translator<'_>, innermost: Value) {
    let limit = t.get(innermost, block::LIMIT);
    let comparison = IntCC::UnsignedGreaterThanOrEqual;
    let is_parked = t.ins().icmp_imm_s(comparison, limit, PARKED as i64);
    t.if_cold(is_parked, |t| {
        t.call_builtin(Builtin::unpark, &[innermost]);
    });
}

/// Switches back to the stack that extends the running one, and waits for the next event.
pub(super) fn start(t: &mut Translator<'_>, call: &OperationCall) {
    t.cache_running(Cached::Stack);
    t.wait(&call.clauses);
    let extender = t.call_builtin(Builtin::extension_end, &[]);
    let base = t.get_from_store(store::FOUND);
    let extended = t.reference_of_kind(base, KIND);
    let none = t.ins().iconst(I64, 0);
    let delivered = t.most_values(&call.clauses);
    let back = t.back(delivered);
    t.switch_to(extender, none, extended, &[], back);
    let delivery = t.come_back(back);
    event_arrives(t, call, &delivery);
}

/// The word of the event with which a function on top of another stack returns.
pub(super) fn event_on_return(t: &mut Translator<'_>, call: &OperationCall) -> Value {
    match call.catches.first() {
        Some((tag, _)) => t.event_word(*tag),
        None => t.ins().iconst(I64, 0),
    }
}

// ---- slots and exceptions

pub(super) fn check_cleared(t: &mut Translator<'_>) {
    let reference = t.pop();
    t.ins().trapnz(reference, trap(TrapCode::SlotNotEmpty));
}

/// As `ref.is_null`, but does not free a stack.
pub(super) fn is_cleared(t: &mut Translator<'_>) {
    let reference = t.pop();
    let is_null = t.ins().icmp_imm_u(IntCC::Equal, reference, 0);
    let is_null = t.ins().uextend(I32, is_null);
    t.push(is_null);
}

pub(super) fn redirect(t: &mut Translator<'_>) {
    let (exception, reference) = t.pop2();
    t.ins().trapz(exception, trap(TrapCode::NullExceptionReference));
    let (stub, args) = t.builtin_call(Builtin::redirect, &[exception, reference]);
    let signature = signature::builtin_stub(CallConv::Tail);
    let signature = t.builder.import_signature(signature);
    t.guarded_call(CallTarget::Indirect(signature, stub), &args);
    t.unreachable();
}

/// Copies a stack: its owner gets both the original and the copy.
pub(super) fn clone(t: &mut Translator<'_>, call: &OperationCall) {
    let env = t.env;
    let reference = t.pop();
    let copy = t.copy_stack(reference, KIND);
    let results = env.info.function_type(call.import).results();
    for (stack, ty) in [reference, copy].into_iter().zip(results) {
        t.push_typed(stack, *ty);
    }
}
