//! Bases: stacks without a parent, and the stacks that are suspended together with them.

use super::Case;
use crate::emit::record::{Records, block, store};
use crate::emit::trap;
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use ropewalk_abi::stack::{NEXT_CAPTURE, Purpose, StackKind, kind_bits};
use ropewalk_abi::{Builtin, TrapCode};

impl Translator<'_> {
    /// The block of a stack to switch to. Traps unless the reference is valid, and does not name
    /// the root of another activation: frames of the host lie between that and the running stack.
    pub(crate) fn check_target(&mut self, reference: Value, kind: StackKind) -> Value {
        let block = self.check_reference(reference, kind);
        let purpose = self.load_purpose(block);
        let is_root = self.has_purpose(purpose, Purpose::Root);
        let [root, next] = [self.builder.create_block(), self.next_block()];
        self.ins().brif(is_root, root, &[], next, &[]);
        self.enter_sealed(root);
        let newest = self.get_from_store(store::ROOT);
        let is_newest = self.ins().icmp(IntCC::Equal, block, newest);
        self.ins().trapz(is_newest, trap(TrapCode::AcrossHostFrame));
        self.jump(next, &[]);
        self.enter_sealed(next);
        block
    }

    /// The base of the running stack. In the common case it is the running stack itself.
    pub(crate) fn base(&mut self, case: Case) -> Value {
        let base = self.get_from_store(store::BASE);
        if let Case::Common { otherwise } = case {
            let current = self.current_stack();
            let is_base = self.ins().icmp(IntCC::Equal, base, current);
            self.continue_if(is_base, otherwise);
        }
        base
    }

    /// Sets the base that will run. Nothing may trap between this and the switch.
    pub(crate) fn run_base(&mut self, base: Value) {
        self.set_in_store(store::BASE, base);
    }

    /// Suspends the running stack and its parents up to its base; returns the reference to the
    /// base.
    pub(crate) fn suspend_to_base(&mut self, base: Value, kind: StackKind, case: Case) -> Value {
        let reference = match case {
            Case::Common { .. } => self.current_reference(),
            Case::Any => self.get(base, block::REFERENCE),
        };
        self.suspend_up_to(base, case, |_| ());
        self.ins().bor_imm_u(reference, kind_bits(kind) as i64)
    }

    /// Continues at the general case unless the base can be freed in line. A root outlives what
    /// runs on it, and freeing a frame frees what it owns.
    pub(crate) fn check_freed_at_once(&mut self, base: Value, case: Case) {
        let Case::Common { otherwise } = case else { return };
        self.note_owned();
        let purpose = self.get_short(I32, base, block::PURPOSE_AND_OWNS);
        let first = Purpose::Root as i64;
        let comparison = IntCC::UnsignedGreaterThanOrEqual;
        let is_other = self.ins().icmp_imm_u(comparison, purpose, first);
        self.continue_unless(is_other, otherwise);
    }

    /// Frees the running stack and its parents up to and including its base.
    pub(crate) fn release_base(&mut self, base: Value, case: Case) {
        match case {
            Case::Common { .. } => self.put_on_free_list(base),
            Case::Any => {
                self.call_builtin(Builtin::release_running, &[base]);
            }
        }
        self.set_freed(true);
    }

    /// The innermost of the stacks that are suspended together with one. In the common case it is
    /// suspended alone.
    pub(crate) fn innermost(&mut self, block: Value, case: Case) -> Value {
        match case {
            Case::Common { otherwise } => {
                let is_grouped = self.load_grouped(block);
                self.continue_unless(is_grouped, otherwise);
                block
            }
            Case::Any => self.get(block, block::INNERMOST),
        }
    }

    /// Suspends the running stack and its parents up to a stack that has a parent. The stacks
    /// inside may have other parents when they continue.
    pub(crate) fn suspend_below(&mut self, outermost: Value, case: Case) {
        self.suspend_up_to(outermost, case, |this| {
            let captures = this.get_from_store(store::CAPTURES);
            let captures = this.ins().iadd_imm_s(captures, NEXT_CAPTURE as i64);
            this.set_in_store(store::CAPTURES, captures);
        });
    }

    /// Records in a stack, which is the running one or one of its parents, which stacks are
    /// suspended together with it. Emits other code if there are any. In the common case it is the
    /// running one.
    fn suspend_up_to(&mut self, outermost: Value, case: Case, if_others: impl FnOnce(&mut Self)) {
        if let Case::Common { .. } = case {
            return;
        }
        let current = self.current_stack();
        let is_other = self.ins().icmp(IntCC::NotEqual, outermost, current);
        let [others, alone] = [self.cold_block(), self.cold_block()];
        let next = self.next_block();
        self.ins().brif(is_other, others, &[], alone, &[]);
        self.enter_sealed(others);
        self.set(outermost, block::INNERMOST, current);
        self.set_grouped(outermost, true);
        if_others(self);
        self.jump(next, &[]);
        // Through which stack it was last continued no longer matters: the next switch to it is a
        // common one.
        self.enter_sealed(alone);
        self.forget_through(current);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }
}
