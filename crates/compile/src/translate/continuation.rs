//! Typed continuations.
//!
//! Everything that succeeds is done in line: the check of the reference, the
//! links between the stacks, the search if the nearest clause fits. Then one
//! call switches stacks; [`image`](crate::image) makes it a jump to code of its
//! own. It is a call like any other to Cranelift, so it has a stack map and
//! exception edges; with the exception table, even if that is empty, every
//! register counts as lost. The first values travel in registers, as
//! [`carry`](crate::carry) says.
//!
//! The call returns when somebody switches back, with what a [`Delivery`] says.
//!
//! What costs most is stores, of which the processor makes one at a time, so the
//! common case makes few: a link is compared before it is written, and nothing
//! is spilled that a switch would not lose anyway. Therefore what is uncommon
//! never comes back to the common case before the switch: it ends in a switch of
//! its own, and both arrive at the same block.

use super::call::Callee;
use super::{Translator, clif_type, constant_flags, transfer_offset, trap};
use crate::carry::{self, CARRIED};
use crate::function::SWITCH;
use crate::handlers::Contents;
use crate::near::near_function;
use crate::signature::SWITCH_WORDS;
use crate::{handlers, signature};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, InstBuilder, MemFlagsData, StackSlot, StackSlotData, StackSlotKind, Value, types::*,
};
use cranelift_codegen::isa::CallConv;
use cranelift_frontend::Variable;
use ropewalk_abi::stack::{
    ClauseKind, NEXT_GENERATION, OFFSET_MASK, StackKind, StackState, kind_bits,
};
use ropewalk_abi::{
    Builtin, ControlBlock, FuncType, HeapType, RefType, StoreContext, TrapCode, TypeInfo, ValType,
};
use std::mem::offset_of;
use wasmparser::{Handle, ResumeTable};

const CONT: ValType = ValType::Ref(RefType { nullable: true, heap: HeapType::Cont });

/// What runs, in a function that switches: variables, since every switch leaves
/// them in registers, where the next one finds them sooner than in memory.
pub(super) struct Running {
    /// The context of the instance, if there is a loop: as a value that no switch
    /// changes it would be stored into the frame again and again.
    context: Option<StackSlot>,
    /// The context of the store.
    store: Variable,
    /// The stack. It may get another block whenever it is suspended.
    stack: Variable,
    /// The reference under which the stack will be suspended the next time, if
    /// the function suspends.
    reference: Option<Variable>,
}

/// What comes with a switch.
pub(super) struct Delivery {
    /// Zero, or the number of a clause plus one.
    pub signal: Value,
    /// The reference to what was suspended; with signal zero, that under which
    /// this stack will be suspended the next time.
    pub reference: Value,
    /// The values that travel in registers.
    carried: Vec<Value>,
}

/// Where the values begin in the transfer area that do not travel in registers.
pub(super) const FIRST_IN_AREA: i32 = transfer_offset(CARRIED as u32);
/// Where `is_entangled` begins in the word that it shares with `bound`.
const ENTANGLED_SHIFT: i64 = 16;

/// A stack that is about to be continued.
pub(super) struct Target {
    /// Its outermost block, which the reference named.
    pub block: Value,
    /// The stack on which execution continues.
    pub innermost: Value,
    /// The reference under which that one will be suspended the next time.
    pub reference: Value,
}

/// Where a suspension goes.
struct Capture {
    /// The reference to what is captured.
    reference: Value,
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
        let area = self.running_area();
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
        let back = self.back(self.most_delivered(function, table));
        let nothing = self.builder.ins().iconst(I64, 0);
        let block = self.check_reference(reference, StackKind::Continuation);
        let cold = self.cold_block();
        self.check_alone(block, reference, cold);
        self.link(block, table);
        let next = self.take_generation(block, reference, StackKind::Continuation);
        let carried = self.carry(&arguments);
        self.switch_to(block, nothing, next, &carried, back);
        self.enter_sealed(cold);
        self.put_all(&arguments);
        let function_type = env.info.cont_function(ty);
        let target = self.consume_other(block, function_type, arguments.len(), None);
        self.link_other(target.block, table);
        self.continue_stack(&target, back);
        let delivery = self.come_back(back);
        self.after_resume(delivery, function, table);
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
        let back = self.back(self.most_delivered(function, table));
        self.leave_by(Builtin::resume_throw, &operands, back);
        let delivery = self.come_back(back);
        self.after_resume(delivery, function, table);
    }

    /// Calls a builtin that continues another stack. What somebody switches back
    /// with arrives at `back`.
    pub(super) fn leave_by(&mut self, builtin: Builtin, operands: &[Value], back: Block) {
        let (stub, args) = self.builtin_call(builtin, operands);
        let mut signature = signature::builtin_stub(CallConv::Tail);
        let delivered = self.builder.block_params(back).len() - SWITCH_WORDS;
        signature.returns = signature::switch_stub(&[], delivered).returns;
        let signature = self.builder.import_signature(signature);
        self.guarded_call_to(Callee::Indirect(signature, stub), &args, back);
    }

    /// What follows a `resume`: the results, or a branch for each clause.
    fn after_resume(&mut self, delivery: Delivery, function: &FuncType, table: &ResumeTable) {
        // Meanwhile this stack may have been suspended together with the child.
        self.find_running_reference();
        let labels = table.handlers.iter().enumerate().filter_map(|(i, handle)| match handle {
            Handle::OnLabel { tag, label } => Some((i, *tag, *label)),
            Handle::OnSwitch { .. } => None,
        });
        for (i, tag, label) in labels {
            let number = i as i64 + 1;
            let is_clause = self.builder.ins().icmp_imm_u(IntCC::Equal, delivery.signal, number);
            let [clause, next] = [self.builder.create_block(), self.builder.create_block()];
            self.builder.ins().brif(is_clause, clause, &[], next, &[]);
            self.enter_sealed(clause);
            let height = self.stack.len();
            let env = self.env;
            self.receive(env.info.tag_type(tag).params(), &delivery);
            self.push_typed(delivery.reference, CONT);
            let (block, operands) = self.branch(label);
            self.jump(block, &operands);
            self.stack.truncate(height);
            self.enter_sealed(next);
        }
        self.receive(function.results(), &delivery);
    }

    /// How many values at most come with what a `resume` waits for.
    fn most_delivered(&self, function: &FuncType, table: &ResumeTable) -> usize {
        let payloads = table.handlers.iter().map(|handle| match handle {
            Handle::OnLabel { tag, .. } => self.env.info.tag_type(*tag).params().len(),
            Handle::OnSwitch { .. } => 0,
        });
        payloads.fold(function.results().len(), usize::max).min(CARRIED)
    }

    pub fn suspend(&mut self, tag: u32) {
        let env = self.env;
        let ty = env.info.tag_type(tag);
        let values = self.stack.split_off(self.stack.len() - ty.params().len());
        let back = self.back(ty.results().len());
        let cold = self.cold_block();
        let parent = self.capture(tag, ClauseKind::Suspend, cold);
        let reference = self.current_reference();
        let first = self.builder.ins().iconst(I64, 1);
        let carried = self.carry(&values);
        self.switch_to(parent, first, reference, &carried, back);
        self.enter_sealed(cold);
        self.put_all(&values);
        let other = self.capture_other(tag, ClauseKind::Suspend);
        let carried = self.load_carried(values.len());
        self.switch_other(other.parent, other.signal, other.reference, &carried, back);
        let delivery = self.come_back(back);
        self.receive(ty.results(), &delivery);
    }

    pub fn switch(&mut self, ty: u32, tag: u32) {
        let env = self.env;
        let function = env.info.func_type(env.info.cont_function(ty));
        let reference = self.pop();
        let count = function.params().len() - 1;
        let mut arguments = self.stack.split_off(self.stack.len() - count);
        // Somebody switches back with the parameters of what is passed along.
        let Some(ValType::Ref(RefType { heap: HeapType::Concrete(passed), .. })) =
            function.params().last()
        else {
            unreachable!("validated to be a continuation");
        };
        let delivered = env.info.func_type(env.info.cont_function(*passed)).params();
        let back = self.back(delivered.len());
        let nothing = self.builder.ins().iconst(I64, 0);
        let block = self.check_reference(reference, StackKind::Continuation);
        let cold = self.cold_block();
        let parent = self.capture(tag, ClauseKind::Switch, cold);
        self.check_alone(block, reference, cold);
        self.store_other(parent, block, offset_of!(ControlBlock, parent));
        let next = self.take_generation(block, reference, StackKind::Continuation);
        arguments.push(self.current_reference());
        let carried = self.carry(&arguments);
        self.switch_to(block, nothing, next, &carried, back);
        self.enter_sealed(cold);
        self.put_all(&arguments[..count]);
        // The search loses the registers, and the last place is still free.
        let area = self.running_area();
        let place = transfer_offset(count as u32);
        self.builder.ins().store(MemFlagsData::trusted(), block, area, place);
        let other = self.capture_other(tag, ClauseKind::Switch);
        let area = self.running_area();
        let block = self.builder.ins().load(I64, MemFlagsData::trusted(), area, place);
        let function_type = env.info.cont_function(ty);
        let target = self.consume_other(block, function_type, count, Some(other.reference));
        self.store_word(other.parent, target.block, offset_of!(ControlBlock, parent));
        self.continue_stack(&target, back);
        let delivery = self.come_back(back);
        self.receive(delivered, &delivery);
    }

    // ---- the parts that the other designs share

    /// Leaves the running stack and continues another with a signal, a reference
    /// and values; answers what somebody switches back with, of which so many
    /// are values.
    pub(super) fn exchange(
        &mut self,
        to: Value,
        signal: Value,
        reference: Value,
        values: &[Value],
        delivered: usize,
    ) -> Delivery {
        let back = self.back(delivered);
        let carried = self.carry(values);
        self.switch_to(to, signal, reference, &carried, back);
        self.come_back_anew(back)
    }

    /// Has the runtime continue another stack; answers what somebody switches
    /// back with.
    pub(super) fn switch_by(
        &mut self,
        builtin: Builtin,
        operands: &[Value],
        delivered: usize,
    ) -> Delivery {
        let back = self.back(delivered);
        self.leave_by(builtin, operands, back);
        self.come_back_anew(back)
    }

    /// As `come_back`, when this stack may have been suspended with others.
    pub(super) fn come_back_anew(&mut self, back: Block) -> Delivery {
        let delivery = self.come_back(back);
        self.find_running_reference();
        delivery
    }

    // ---- the parts

    /// The block that a reference of a kind names, if the reference is valid.
    pub(super) fn check_reference(&mut self, reference: Value, kind: StackKind) -> Value {
        self.check_reference_or(reference, kind, |this| this.complain(reference, kind)).0
    }

    /// Traps, since a reference is not a valid one of a kind.
    pub(super) fn complain(&mut self, reference: Value, kind: StackKind) {
        let kind = self.index(kind as u64);
        self.call_builtin(Builtin::invalid_stack, &[reference, kind]);
    }

    /// The same, and the reference without its kind; if it is not valid, it does
    /// something that traps.
    pub(super) fn check_reference_or(
        &mut self,
        reference: Value,
        kind: StackKind,
        complain: impl FnOnce(&mut Self),
    ) -> (Value, Value) {
        let blocks = self.load_from_store(offset_of!(StoreContext, blocks));
        let offset = self.builder.ins().band_imm_u(reference, OFFSET_MASK as i64);
        // The first block lies where all these bits are zero.
        let block = self.builder.ins().bor(blocks, offset);
        // Without any stacks there are no blocks, and every reference is null.
        let flags = MemFlagsData::new()
            .with_aligned()
            .with_trap_code(Some(trap(TrapCode::NullContinuation)));
        let place = offset_of!(ControlBlock, reference) as i32;
        let valid = self.builder.ins().load(I64, flags, block, place);
        let is_valid = match kind_bits(kind) as i64 {
            0 => self.builder.ins().icmp(IntCC::Equal, reference, valid),
            kind => {
                let difference = self.builder.ins().bxor(reference, valid);
                self.builder.ins().icmp_imm_u(IntCC::Equal, difference, kind)
            }
        };
        let [cold, next] = self.cold_and_next();
        self.builder.ins().brif(is_valid, next, &[], cold, &[]);
        self.enter_sealed(cold);
        complain(self);
        self.builder.ins().trap(trap(TrapCode::ContinuationConsumed));
        self.enter_sealed(next);
        (block, valid)
    }

    /// Goes on here in the common case: the stack that a valid reference names is
    /// suspended alone and has no bound arguments, and there is a next generation.
    /// Else goes on at `cold`.
    pub(super) fn check_alone(&mut self, block: Value, reference: Value, cold: Block) {
        let flags = self.load_flags(block);
        self.go_on_unless(flags, cold);
        self.check_generation(reference, cold);
    }

    /// Goes on at `cold` if a reference is one of the last generation.
    pub(super) fn check_generation(&mut self, reference: Value, cold: Block) {
        let last = NEXT_GENERATION.wrapping_neg() as i64;
        let comparison = IntCC::UnsignedGreaterThanOrEqual;
        let is_last = self.builder.ins().icmp_imm_s(comparison, reference, last);
        self.go_on_unless(is_last, cold);
    }

    /// Makes the reference of the next generation valid, and answers it.
    pub(super) fn take_generation(
        &mut self,
        block: Value,
        reference: Value,
        kind: StackKind,
    ) -> Value {
        let step = (NEXT_GENERATION - kind_bits(kind)) as i64;
        let next = self.builder.ins().iadd_imm_s(reference, step);
        self.store_word(next, block, offset_of!(ControlBlock, reference));
        next
    }

    /// Uses up a valid reference in any case: the stack becomes ready to continue
    /// with as many values, whose types are the parameters of a function type and
    /// which are in the transfer area, and maybe a last one.
    pub(super) fn consume_other(
        &mut self,
        block: Value,
        function_type: u32,
        count: usize,
        last: Option<Value>,
    ) -> Target {
        let reference = self.load_word(block, offset_of!(ControlBlock, reference));
        let one = self.builder.ins().iconst(I64, NEXT_GENERATION as i64);
        let (bumped, overflow) = self.builder.ins().uadd_overflow(reference, one);
        let bound = self.load_bound(block);
        let overflow = self.builder.ins().uextend(I64, overflow);
        let needs_runtime = self.builder.ins().bor(bound, overflow);
        let [slow, quick, deep] = std::array::from_fn(|_| self.builder.create_block());
        for block in [slow, quick, deep] {
            self.builder.set_cold_block(block);
        }
        let [ready] = self.words(deep);
        self.builder.ins().brif(needs_runtime, slow, &[], quick, &[]);
        self.enter_sealed(quick);
        self.store_word(bumped, block, offset_of!(ControlBlock, reference));
        self.jump(deep, &[block]);
        self.enter_sealed(slow);
        let info = self.type_info(function_type);
        let operands = [reference, info, self.index(count as u64)];
        let made = self.call_builtin(Builtin::ready, &operands);
        self.find_running();
        self.jump(deep, &[made]);
        self.enter_sealed(deep);
        if let Some(last) = last {
            let area = self.running_area();
            let offset = self.builder.ins().ishl_imm_u(bound, 4);
            let place = self.builder.ins().iadd(area, offset);
            let offset = transfer_offset(count as u32);
            self.builder.ins().store(MemFlagsData::trusted(), last, place, offset);
        }
        let innermost = self.disentangle(ready);
        let reference = self.load_word(innermost, offset_of!(ControlBlock, reference));
        Target { block: ready, innermost, reference }
    }

    /// As [`ControlBlock::disentangle`].
    pub(super) fn disentangle(&mut self, block: Value) -> Value {
        let innermost = self.load_word(block, offset_of!(ControlBlock, innermost));
        let is_alone = self.builder.ins().icmp(IntCC::Equal, innermost, block);
        let nothing = self.builder.ins().iconst(I64, 0);
        let through = self.builder.ins().select(is_alone, nothing, block);
        self.store_word(block, block, offset_of!(ControlBlock, innermost));
        self.set_entangled(block, false);
        self.store_word(through, innermost, offset_of!(ControlBlock, through));
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, innermost, block);
        let is_other = self.builder.ins().uextend(I32, is_other);
        let flags = self.builder.ins().ishl_imm_u(is_other, ENTANGLED_SHIFT);
        self.store_word(flags, innermost, offset_of!(ControlBlock, bound));
        innermost
    }

    /// How many arguments are bound to a stack.
    pub(super) fn load_bound(&mut self, block: Value) -> Value {
        let place = offset_of!(ControlBlock, bound) as i32;
        self.builder.ins().uload16(I64, MemFlagsData::trusted(), block, place)
    }

    /// Loads `bound` and `is_entangled` together.
    pub(super) fn load_flags(&mut self, block: Value) -> Value {
        let place = offset_of!(ControlBlock, bound) as i32;
        self.builder.ins().load(I32, MemFlagsData::trusted(), block, place)
    }

    /// Stores `is_entangled`, together with `bound`, which is zero.
    pub(super) fn set_entangled(&mut self, block: Value, is_entangled: bool) {
        let flags = i64::from(is_entangled) << ENTANGLED_SHIFT;
        let flags = self.builder.ins().iconst(I32, flags);
        self.store_word(flags, block, offset_of!(ControlBlock, bound));
    }

    /// Links a stack to the running one, which resumes it, if anything differs
    /// from the last time: a store costs more than a load.
    fn link(&mut self, block: Value, table: &ResumeTable) {
        let current = self.current_stack();
        self.store_other(current, block, offset_of!(ControlBlock, parent));
        let handlers = self.handler_table(table);
        self.store_other(handlers, current, offset_of!(ControlBlock, handlers));
        self.forget_any_through(current);
    }

    /// As `forget_through`, if there is anything to forget.
    pub(super) fn forget_any_through(&mut self, current: Value) {
        let flags = self.load_flags(current);
        let [cold, next] = self.cold_and_next();
        self.builder.ins().brif(flags, cold, &[], next, &[]);
        self.enter_sealed(cold);
        self.forget_through(current);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    /// As `link`, in the uncommon case.
    fn link_other(&mut self, block: Value, table: &ResumeTable) {
        let current = self.current_stack();
        self.store_word(current, block, offset_of!(ControlBlock, parent));
        let handlers = self.handler_table(table);
        self.store_word(handlers, current, offset_of!(ControlBlock, handlers));
        self.forget_through(current);
    }

    /// Notes in a stack that resumes another that something above may have
    /// changed when the other comes back.
    fn forget_through(&mut self, current: Value) {
        let nothing = self.builder.ins().iconst(I64, 0);
        self.store_word(nothing, current, offset_of!(ControlBlock, through));
        self.set_entangled(current, false);
    }

    /// Switches to a stack whose arguments are in the transfer area.
    pub(super) fn continue_stack(&mut self, target: &Target, back: Block) {
        let nothing = self.builder.ins().iconst(I64, 0);
        let carried = self.load_carried(CARRIED);
        self.switch_other(target.innermost, nothing, target.reference, &carried, back);
    }

    /// Finds the handler of a tag in the common case, in which it is the first
    /// clause of the nearest `resume`, and answers the stack that waits in that.
    /// Else goes on at `cold`.
    fn capture(&mut self, tag: u32, kind: ClauseKind, cold: Block) -> Value {
        let word = self.handler_word(tag, kind);
        let current = self.current_stack();
        let parent = self.load_word(current, offset_of!(ControlBlock, parent));
        let handlers = self.load_word(parent, offset_of!(ControlBlock, handlers));
        let first = self.load_word(handlers, 0);
        let is_first = self.builder.ins().icmp(IntCC::Equal, word, first);
        self.go_on_if(is_first, cold);
        parent
    }

    /// The word of a clause. It is loaded anew each time: a hoisted one would be
    /// in memory as well, since no register survives a switch.
    pub(super) fn handler_word(&mut self, tag: u32, kind: ClauseKind) -> Value {
        let offset = self.env.layout.tag(tag);
        let context = self.running_context();
        let word = self.builder.ins().load(I64, MemFlagsData::trusted(), context, offset);
        match kind {
            ClauseKind::Suspend => word,
            _ => self.builder.ins().iadd_imm_s(word, kind as i64),
        }
    }

    /// As `capture` in any other case.
    fn capture_other(&mut self, tag: u32, kind: ClauseKind) -> Capture {
        let word = self.handler_word(tag, kind);
        let next = self.builder.create_block();
        self.builder.set_cold_block(next);
        let [outermost, parent, signal] = self.words(next);
        let current = self.current_stack();
        self.capture_again(current, word, next);
        let clause = self.call_builtin(Builtin::find_handler, &[word]);
        self.find_running();
        let found = self.load_from_store(offset_of!(StoreContext, found));
        let handling = self.load_word(found, offset_of!(ControlBlock, parent));
        self.jump(next, &[found, handling, clause]);
        self.enter_sealed(next);
        let current = self.current_stack();
        self.store_word(current, outermost, offset_of!(ControlBlock, innermost));
        self.set_entangled(outermost, true);
        let reference = self.load_word(outermost, offset_of!(ControlBlock, reference));
        Capture { reference, parent, signal }
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
        self.builder.set_cold_block(again);
        self.builder.set_cold_block(other);
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

    /// Leaves the running stack and continues another with a signal, a reference
    /// and values. What somebody switches back with arrives at `back`.
    pub(super) fn switch_to(
        &mut self,
        to: Value,
        signal: Value,
        reference: Value,
        carried: &[Value],
        back: Block,
    ) {
        self.switch_into(None, to, signal, reference, carried, back);
    }

    /// As `switch_to`, but the other stack continues in a thunk, if the number of
    /// one is given, which is called as if from where that stack was left.
    pub(super) fn switch_into(
        &mut self,
        thunk: Option<u32>,
        to: Value,
        signal: Value,
        reference: Value,
        carried: &[Value],
        back: Block,
    ) {
        let from = self.current_stack();
        if self.env.move_stacks {
            self.call_builtin(Builtin::move_stack, &[to]);
        }
        let store = self.running_store();
        let dfg = &self.builder.func.dfg;
        let sent: Vec<_> = carried.iter().map(|value| dfg.value_type(*value)).collect();
        let delivered = dfg.block_params(back).len() - SWITCH_WORDS;
        let signature = signature::switch_stub(&sent, delivered);
        let signature = self.builder.import_signature(signature);
        let index = thunk.map_or(0, |number| number + 1);
        let switch = near_function(&mut self.builder, SWITCH, index, signature);
        let mut args = vec![from, to, signal, reference, store];
        args.extend(carried);
        self.guarded_call_to(Callee::Direct(switch), &args, back);
    }

    /// As `switch_to`, in the uncommon case: what leads to `back` from here
    /// lies apart as well.
    pub(super) fn switch_other(
        &mut self,
        to: Value,
        signal: Value,
        reference: Value,
        carried: &[Value],
        back: Block,
    ) {
        let apart = self.apart(back);
        self.switch_to(to, signal, reference, carried, apart);
        self.rejoin(apart, back);
    }

    /// A block like another, for coming back in an uncommon case.
    pub(super) fn apart(&mut self, back: Block) -> Block {
        let delivered = self.builder.block_params(back).len() - SWITCH_WORDS;
        let apart = self.back(delivered);
        self.builder.set_cold_block(apart);
        apart
    }

    /// Goes on at the other.
    pub(super) fn rejoin(&mut self, apart: Block, back: Block) {
        self.enter_sealed(apart);
        let results = self.builder.block_params(apart).to_vec();
        self.jump(back, &results);
    }

    /// The block where somebody switches back to with so many values.
    pub(super) fn back(&mut self, delivered: usize) -> Block {
        let returns = signature::switch_stub(&[], delivered.min(CARRIED)).returns;
        let back = self.builder.create_block();
        for result in returns {
            self.builder.append_block_param(back, result.value_type);
        }
        back
    }

    /// Goes on where somebody has switched back.
    pub(super) fn come_back(&mut self, back: Block) -> Delivery {
        self.enter_sealed(back);
        let params = self.builder.block_params(back).to_vec();
        let &[_, reference, signal, stack, _, store, ref carried @ ..] = params.as_slice() else {
            unreachable!("the results of a switch");
        };
        if let Some(running) = &self.running {
            self.builder.def_var(running.store, store);
            self.builder.def_var(running.stack, stack);
            if let Some(variable) = running.reference {
                self.builder.def_var(variable, reference);
            }
        }
        Delivery { signal, reference, carried: carried.to_vec() }
    }

    /// Prepares for switching in a function that does so.
    pub(super) fn declare_running(&mut self, contents: Contents) {
        if !contents.switches {
            return;
        }
        self.check_room_for_switch();
        let [store, stack] = [I64; 2].map(|ty| self.builder.declare_var(ty));
        let reference = contents.suspends.then(|| self.builder.declare_var(I64));
        let context = contents.loops.then(|| {
            let word = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
            let slot = self.builder.create_sized_stack_slot(word);
            self.builder.ins().stack_store(I64, self.context, slot, 0);
            slot
        });
        self.running = Some(Running { context, store, stack, reference });
        self.find_running();
    }

    /// Traps unless a word can be pushed. A switch does so when the links of the
    /// stacks have changed already, and must not fail then.
    fn check_room_for_switch(&mut self) {
        let sp = self.builder.ins().get_stack_pointer(I64);
        let flags = MemFlagsData::new().with_trap_code(Some(trap(TrapCode::CallStackExhausted)));
        self.builder.ins().load(I64, flags, sp, -(size_of::<usize>() as i32));
    }

    /// Finds out anew what runs, after something that may have switched.
    pub(super) fn find_running(&mut self) {
        let Some(Running { store, stack, .. }) = self.running else { return };
        let context = self.store_context();
        self.builder.def_var(store, context);
        let running = self.load_word(context, offset_of!(StoreContext, stack));
        self.builder.def_var(stack, running);
        self.find_running_reference();
    }

    /// As `find_running`, if only the reference may have changed.
    pub(super) fn find_running_reference(&mut self) {
        let Some(Running { stack, reference: Some(reference), .. }) = self.running else { return };
        let stack = self.builder.use_var(stack);
        let next = self.load_word(stack, offset_of!(ControlBlock, reference));
        self.builder.def_var(reference, next);
    }

    /// The reference under which the running stack will be suspended if it is
    /// suspended alone.
    pub(super) fn current_reference(&mut self) -> Value {
        if let Some(Running { reference: Some(reference), .. }) = self.running {
            return self.builder.use_var(reference);
        }
        let current = self.current_stack();
        self.load_word(current, offset_of!(ControlBlock, reference))
    }

    pub(super) fn current_stack(&mut self) -> Value {
        match &self.running {
            Some(running) => self.builder.use_var(running.stack),
            None => self.load_from_store(offset_of!(StoreContext, stack)),
        }
    }

    /// The context of the instance, where it is least in the way.
    pub(super) fn running_context(&mut self) -> Value {
        match self.running {
            Some(Running { context: Some(slot), .. }) => {
                self.builder.ins().stack_load(I64, I64, slot, 0)
            }
            _ => self.context,
        }
    }

    /// The context of the store, out of the register where the last switch left
    /// it.
    fn running_store(&mut self) -> Value {
        match &self.running {
            Some(running) => self.builder.use_var(running.store),
            None => self.store_context(),
        }
    }

    /// The beginning of the transfer area.
    pub(super) fn running_area(&mut self) -> Value {
        let store = self.running_store();
        self.load_constant(store, offset_of!(StoreContext, transfer) as i32)
    }

    /// The address of the clauses of a `resume`.
    fn handler_table(&mut self, table: &ResumeTable) -> Value {
        let clauses = handlers::clauses(table);
        let tables = &self.env.info.handler_tables;
        let number = tables.iter().position(|known| *known == clauses).expect("collected before");
        let offset = self.env.layout.handler_table(number as u32);
        let context = self.running_context();
        self.builder.ins().iadd_imm_s(context, i64::from(offset))
    }

    /// Puts values one after another.
    pub(super) fn put(&mut self, place: Value, values: &[Value]) {
        for (i, &value) in values.iter().enumerate() {
            let offset = transfer_offset(i as u32);
            self.builder.ins().store(MemFlagsData::trusted(), value, place, offset);
        }
    }

    /// Puts all values into the transfer area, for the runtime's use or because
    /// it loses the registers. They fill their places, since what is loaded in
    /// one piece should have been stored in one.
    pub(super) fn put_all(&mut self, values: &[Value]) {
        let area = self.running_area();
        let values = values.iter().map(|value| carry::to_vector(&mut self.builder, *value));
        let values: Vec<_> = values.collect();
        self.put(area, &values);
    }

    /// Puts the values that do not travel in registers into the transfer area;
    /// answers the others as they travel.
    pub(super) fn carry(&mut self, values: &[Value]) -> Vec<Value> {
        let (carried, others) = values.split_at(values.len().min(CARRIED));
        if !others.is_empty() {
            let area = self.running_area();
            let place = self.builder.ins().iadd_imm_s(area, i64::from(FIRST_IN_AREA));
            self.put(place, others);
        }
        carried.iter().map(|value| carry::to_carrier(&mut self.builder, *value)).collect()
    }

    /// Those of so many values in the transfer area that travel in registers.
    pub(super) fn load_carried(&mut self, count: usize) -> Vec<Value> {
        let area = self.running_area();
        let load = |i| {
            let flags = MemFlagsData::trusted();
            self.builder.ins().load(I8X16, flags, area, transfer_offset(i as u32))
        };
        (0..count.min(CARRIED)).map(load).collect()
    }

    /// Pushes the values that somebody has switched with.
    pub(super) fn receive(&mut self, types: &[ValType], delivery: &Delivery) {
        for (i, &ty) in types.iter().enumerate() {
            let value = if i < CARRIED {
                carry::from_carrier(&mut self.builder, delivery.carried[i], clif_type(ty))
            } else {
                let area = self.running_area();
                let flags = MemFlagsData::trusted();
                self.builder.ins().load(clif_type(ty), flags, area, transfer_offset(i as u32))
            };
            self.push_typed(value, ty);
        }
    }

    /// Stores a word unless it is there already: a store costs more than a load.
    pub(super) fn store_other(&mut self, value: Value, base: Value, offset: usize) {
        let present = self.load_word(base, offset);
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, value, present);
        let [cold, next] = self.cold_and_next();
        self.builder.ins().brif(is_other, cold, &[], next, &[]);
        self.enter_sealed(cold);
        self.store_word(value, base, offset);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    pub(super) fn cold_block(&mut self) -> Block {
        let cold = self.builder.create_block();
        self.builder.set_cold_block(cold);
        cold
    }

    /// A block for what is uncommon, and the one where it and the rest meet.
    pub(super) fn cold_and_next(&mut self) -> [Block; 2] {
        [self.cold_block(), self.next_block()]
    }

    /// A block for what follows, which is as common as what comes before it.
    pub(super) fn next_block(&mut self) -> Block {
        let current = self.builder.current_block();
        let is_cold = current.is_some_and(|block| self.builder.func.layout.is_cold(block));
        match is_cold {
            true => self.cold_block(),
            false => self.builder.create_block(),
        }
    }

    /// Parameters of a block.
    pub(super) fn words<const N: usize>(&mut self, block: Block) -> [Value; N] {
        std::array::from_fn(|_| self.builder.append_block_param(block, I64))
    }

    pub(super) fn go_on_if(&mut self, condition: Value, cold: Block) {
        let next = self.next_block();
        self.builder.ins().brif(condition, next, &[], cold, &[]);
        self.enter_sealed(next);
    }

    pub(super) fn go_on_unless(&mut self, condition: Value, cold: Block) {
        let next = self.next_block();
        self.builder.ins().brif(condition, cold, &[], next, &[]);
        self.enter_sealed(next);
    }

    pub(super) fn load_word(&mut self, base: Value, offset: usize) -> Value {
        self.builder.ins().load(I64, MemFlagsData::trusted(), base, offset as i32)
    }

    pub(super) fn store_word(&mut self, value: Value, base: Value, offset: usize) {
        self.builder.ins().store(MemFlagsData::trusted(), value, base, offset as i32);
    }

    pub(super) fn load_from_store(&mut self, offset: usize) -> Value {
        let store = self.running_store();
        self.load_word(store, offset)
    }

    pub(super) fn store_to_store(&mut self, value: Value, offset: usize) {
        let store = self.running_store();
        self.store_word(value, store, offset);
    }
}
