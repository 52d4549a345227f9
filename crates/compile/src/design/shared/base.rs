//! Bases, and what is suspended with them as one.

use super::Case;
use crate::emit::record::{Records, block, store};
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use ropewalk_abi::stack::{NEXT_CAPTURE, Purpose, StackKind, kind_bits};
use ropewalk_abi::{Builtin, TrapCode};

impl Translator<'_> {
    /// The block of a stack to switch to: valid, and not the root of another
    /// activation, since between that and the running stack there are frames of
    /// the host.
    pub(crate) fn check_target(&mut self, reference: Value, kind: StackKind) -> Value {
        let block = self.check_reference(reference, kind);
        let purpose = self.load_purpose(block);
        let is_root = self.has_purpose(purpose, Purpose::Root);
        let [root, next] = [self.builder.create_block(), self.next_block()];
        self.builder.ins().brif(is_root, root, &[], next, &[]);
        self.enter_sealed(root);
        let newest = self.get_from_store(store::ROOT);
        let is_newest = self.builder.ins().icmp(IntCC::Equal, block, newest);
        self.builder.ins().trapz(is_newest, trap(TrapCode::AcrossHostFrame));
        self.jump(next, &[]);
        self.enter_sealed(next);
        block
    }

    /// The base of the running stack. In the common case it is that itself.
    pub(crate) fn base(&mut self, case: Case) -> Value {
        let base = self.get_from_store(store::BASE);
        if let Case::Common { otherwise } = case {
            let current = self.current_stack();
            let is_base = self.builder.ins().icmp(IntCC::Equal, base, current);
            self.continue_if(is_base, otherwise);
        }
        base
    }

    /// Notes that the chain of another base is about to run. Nothing may trap between
    /// this and the switch.
    pub(crate) fn run_base(&mut self, base: Value) {
        self.set_in_store(store::BASE, base);
    }

    /// Suspends everything from the running stack to its base, which is given;
    /// returns the reference to that.
    pub(crate) fn suspend_to_base(&mut self, base: Value, kind: StackKind, case: Case) -> Value {
        let reference = match case {
            Case::Common { .. } => self.current_reference(),
            Case::Any => self.get(base, block::REFERENCE),
        };
        self.suspend_up_to(base, case, |_| ());
        self.builder.ins().bor_imm_u(reference, kind_bits(kind) as i64)
    }

    /// A root is not freed with what ran on it, and what frames own is freed with
    /// them: in the common case a base is no root, and no frame owns a stack.
    pub(crate) fn check_freed_at_once(&mut self, base: Value, case: Case) {
        let Case::Common { otherwise } = case else { return };
        self.note_owned();
        let purpose = self.get_short(I32, base, block::PURPOSE_AND_OWNS);
        let first = Purpose::Root as i64;
        let comparison = IntCC::UnsignedGreaterThanOrEqual;
        let is_other = self.builder.ins().icmp_imm_u(comparison, purpose, first);
        self.continue_unless(is_other, otherwise);
    }

    /// Frees the running stack and its parents up to and with its base.
    pub(crate) fn release_base(&mut self, base: Value, case: Case) {
        match case {
            Case::Common { .. } => self.put_on_free_list(base),
            Case::Any => {
                self.call_builtin(Builtin::release_running, &[base]);
            }
        }
        self.set_freed(true);
    }

    /// The innermost of the stacks that are suspended with one. In the common
    /// case it is suspended alone.
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

    /// As `suspend_up_to`, of a stack that has a parent: those inside may have others
    /// when they are continued.
    pub(crate) fn suspend_below(&mut self, outermost: Value, case: Case) {
        self.suspend_up_to(outermost, case, |this| {
            let captures = this.get_from_store(store::CAPTURES);
            let captures = this.builder.ins().iadd_imm_s(captures, NEXT_CAPTURE as i64);
            this.set_in_store(store::CAPTURES, captures);
        });
    }

    /// Notes in a stack, which is the running one or above it, that those up to
    /// it are suspended with it, and does something if there are others. In the common
    /// case it is the running one.
    fn suspend_up_to(&mut self, outermost: Value, case: Case, others_too: impl FnOnce(&mut Self)) {
        if let Case::Common { .. } = case {
            return;
        }
        let current = self.current_stack();
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, outermost, current);
        let [others, alone] = [self.cold_block(), self.cold_block()];
        let next = self.next_block();
        self.builder.ins().brif(is_other, others, &[], alone, &[]);
        self.enter_sealed(others);
        self.set(outermost, block::INNERMOST, current);
        self.set_grouped(outermost, true);
        others_too(self);
        self.jump(next, &[]);
        // By which way it was continued the last time does not matter any more: the
        // next switch to it is a common one.
        self.enter_sealed(alone);
        self.forget_through(current);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }
}
