//! References to suspended stacks: checking them, and using them up.

use crate::emit::carry::CARRIED;
use crate::emit::record::{Records, block, store};
use crate::emit::trap;
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::stack::{
    GROUPED, HAS_WAITED, LAST_REFERENCES, NEXT_GENERATION, OFFSET_MASK, OFFSET_SHIFT, StackKind,
    kind_bits,
};
use ropewalk_abi::{Builtin, TrapCode};

/// A suspended stack that the next switch continues.
pub(crate) struct SuspendedStack {
    /// The outermost block, which the reference named.
    pub block: Value,
    /// The innermost stack, on which execution continues.
    pub innermost: Value,
    /// The reference for its next suspension.
    pub reference: Value,
}

impl Translator<'_> {
    /// The block that a reference of a kind names. Traps if the reference is not valid.
    pub(crate) fn check_reference(&mut self, reference: Value, kind: StackKind) -> Value {
        self.check_reference_or(reference, kind, |this| this.trap_invalid(reference, kind)).0
    }

    /// Traps because a reference is not a valid one of a kind.
    pub(crate) fn trap_invalid(&mut self, reference: Value, kind: StackKind) {
        let kind = self.index(kind as u64);
        self.call_builtin(Builtin::invalid_stack, &[reference, kind]);
    }

    /// The block that a reference names, and the reference without its kind. If the reference is
    /// not valid, `otherwise` must trap.
    pub(crate) fn check_reference_or(
        &mut self,
        reference: Value,
        kind: StackKind,
        otherwise: impl FnOnce(&mut Self),
    ) -> (Value, Value) {
        let blocks = self.get_from_store(store::BLOCKS);
        let number = self.ins().band_imm_u(reference, OFFSET_MASK as i64);
        let offset = self.ins().ishl_imm_u(number, i64::from(OFFSET_SHIFT));
        let block = self.ins().iadd(blocks, offset);
        let valid = self.get(block, block::REFERENCE);
        let is_valid = match kind_bits(kind) as i64 {
            0 => self.ins().icmp(IntCC::Equal, reference, valid),
            kind => {
                let difference = self.ins().bxor(reference, valid);
                self.ins().icmp_imm_u(IntCC::Equal, difference, kind)
            }
        };
        let [cold, next] = self.cold_and_next();
        self.ins().brif(is_valid, next, &[], cold, &[]);
        self.enter_sealed(cold);
        otherwise(self);
        self.ins().trap(trap(TrapCode::ContinuationConsumed));
        self.enter_sealed(next);
        (block, valid)
    }

    /// Continues at `cold` unless the stack is suspended alone, and its reference has a next
    /// generation.
    pub(crate) fn check_alone(&mut self, block: Value, reference: Value, cold: Block) {
        let is_grouped = self.load_grouped(block);
        self.continue_unless(is_grouped, cold);
        self.check_generation(reference, cold);
    }

    /// Continues at `cold` if a reference is of the last generation.
    pub(crate) fn check_generation(&mut self, reference: Value, cold: Block) {
        let last = LAST_REFERENCES as i64;
        let comparison = IntCC::UnsignedGreaterThanOrEqual;
        let is_last = self.ins().icmp_imm_s(comparison, reference, last);
        self.continue_unless(is_last, cold);
    }

    /// Makes the reference of the next generation valid; returns it without its kind.
    pub(crate) fn take_generation(
        &mut self,
        block: Value,
        reference: Value,
        kind: StackKind,
    ) -> Value {
        let step = (NEXT_GENERATION - kind_bits(kind)) as i64;
        let next = self.ins().iadd_imm_s(reference, step);
        self.set(block, block::REFERENCE, next);
        next
    }

    /// Uses up a valid reference to stacks that are suspended together, in line. Continues at
    /// `slow` if the reference is of the last generation.
    pub(crate) fn consume_group(&mut self, block: Value, slow: Block) -> SuspendedStack {
        let reference = self.get(block, block::REFERENCE);
        self.check_generation(reference, slow);
        let next = self.ins().iadd_imm_s(reference, NEXT_GENERATION as i64);
        self.set(block, block::REFERENCE, next);
        let innermost = self.ungroup(block);
        let reference = self.get(innermost, block::REFERENCE);
        SuspendedStack { block, innermost, reference }
    }

    /// Uses up a valid reference in any case. The stack can then continue with `count` values that
    /// are in the transfer area, and perhaps a last one. Their types are the parameters of a
    /// function type.
    pub(crate) fn consume_any(
        &mut self,
        block: Value,
        function_type: u32,
        count: usize,
        last: Option<Value>,
    ) -> SuspendedStack {
        let reference = self.get(block, block::REFERENCE);
        let one = self.ins().iconst(I64, NEXT_GENERATION as i64);
        let (bumped, overflow) = self.ins().uadd_overflow(reference, one);
        let [slow, quick, deep] = std::array::from_fn(|_| self.builder.create_block());
        for block in [slow, quick, deep] {
            self.builder.set_cold_block(block);
        }
        let [ready] = self.words(deep);
        self.ins().brif(overflow, slow, &[], quick, &[]);
        self.enter_sealed(quick);
        self.set(block, block::REFERENCE, bumped);
        self.jump(deep, &[block]);
        self.enter_sealed(slow);
        let info = self.type_info(function_type);
        let operands = [reference, info, self.index(count as u64)];
        let made = self.call_builtin(Builtin::prepare, &operands);
        self.reload_running();
        self.jump(deep, &[made]);
        self.enter_sealed(deep);
        if let Some(last) = last {
            self.running_transfer().put_reference(count as u32, last);
        }
        let innermost = self.ungroup(ready);
        let reference = self.get(innermost, block::REFERENCE);
        SuspendedStack { block: ready, innermost, reference }
    }

    /// Takes the innermost stack out of a group, as [`ControlBlock::ungroup`] does.
    ///
    /// [`ControlBlock::ungroup`]: ropewalk_abi::ControlBlock::ungroup
    pub(crate) fn ungroup(&mut self, block: Value) -> Value {
        let innermost = self.get(block, block::INNERMOST);
        self.set(block, block::INNERMOST, block);
        self.set_grouped(block, false);
        self.continue_through(innermost, block);
        innermost
    }

    /// Records through which outermost stack the innermost one is continued, if the two differ. The
    /// result of its last search stays valid only if that is the same as the last time, and the
    /// stack has not waited since. Then there is nothing to write.
    fn continue_through(&mut self, innermost: Value, outermost: Value) {
        let before = self.get(innermost, block::THROUGH);
        let is_same = self.ins().icmp(IntCC::Equal, before, outermost);
        let [other, next] = self.cold_and_next();
        self.continue_if(is_same, other);
        // A stack that is alone never gets here: its own block was just written.
        let has_not_waited = self.is_grouped_as(innermost, GROUPED);
        self.ins().brif(has_not_waited, next, &[], other, &[]);
        self.enter_sealed(other);
        let nothing = self.ins().iconst(I64, 0);
        let is_other = self.ins().icmp(IntCC::NotEqual, innermost, outermost);
        let through = self.ins().select(is_other, outermost, nothing);
        const { assert!(GROUPED == 1) };
        let grouped = self.ins().uextend(I32, is_other);
        self.set(innermost, block::THROUGH, through);
        self.set(innermost, block::SOUGHT, nothing);
        self.set(innermost, block::IS_GROUPED, grouped);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    /// Whether `is_grouped` of a stack is [`GROUPED`] or [`HAS_WAITED`], as given.
    pub(crate) fn is_grouped_as(&mut self, block: Value, state: u32) -> Value {
        let grouped = self.load_grouped(block);
        self.ins().icmp_imm_u(IntCC::Equal, grouped, i64::from(state))
    }

    /// Nonzero if a stack is not alone.
    pub(crate) fn load_grouped(&mut self, block: Value) -> Value {
        self.get(block, block::IS_GROUPED)
    }

    pub(crate) fn set_grouped(&mut self, block: Value, is_grouped: bool) {
        let is_grouped = self.ins().iconst(I32, i64::from(is_grouped));
        self.set(block, block::IS_GROUPED, is_grouped);
    }

    /// Switches to a stack whose arguments are in the transfer area, in the general case.
    pub(crate) fn continue_stack(&mut self, target: &SuspendedStack, back: Block) {
        let nothing = self.ins().iconst(I64, 0);
        let carried = self.load_carried(CARRIED);
        self.switch_cold(target.innermost, nothing, target.reference, &carried, back);
    }

    /// Records that a stack waits for another, as [`ControlBlock::wait`] does.
    ///
    /// [`ControlBlock::wait`]: ropewalk_abi::ControlBlock::wait
    pub(crate) fn keep_through(&mut self, current: Value) {
        self.if_grouped(current, |this| {
            let sought = this.get(current, block::SOUGHT);
            let captures = this.get_from_store(store::CAPTURES);
            let has_waited = this.is_grouped_as(current, HAS_WAITED);
            let sought = this.ins().select(has_waited, sought, captures);
            this.set(current, block::SOUGHT, sought);
            let has_waited = this.ins().iconst(I32, i64::from(HAS_WAITED));
            this.set(current, block::IS_GROUPED, has_waited);
        });
    }

    /// Forgets through which stack a stack was continued, as [`ControlBlock::forget_through`] does.
    ///
    /// [`ControlBlock::forget_through`]: ropewalk_abi::ControlBlock::forget_through
    pub(crate) fn forget_through(&mut self, current: Value) {
        self.if_grouped(current, |this| {
            let nothing = this.ins().iconst(I64, 0);
            this.set(current, block::THROUGH, nothing);
            this.set(current, block::SOUGHT, nothing);
            this.set_grouped(current, false);
        });
    }

    /// Emits code for stacks that are not alone.
    fn if_grouped(&mut self, stack: Value, then: impl FnOnce(&mut Self)) {
        let is_grouped = self.load_grouped(stack);
        self.if_cold(is_grouped, then);
    }
}
