//! Typed continuations.
//!
//! Everything that succeeds is done in line: the check of the reference, the
//! links between the stacks, the search if the nearest clause fits. Then one
//! call switches stacks; [`image`](crate::image) makes it a jump to code of its
//! own. It is a call like any other to Cranelift, so
//! it has a stack map and exception edges; with the exception table, even if
//! that is empty, every register counts as lost. Values travel through the
//! transfer area.
//!
//! The call returns when somebody switches back, with two words: a signal, zero
//! when values are delivered and the number of a clause plus one when a child
//! suspended; and then the reference to what was suspended.

use super::call::Callee;
use super::{Translator, clif_type, constant_flags, transfer_offset, trap};
use crate::function::SWITCH;
use crate::{handlers, signature};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{self, Block, InstBuilder, MemFlagsData, Value, types::*};
use cranelift_codegen::isa::CallConv;
use ropewalk_abi::stack::{NEXT_GENERATION, OFFSET_MASK, StackKind, StackState, kind_bits};
use ropewalk_abi::{
    Builtin, ControlBlock, FuncType, HeapType, RefType, StoreContext, TrapCode, TypeInfo, ValType,
};
use std::mem::offset_of;
use wasmparser::{Handle, ResumeTable};

const CONT: ValType = ValType::Ref(RefType { nullable: true, heap: HeapType::Cont });

/// A stack that is about to be continued.
pub(super) struct Target {
    /// Its outermost block, which the reference named.
    pub block: Value,
    /// The reference for the next time.
    next: Value,
}

/// Where a suspension goes.
struct Capture {
    /// The running stack.
    current: Value,
    /// The outermost stack that is captured with it.
    outermost: Value,
    /// The stack that handles it.
    parent: Value,
    /// The signal for it.
    signal: Value,
}

impl Translator<'_> {
    pub fn cont_new(&mut self, ty: u32) {
        let function = self.pop();
        self.builder.ins().trapz(function, trap(TrapCode::NullFunctionReference));
        let block = self.free_stack();
        let next = self.load_word(block, offset_of!(ControlBlock, next_free));
        self.store_to_store(next, offset_of!(StoreContext, free_stacks));
        let info = self.type_info(self.env.info.cont_function(ty));
        let entry = offset_of!(TypeInfo, entry) as i32;
        let entry = self.builder.ins().load(I64, constant_flags(), info, entry);
        let store = self.store_context();
        let start = self.load_constant(store, offset_of!(StoreContext, start) as i32);
        let top = self.load_word(block, offset_of!(ControlBlock, top));
        self.builder.ins().store(MemFlagsData::trusted(), start, top, 0);
        let zero = self.builder.ins().iconst(I64, 0);
        let none = self.builder.ins().iconst(I32, 0);
        let in_use = self.builder.ins().iconst(I32, StackState::Continuation as i64);
        self.store_word(top, block, offset_of!(ControlBlock, sp));
        self.store_word(zero, block, offset_of!(ControlBlock, fp));
        self.store_word(function, block, offset_of!(ControlBlock, function));
        self.store_word(entry, block, offset_of!(ControlBlock, entry));
        self.store_word(block, block, offset_of!(ControlBlock, innermost));
        self.store_word(zero, block, offset_of!(ControlBlock, sought));
        self.store_word(none, block, offset_of!(ControlBlock, bound));
        self.store_word(in_use, block, offset_of!(ControlBlock, state));
        let reference = self.load_word(block, offset_of!(ControlBlock, reference));
        self.push_typed(reference, CONT);
    }

    /// The first free stack, which stays on the list.
    pub(super) fn free_stack(&mut self) -> Value {
        let first = self.load_from_store(offset_of!(StoreContext, free_stacks));
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        let block = self.builder.append_block_param(next, I64);
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(first, next, &[first.into()], cold, &[]);
        self.enter_sealed(cold);
        let made = self.call_builtin(Builtin::new_stack, &[]);
        self.jump(next, &[made]);
        self.enter_sealed(next);
        block
    }

    pub fn cont_bind(&mut self, from: u32, to: u32) {
        let env = self.env;
        let [from_function, to_function] = [from, to].map(|ty| env.info.cont_function(ty));
        let params = env.info.func_type(from_function).params();
        let count = params.len() - env.info.func_type(to_function).params().len();
        let reference = self.pop();
        let values = self.stack.split_off(self.stack.len() - count);
        let area = self.transfer_area();
        self.put(area, &values);
        let info = self.type_info(from_function);
        let kind = StackKind::Continuation as u64;
        let kind_and_count = self.index(kind << 32 | count as u64);
        let bound = self.call_builtin(Builtin::bind, &[reference, info, kind_and_count]);
        self.push_typed(bound, CONT);
    }

    pub fn resume(&mut self, ty: u32, table: &ResumeTable) {
        let env = self.env;
        let function = env.info.func_type(env.info.cont_function(ty));
        let reference = self.pop();
        let arguments = self.stack.split_off(self.stack.len() - function.params().len());
        let block = self.check_reference(reference, StackKind::Continuation);
        let target = self.consume(block, reference);
        let current = self.current_stack();
        let handlers = self.handler_table(table);
        self.store_word(handlers, current, offset_of!(ControlBlock, handlers));
        // When the child comes back, something above may have changed.
        let nothing = self.builder.ins().iconst(I64, 0);
        self.store_word(nothing, current, offset_of!(ControlBlock, through));
        let (signal, captured) = self.continue_stack(&target, current, current, &arguments);
        self.after_resume(signal, captured, function, table);
    }

    pub fn resume_throw(&mut self, ty: u32, tag: u32, table: &ResumeTable) {
        let reference = self.pop();
        let exception = self.new_exception(tag);
        self.resume_with(ty, reference, exception, table);
    }

    pub fn resume_throw_ref(&mut self, ty: u32, table: &ResumeTable) {
        let (exception, reference) = self.pop2();
        self.builder.ins().trapz(exception, trap(TrapCode::NullExceptionReference));
        self.resume_with(ty, reference, exception, table);
    }

    /// Continues a stack with an exception, which the runtime does. Control
    /// comes back here as after a `resume`.
    fn resume_with(&mut self, ty: u32, reference: Value, exception: Value, table: &ResumeTable) {
        let env = self.env;
        let function = env.info.func_type(env.info.cont_function(ty));
        let handlers = self.handler_table(table);
        let operands = [reference, exception, handlers];
        let (stub, args) = self.builtin_call(Builtin::resume_throw, &operands);
        let mut signature = signature::builtin_stub(CallConv::Tail);
        signature.returns = signature::switch_stub().returns;
        let signature = self.builder.import_signature(signature);
        let results = self.guarded_call(Callee::Indirect(signature, stub), &args);
        self.after_resume(results[0], results[1], function, table);
    }

    /// What follows a `resume`: the results, or a branch for each clause.
    fn after_resume(
        &mut self,
        signal: Value,
        captured: Value,
        function: &FuncType,
        table: &ResumeTable,
    ) {
        let labels = table.handlers.iter().enumerate().filter_map(|(i, handle)| match handle {
            Handle::OnLabel { tag, label } => Some((i, *tag, *label)),
            Handle::OnSwitch { .. } => None,
        });
        for (i, tag, label) in labels {
            let number = i as i64 + 1;
            let is_clause = self.builder.ins().icmp_imm_u(IntCC::Equal, signal, number);
            let [clause, next] = [self.builder.create_block(), self.builder.create_block()];
            self.builder.ins().brif(is_clause, clause, &[], next, &[]);
            self.enter_sealed(clause);
            let height = self.stack.len();
            let env = self.env;
            self.take(env.info.tag_type(tag).params());
            self.push_typed(captured, CONT);
            let (block, operands) = self.branch(label);
            self.jump(block, &operands);
            self.stack.truncate(height);
            self.enter_sealed(next);
        }
        self.take(function.results());
    }

    pub fn suspend(&mut self, tag: u32) {
        let env = self.env;
        let ty = env.info.tag_type(tag);
        let values = self.stack.split_off(self.stack.len() - ty.params().len());
        let area = self.transfer_area();
        self.put(area, &values);
        let word = self.load_constant(self.context, env.layout.tag(tag));
        let capture = self.capture(word);
        let captured = self.load_word(capture.outermost, offset_of!(ControlBlock, reference));
        let Capture { current, parent, signal, .. } = capture;
        self.switch_stacks(current, parent, signal, captured);
        self.take(ty.results());
    }

    pub fn switch(&mut self, ty: u32, tag: u32) {
        let env = self.env;
        let function = env.info.func_type(env.info.cont_function(ty));
        let reference = self.pop();
        let count = function.params().len() - 1;
        let mut arguments = self.stack.split_off(self.stack.len() - count);
        let block = self.check_reference(reference, StackKind::Continuation);
        let word = self.load_constant(self.context, env.layout.tag(tag));
        let word = self.builder.ins().bor_imm_u(word, 1);
        let capture = self.capture(word);
        let target = self.consume(block, reference);
        let captured = self.load_word(capture.outermost, offset_of!(ControlBlock, reference));
        arguments.push(captured);
        self.continue_stack(&target, capture.current, capture.parent, &arguments);
        // Somebody switches back with the parameters of what was passed along.
        let Some(ValType::Ref(RefType { heap: HeapType::Concrete(back), .. })) =
            function.params().last()
        else {
            unreachable!("validated to be a continuation");
        };
        self.take(env.info.func_type(env.info.cont_function(*back)).params());
    }

    // ---- the parts

    /// The block that a reference of a kind names, if the reference is valid.
    pub(super) fn check_reference(&mut self, reference: Value, kind: StackKind) -> Value {
        self.check_reference_or(reference, kind, |this| {
            let kind = this.index(kind as u64);
            this.call_builtin(Builtin::invalid_stack, &[reference, kind]);
        })
    }

    /// The same; if it is not valid, it does something that traps.
    pub(super) fn check_reference_or(
        &mut self,
        reference: Value,
        kind: StackKind,
        complain: impl FnOnce(&mut Self),
    ) -> Value {
        let blocks = self.load_from_store(offset_of!(StoreContext, blocks));
        let offset = self.builder.ins().band_imm_u(reference, OFFSET_MASK as i64);
        let block = self.builder.ins().iadd(blocks, offset);
        // Without any stacks there are no blocks, and every reference is null.
        let flags = MemFlagsData::new()
            .with_aligned()
            .with_trap_code(Some(trap(TrapCode::NullContinuation)));
        let place = offset_of!(ControlBlock, reference) as i32;
        let valid = self.builder.ins().load(I64, flags, block, place);
        let plain = self.builder.ins().bxor_imm_u(reference, kind_bits(kind) as i64);
        let is_valid = self.builder.ins().icmp(IntCC::Equal, valid, plain);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(is_valid, next, &[], cold, &[]);
        self.enter_sealed(cold);
        complain(self);
        self.builder.ins().trap(trap(TrapCode::ContinuationConsumed));
        self.enter_sealed(next);
        block
    }

    /// Uses up a valid reference. A block whose generations are used up is
    /// replaced by another.
    pub(super) fn consume(&mut self, block: Value, reference: Value) -> Target {
        let one = self.builder.ins().iconst(I64, NEXT_GENERATION as i64);
        let (bumped, overflow) = self.builder.ins().uadd_overflow(reference, one);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        let target = Target {
            block: self.builder.append_block_param(next, I64),
            next: self.builder.append_block_param(next, I64),
        };
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(overflow, cold, &[], next, &[block.into(), bumped.into()]);
        self.enter_sealed(cold);
        let renewed = self.call_builtin(Builtin::renew_block, &[block]);
        let first = self.load_word(renewed, offset_of!(ControlBlock, reference));
        self.jump(next, &[renewed, first]);
        self.enter_sealed(next);
        self.store_word(target.next, target.block, offset_of!(ControlBlock, reference));
        target
    }

    /// Links a stack to its new parent, gives it its arguments and switches to
    /// it from the current one.
    fn continue_stack(
        &mut self,
        target: &Target,
        current: Value,
        parent: Value,
        arguments: &[Value],
    ) -> (Value, Value) {
        self.store_word(parent, target.block, offset_of!(ControlBlock, parent));
        self.put_arguments(target.block, arguments);
        let innermost = self.load_word(target.block, offset_of!(ControlBlock, innermost));
        self.store_word(target.block, innermost, offset_of!(ControlBlock, through));
        let zero = self.builder.ins().iconst(I64, 0);
        self.switch_stacks(current, innermost, zero, zero)
    }

    /// Puts arguments where the stack will look for them, behind those that are
    /// bound already.
    pub(super) fn put_arguments(&mut self, block: Value, arguments: &[Value]) {
        let area = self.transfer_area();
        let bound = offset_of!(ControlBlock, bound) as i32;
        let bound = self.builder.ins().uload32(MemFlagsData::trusted(), block, bound);
        let offset = self.builder.ins().ishl_imm_u(bound, 4);
        let place = self.builder.ins().iadd(area, offset);
        self.put(place, arguments);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(bound, cold, &[], next, &[]);
        self.enter_sealed(cold);
        self.call_builtin(Builtin::unbind, &[block]);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    /// Finds the handler of a tag, and captures the stacks up to it. Mostly it
    /// is the first clause of the nearest `resume`.
    fn capture(&mut self, word: Value) -> Capture {
        let current = self.current_stack();
        let parent = self.load_word(current, offset_of!(ControlBlock, parent));
        let handlers = self.load_word(parent, offset_of!(ControlBlock, handlers));
        let first = self.load_word(handlers, 0);
        let is_first = self.builder.ins().icmp(IntCC::Equal, first, word);
        let one = self.builder.ins().iconst(I64, 1);
        let [cold, next] = [self.builder.create_block(), self.builder.create_block()];
        self.builder.set_cold_block(cold);
        let capture = Capture {
            current,
            outermost: self.builder.append_block_param(next, I64),
            parent: self.builder.append_block_param(next, I64),
            signal: self.builder.append_block_param(next, I64),
        };
        let found = [current.into(), parent.into(), one.into()];
        self.builder.ins().brif(is_first, next, &found, cold, &[]);
        self.enter_sealed(cold);
        self.capture_again(current, word, next);
        let signal = self.call_builtin(Builtin::find_handler, &[word]);
        let outermost = self.load_from_store(offset_of!(StoreContext, found));
        let parent = self.load_word(outermost, offset_of!(ControlBlock, parent));
        self.jump(next, &[outermost, parent, signal]);
        self.enter_sealed(next);
        self.store_word(current, capture.outermost, offset_of!(ControlBlock, innermost));
        capture
    }

    /// A stack that was suspended together with others, was continued together
    /// with them and now searches for the same finds it at the same place: goes
    /// on at `next` if that is so, else behind.
    fn capture_again(&mut self, current: Value, word: Value, next: Block) {
        let through = self.load_word(current, offset_of!(ControlBlock, through));
        let sought = self.load_word(current, offset_of!(ControlBlock, sought));
        let outermost = self.load_word(current, offset_of!(ControlBlock, sought_outermost));
        let same_word = self.builder.ins().icmp(IntCC::Equal, sought, word);
        let same_stack = self.builder.ins().icmp(IntCC::Equal, through, outermost);
        let same = self.builder.ins().band(same_word, same_stack);
        let [again, other] = [self.builder.create_block(), self.builder.create_block()];
        self.builder.ins().brif(same, again, &[], other, &[]);
        self.enter_sealed(again);
        let parent = self.load_word(through, offset_of!(ControlBlock, parent));
        let handlers = self.load_word(parent, offset_of!(ControlBlock, handlers));
        let first = self.load_word(handlers, 0);
        let is_first = self.builder.ins().icmp(IntCC::Equal, first, word);
        let one = self.builder.ins().iconst(I64, 1);
        let found = [through.into(), parent.into(), one.into()];
        self.builder.ins().brif(is_first, next, &found, other, &[]);
        self.enter_sealed(other);
    }

    /// Leaves one stack and continues another; answers the signal and the
    /// reference with which somebody switches back.
    pub(super) fn switch_stacks(
        &mut self,
        from: Value,
        to: Value,
        signal: Value,
        captured: Value,
    ) -> (Value, Value) {
        if self.env.move_stacks {
            self.call_builtin(Builtin::move_stack, &[to]);
        }
        let store = self.store_context();
        let signature = self.builder.import_signature(signature::switch_stub());
        let name = ir::UserExternalName::new(SWITCH, 0);
        let name = self.builder.func.declare_imported_user_function(name);
        let switch = self.builder.import_function(ir::ExtFuncData {
            name: ir::ExternalName::user(name),
            signature,
            colocated: true,
            patchable: false,
        });
        let args = [from, to, signal, captured, store];
        let results = self.guarded_call(Callee::Direct(switch), &args);
        (results[0], results[1])
    }

    pub(super) fn current_stack(&mut self) -> Value {
        self.load_from_store(offset_of!(StoreContext, stack))
    }

    /// The address of the clauses of a `resume`.
    fn handler_table(&mut self, table: &ResumeTable) -> Value {
        let clauses = handlers::clauses(table);
        let tables = &self.env.info.handler_tables;
        let number = tables.iter().position(|known| *known == clauses).expect("collected before");
        let offset = self.env.layout.handler_table(number as u32);
        self.builder.ins().iadd_imm_s(self.context, i64::from(offset))
    }

    /// Puts values one after another.
    pub(super) fn put(&mut self, place: Value, values: &[Value]) {
        for (i, &value) in values.iter().enumerate() {
            let offset = transfer_offset(i as u32);
            self.builder.ins().store(MemFlagsData::trusted(), value, place, offset);
        }
    }

    /// Pushes the values that the transfer area begins with.
    pub(super) fn take(&mut self, types: &[ValType]) {
        if types.is_empty() {
            return;
        }
        let area = self.transfer_area();
        for (i, &ty) in types.iter().enumerate() {
            let offset = transfer_offset(i as u32);
            let flags = MemFlagsData::trusted();
            let value = self.builder.ins().load(clif_type(ty), flags, area, offset);
            self.push_typed(value, ty);
        }
    }

    pub(super) fn load_word(&mut self, base: Value, offset: usize) -> Value {
        self.builder.ins().load(I64, MemFlagsData::trusted(), base, offset as i32)
    }

    pub(super) fn store_word(&mut self, value: Value, base: Value, offset: usize) {
        self.builder.ins().store(MemFlagsData::trusted(), value, base, offset as i32);
    }

    pub(super) fn load_from_store(&mut self, offset: usize) -> Value {
        let store = self.store_context();
        self.load_word(store, offset)
    }

    pub(super) fn store_to_store(&mut self, value: Value, offset: usize) {
        let store = self.store_context();
        self.store_word(value, store, offset);
    }
}
