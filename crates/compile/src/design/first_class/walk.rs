//! Walks through stacks: `call_stack` and the marks that it finds.

use crate::design::call::OperationCall;
use crate::emit::record::{Records, block, func_ref, store};
use crate::signature;
use crate::translate::call::Callee;
use crate::translate::{Known, Translator};
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Signature, Value, types::*};
use ropewalk_abi::builtin::{WALK_ASKS, WALK_FLAGS, WALK_IS_DIRECT};
use ropewalk_abi::{Builtin, FuncType, HeapType, RefType, ValType};

/// How the structure of an answer is passed.
const ENV: ValType = ValType::Ref(RefType { nullable: false, heap: HeapType::Struct });
/// How a stack is passed.
const STACK: ValType = ValType::Ref(RefType { nullable: true, heap: HeapType::Cont });

impl Translator<'_> {
    pub(crate) fn level(&mut self) {
        let current = self.current_stack();
        let level = self.get_short(I32, current, block::MARKS);
        self.push(level);
    }

    pub(crate) fn leave_to(&mut self) {
        let level = self.pop();
        let level = self.widen(level);
        self.call_builtin(Builtin::leave_to, &[level]);
    }

    pub(crate) fn enter_answer(&mut self, call: &OperationCall) {
        let (env, function) = self.pop2();
        let tag = self.load_constant(self.context, self.env.layout.tag(call.catches[0].0));
        self.call_builtin(Builtin::enter_answer, &[tag, function, env]);
    }

    pub(crate) fn enter_redirect(&mut self) {
        let boxed = self.pop();
        self.call_builtin(Builtin::enter_redirect, &[boxed]);
    }

    pub(crate) fn enter_redirect_to(&mut self) {
        let (env, function, taker) = self.pop3();
        self.call_builtin(Builtin::enter_redirect_to, &[function, taker, env]);
    }

    /// Walks to the answer, calls it, and undoes the walk, also if the answer
    /// throws.
    pub(crate) fn call_stack(&mut self, call: &OperationCall) {
        // It calls functions on ways that meet again.
        self.set_known(Known::Nothing);
        let env = self.env;
        let ty = env.info.function_type(call.import);
        let tag = self.load_constant(self.context, env.layout.tag(call.catches[0].0));
        let begun = self.call_builtin(Builtin::walk_begin, &[tag]);
        let number = self.builder.ins().ushr_imm_u(begun, i64::from(WALK_FLAGS));
        // Until the answer is called, the arguments belong to this frame.
        let height = self.stack.len() - ty.params().len();
        let landing = self.open_cleanup(ty.params().len());
        self.walk_to_answer(tag, begun, number);
        let arguments = self.pop_operands(call);
        let params = [&[ENV], ty.params()].concat();
        let answer = FuncType::new(params, ty.results().iter().copied());
        self.call_found(&answer, &arguments);
        self.close_cleanup();
        let [quick, slow, after] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.set_cold_block(slow);
        let is_direct = self.builder.ins().band_imm_u(begun, WALK_IS_DIRECT as i64);
        self.builder.ins().brif(is_direct, quick, &[], slow, &[]);
        self.enter_sealed(slow);
        self.walk_back(number);
        self.jump(after, &[]);
        self.enter_sealed(quick);
        self.forget_walk(number);
        self.jump(after, &[]);
        self.enter_sealed(landing);
        self.find_fuel();
        let results = self.stack.split_off(height);
        self.walk_back(number);
        let exception = self.builder.block_params(landing)[0];
        self.throw_again(exception);
        self.stack.extend(results);
        self.enter_sealed(after);
    }

    /// Continues until the answer is found, asking on the way where to continue.
    pub(crate) fn walk_to_answer(&mut self, tag: Value, begun: Value, number: Value) {
        let [ask, found] = [self.builder.create_block(), self.builder.create_block()];
        self.builder.set_cold_block(ask);
        let asks = self.builder.ins().band_imm_u(begun, WALK_ASKS as i64);
        self.builder.ins().brif(asks, ask, &[], found, &[]);
        self.builder.switch_to_block(ask);
        self.call_found(&FuncType::new([ENV], [STACK]), &[]);
        let target = self.pop();
        self.call_builtin(Builtin::walk_target, &[number, target]);
        let asks = self.call_builtin(Builtin::walk_on, &[tag, number]);
        self.builder.ins().brif(asks, ask, &[], found, &[]);
        self.builder.seal_block(ask);
        self.enter_sealed(found);
    }

    /// Ends a walk that has taken nothing: removes its mark, unless that is gone
    /// already. Marks are only ever added by the runtime.
    pub(crate) fn forget_walk(&mut self, number: Value) {
        let current = self.current_stack();
        let marks = self.get_short(I64, current, block::MARKS);
        let left = self.builder.ins().umin(marks, number);
        let flags = MemFlagsData::trusted();
        self.builder.ins().istore16(flags, left, current, block::MARKS.offset);
    }

    /// Gives back what the walk has taken.
    pub(crate) fn walk_back(&mut self, number: Value) {
        let [back, give, done] = std::array::from_fn(|_| self.builder.create_block());
        self.jump(back, &[]);
        self.builder.switch_to_block(back);
        let gives = self.call_builtin(Builtin::walk_back, &[number]);
        self.builder.ins().brif(gives, give, &[], done, &[]);
        self.enter_sealed(give);
        let stack = self.get_from_store(store::WALK_STACK);
        self.call_found(&FuncType::new([ENV, STACK], []), &[stack]);
        self.jump(back, &[]);
        self.builder.seal_block(back);
        self.enter_sealed(done);
    }

    /// Calls the function that a walk has found, with its structure and
    /// arguments; pushes its results.
    pub(crate) fn call_found(&mut self, ty: &FuncType, arguments: &[Value]) {
        let function = self.get_from_store(store::WALK_FUNCTION);
        let env = self.get_from_store(store::WALK_ENV);
        let code = self.get(function, func_ref::CODE);
        let context = self.get(function, func_ref::CONTEXT);
        let signature: Signature = signature::wasm(ty);
        let signature = self.builder.import_signature(signature);
        self.push(env);
        self.stack.extend_from_slice(arguments);
        self.emit_call(Callee::Indirect(signature, code), context, ty);
    }
}
