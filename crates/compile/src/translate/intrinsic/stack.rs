//! Bag of stacks.

use crate::intrinsic::StackOp;
use crate::intrinsic::form::Use;
use crate::signature;
use crate::translate::call::Callee;
use crate::translate::continuation::Target;
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, MemFlagsData, Value, types::*};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::stack::{StackKind, StackState, kind_bits};
use ropewalk_abi::{Builtin, ControlBlock, TrapCode};
use std::mem::offset_of;

const KIND: StackKind = StackKind::Coroutine;

impl Translator<'_> {
    pub(super) fn stack_intrinsic(&mut self, op: StackOp, used: &Use) {
        match op {
            StackOp::New => self.coroutine_new(used),
            StackOp::Switch => self.coroutine_switch(used),
            StackOp::SwitchRetire => self.coroutine_retire(used),
            StackOp::Bind => self.coroutine_bind(used),
            StackOp::SwitchThrow => self.coroutine_throw(used),
            StackOp::ReturnSwitch => self.without_handlers(|this| this.coroutine_switch(used)),
            StackOp::ReturnSwitchThrow => self.without_handlers(|this| this.coroutine_throw(used)),
        }
    }

    fn coroutine_new(&mut self, used: &Use) {
        let function = self.pop();
        self.builder.ins().trapz(function, trap(TrapCode::NullFunctionReference));
        let block = self.new_stack(KIND, used, function, &[]);
        let reference = self.reference_of_kind(block, KIND);
        let made = self.env.info.function_type(used.function).results()[0];
        self.push_typed(reference, made);
    }

    fn coroutine_switch(&mut self, used: &Use) {
        let mut values = self.pop_operands(used);
        let reference = values.pop().expect("the last operand is the stack");
        let block = self.check_target(reference);
        let target = self.consume_stack(block, reference);
        let (base, current) = self.suspend_to_base();
        values.push(base);
        self.put_arguments(target.block, &values);
        let innermost = self.continued(target.block);
        let zero = self.builder.ins().iconst(I64, 0);
        self.switch_stacks(current, innermost, zero, zero);
        let env = self.env;
        self.take(env.info.function_type(used.function).results());
    }

    fn coroutine_retire(&mut self, used: &Use) {
        let mut values = self.pop_operands(used);
        let reference = values.pop().expect("the last operand is the stack");
        let block = self.check_target(reference);
        let target = self.consume_stack(block, reference);
        values.push(self.builder.ins().iconst(I64, 0));
        self.put_arguments(target.block, &values);
        let innermost = self.continued(target.block);
        let current = self.current_stack();
        let base = self.base();
        self.release_up_to(base);
        let zero = self.builder.ins().iconst(I64, 0);
        self.switch_stacks(current, innermost, zero, zero);
        self.unreachable();
    }

    fn coroutine_bind(&mut self, used: &Use) {
        let env = self.env;
        let ty = env.info.function_type(used.function);
        let mut values = self.pop_operands(used);
        let reference = values.pop().expect("the last operand is the stack");
        let area = self.transfer_area();
        self.put(area, &values);
        let operand = *ty.params().last().expect("the last operand is the stack");
        let index = env.subtyping().continuation_index(operand).expect("its type is checked");
        let info = self.type_info(env.info.cont_function(index));
        let kind_and_count = self.index((KIND as u64) << 32 | values.len() as u64);
        let bound = self.call_builtin(Builtin::bind, &[reference, info, kind_and_count]);
        self.push_typed(bound, ty.results()[0]);
    }

    /// Makes the exception, without the stack that is left, and lets the
    /// runtime do the rest.
    fn coroutine_throw(&mut self, used: &Use) {
        let env = self.env;
        let (tag, _) = used.catches[0];
        let reference = self.pop();
        // The runtime adds the stack that is left.
        let null = self.builder.ins().iconst(I64, 0);
        self.push(null);
        let exception = self.new_exception(tag);
        let layout = &env.objects[env.info.tags[tag as usize] as usize];
        let offset = *layout.offsets.last().expect("the last value is the stack");
        let offset = self.index(u64::from(offset));
        let operands = [reference, exception, offset];
        let (stub, args) = self.builtin_call(Builtin::switch_throw, &operands);
        let mut signature = signature::builtin_stub(CallConv::Tail);
        signature.returns = signature::switch_stub().returns;
        let signature = self.builder.import_signature(signature);
        self.guarded_call(Callee::Indirect(signature, stub), &args);
        self.take(env.info.function_type(used.function).results());
    }

    /// Emits something as if no `try_table` were around it.
    fn without_handlers(&mut self, emit: impl FnOnce(&mut Self)) {
        let handlers = std::mem::take(&mut self.handlers);
        emit(self);
        self.handlers = handlers;
    }

    // ---- the parts

    /// The block of a stack to switch to: valid, and not the root of another
    /// activation.
    fn check_target(&mut self, reference: Value) -> Value {
        let block = self.check_reference(reference, KIND);
        let state = offset_of!(ControlBlock, state) as i32;
        let state = self.builder.ins().load(I32, MemFlagsData::trusted(), block, state);
        let is_root = self.builder.ins().icmp_imm_u(IntCC::Equal, state, StackState::Root as i64);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(is_root, cold, &[], next, &[]);
        self.enter_sealed(cold);
        self.call_builtin(Builtin::check_root, &[block]);
        self.jump(next, &[]);
        self.enter_sealed(next);
        block
    }

    /// Uses up a valid reference.
    fn consume_stack(&mut self, block: Value, reference: Value) -> Target {
        let plain = self.builder.ins().bxor_imm_u(reference, kind_bits(KIND) as i64);
        self.consume(block, plain)
    }

    /// The base of the running stack.
    fn base(&mut self) -> Value {
        let current = self.current_stack();
        let parent = self.load_word(current, offset_of!(ControlBlock, parent));
        let no_parent = self.no_parent();
        let is_base = self.builder.ins().icmp(IntCC::Equal, parent, no_parent);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        let base = self.builder.append_block_param(next, I64);
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(is_base, next, &[current.into()], cold, &[]);
        self.enter_sealed(cold);
        let found = self.call_builtin(Builtin::find_base, &[]);
        self.jump(next, &[found]);
        self.enter_sealed(next);
        base
    }

    /// Suspends everything from the running stack to its base; answers the
    /// reference to that, and the running stack.
    fn suspend_to_base(&mut self) -> (Value, Value) {
        let base = self.base();
        let current = self.current_stack();
        self.store_word(current, base, offset_of!(ControlBlock, innermost));
        (self.reference_of_kind(base, KIND), current)
    }

    /// The stack to continue when a base is.
    fn continued(&mut self, base: Value) -> Value {
        let innermost = self.load_word(base, offset_of!(ControlBlock, innermost));
        let nothing = self.builder.ins().iconst(I64, 0);
        self.store_word(nothing, innermost, offset_of!(ControlBlock, through));
        innermost
    }
}
