//! Walks through stacks: `call_stack`, and the marks that it finds.

use crate::design::OperationCall;
use crate::emit::record::{Records, block, func_ref, store};
use crate::emit::signature;
use crate::translate::call::CallTarget;
use crate::translate::{Cached, Translator};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::builtin::{WALK_ASKS, WALK_FLAGS, WALK_IS_DIRECT};
use ropewalk_abi::{Builtin, FuncType, HeapType, RefType, ValType};

/// The type in which the structure of an answer is passed.
const ENV: ValType = ValType::Ref(RefType { nullable: false, heap: HeapType::Struct });
/// The type in which a stack is passed.
const STACK: ValType = ValType::Ref(RefType { nullable: true, heap: HeapType::Cont });

pub(super) fn level(t: &mut Translator<'_>) {
    let current = t.current_stack();
    let level = t.get_short(I32, current, block::MARKS);
    t.push(level);
}

pub(super) fn leave_to(t: &mut Translator<'_>) {
    let level = t.pop();
    let level = t.widen(level);
    t.call_builtin(Builtin::leave_to, &[level]);
}

pub(super) fn enter_answer(t: &mut Translator<'_>, call: &OperationCall) {
    let (env, function) = t.pop2();
    let tag = t.load_constant(t.context, t.env.layout.tag(call.catches[0].0));
    t.call_builtin(Builtin::enter_answer, &[tag, function, env]);
}

pub(super) fn enter_redirect(t: &mut Translator<'_>) {
    let boxed = t.pop();
    t.call_builtin(Builtin::enter_redirect, &[boxed]);
}

pub(super) fn enter_redirect_to(t: &mut Translator<'_>) {
    let (env, function, taker) = t.pop3();
    t.call_builtin(Builtin::enter_redirect_to, &[function, taker, env]);
}

/// Walks to the answer, calls it, and undoes the walk, even if the answer throws.
pub(super) fn call_stack(t: &mut Translator<'_>, call: &OperationCall) {
    // Functions are called on paths that meet again.
    t.set_cached(Cached::Nothing);
    let env = t.env;
    let ty = env.info.function_type(call.import);
    let tag = t.load_constant(t.context, env.layout.tag(call.catches[0].0));
    let begun = t.call_builtin(Builtin::walk_begin, &[tag]);
    let number = t.ins().ushr_imm_u(begun, i64::from(WALK_FLAGS));
    // Until the call of the answer, the arguments belong to this frame.
    let height = t.stack.len() - ty.params().len();
    let landing = t.open_cleanup(ty.params().len());
    walk_to_answer(t, tag, begun, number);
    let arguments = t.pop_operands(call.import);
    let params = [&[ENV], ty.params()].concat();
    let answer = FuncType::new(params, ty.results().iter().copied());
    call_found(t, &answer, &arguments);
    t.close_cleanup();
    let [quick, slow, after] = std::array::from_fn(|_| t.builder.create_block());
    t.builder.set_cold_block(slow);
    let is_direct = t.ins().band_imm_u(begun, WALK_IS_DIRECT as i64);
    t.ins().brif(is_direct, quick, &[], slow, &[]);
    t.enter_sealed(slow);
    walk_back(t, number);
    t.jump(after, &[]);
    t.enter_sealed(quick);
    forget_walk(t, number);
    t.jump(after, &[]);
    t.enter_sealed(landing);
    t.reload_fuel();
    let results = t.stack.split_off(height);
    walk_back(t, number);
    let exception = t.builder.block_params(landing)[0];
    t.throw_again(exception);
    t.stack.extend(results);
    t.enter_sealed(after);
}

/// Walks until the answer is found, calling functions on the way that return where to continue.
pub(super) fn walk_to_answer(t: &mut Translator<'_>, tag: Value, begun: Value, number: Value) {
    let [ask, found] = [t.builder.create_block(), t.builder.create_block()];
    t.builder.set_cold_block(ask);
    let asks = t.ins().band_imm_u(begun, WALK_ASKS as i64);
    t.ins().brif(asks, ask, &[], found, &[]);
    t.builder.switch_to_block(ask);
    call_found(t, &FuncType::new([ENV], [STACK]), &[]);
    let target = t.pop();
    t.call_builtin(Builtin::walk_target, &[number, target]);
    let asks = t.call_builtin(Builtin::walk_on, &[tag, number]);
    t.ins().brif(asks, ask, &[], found, &[]);
    t.builder.seal_block(ask);
    t.enter_sealed(found);
}

/// Ends a walk that has taken no stack: removes its mark, unless that is already gone. Only the
/// runtime adds marks.
pub(super) fn forget_walk(t: &mut Translator<'_>, number: Value) {
    let current = t.current_stack();
    let marks = t.get_short(I64, current, block::MARKS);
    let marks = t.ins().umin(marks, number);
    let flags = MemFlagsData::trusted();
    t.ins().istore16(flags, marks, current, block::MARKS.offset);
}

/// Gives back the stacks that the walk has taken.
pub(super) fn walk_back(t: &mut Translator<'_>, number: Value) {
    let [back, give, done] = std::array::from_fn(|_| t.builder.create_block());
    t.jump(back, &[]);
    t.builder.switch_to_block(back);
    let gives = t.call_builtin(Builtin::walk_back, &[number]);
    t.ins().brif(gives, give, &[], done, &[]);
    t.enter_sealed(give);
    let stack = t.get_from_store(store::WALK_STACK);
    call_found(t, &FuncType::new([ENV, STACK], []), &[stack]);
    t.jump(back, &[]);
    t.builder.seal_block(back);
    t.enter_sealed(done);
}

/// Calls the function that a walk has found, with its structure and arguments; pushes its results.
pub(super) fn call_found(t: &mut Translator<'_>, ty: &FuncType, arguments: &[Value]) {
    let function = t.get_from_store(store::WALK_FUNCTION);
    let env = t.get_from_store(store::WALK_ENV);
    let code = t.get(function, func_ref::CODE);
    let context = t.get(function, func_ref::CONTEXT);
    let signature = t.builder.import_signature(signature::wasm(ty));
    t.push(env);
    t.stack.extend_from_slice(arguments);
    t.emit_call(CallTarget::Indirect(signature, code), context, ty);
}
