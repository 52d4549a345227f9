//! Bases, and what is suspended with them as one.

use crate::translate::continuation::Target;
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value};
use ropewalk_abi::stack::{StackKind, StackState, kind_bits};
use ropewalk_abi::{ControlBlock, StoreContext, TrapCode};
use std::mem::offset_of;

impl Translator<'_> {
    /// The block of a stack to switch to: valid, and not the root of another
    /// activation, since between that and the running stack there are frames of
    /// the host.
    pub(super) fn check_target(&mut self, reference: Value, kind: StackKind) -> Value {
        let block = self.check_reference(reference, kind);
        let state = self.load_state(block);
        let is_root = self.is_state(state, StackState::Root);
        let [root, next] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.ins().brif(is_root, root, &[], next, &[]);
        self.enter_sealed(root);
        let newest = self.load_from_store(offset_of!(StoreContext, root));
        let is_newest = self.builder.ins().icmp(IntCC::Equal, block, newest);
        self.builder.ins().trapz(is_newest, trap(TrapCode::AcrossHostFrame));
        self.jump(next, &[]);
        self.enter_sealed(next);
        block
    }

    /// Uses up a valid reference, if there is a next generation and no bound
    /// arguments; answers the stack to continue. Else goes on at `cold`.
    pub(super) fn consume_base(
        &mut self,
        block: Value,
        reference: Value,
        kind: StackKind,
        cold: Block,
    ) -> Target {
        let plain = self.builder.ins().bxor_imm_u(reference, kind_bits(kind) as i64);
        let next = self.next_generation(plain, cold);
        let flags = self.load_flags(block);
        let [alone, others, deep, go_on] = std::array::from_fn(|_| self.builder.create_block());
        for block in [others, deep] {
            self.builder.set_cold_block(block);
        }
        let [to, own] = self.words(go_on);
        self.builder.ins().brif(flags, others, &[], alone, &[]);
        self.enter_sealed(others);
        let bound = self.load_bound(block);
        self.builder.ins().brif(bound, cold, &[], deep, &[]);
        self.enter_sealed(deep);
        self.store_word(next, block, offset_of!(ControlBlock, reference));
        let innermost = self.disentangle(block);
        let innermost_own = self.load_word(innermost, offset_of!(ControlBlock, reference));
        self.jump(go_on, &[innermost, innermost_own]);
        self.enter_sealed(alone);
        self.store_word(next, block, offset_of!(ControlBlock, reference));
        self.jump(go_on, &[block, next]);
        self.enter_sealed(go_on);
        Target { block, innermost: to, reference: own }
    }

    /// The base of the running stack.
    pub(super) fn base(&mut self) -> Value {
        let current = self.current_stack();
        let no_parent = self.no_parent();
        let [others, next] = self.cold_and_next();
        let [base] = self.words(next);
        let [stack] = self.words(others);
        let parent = self.load_word(current, offset_of!(ControlBlock, parent));
        let is_base = self.builder.ins().icmp(IntCC::Equal, parent, no_parent);
        self.builder.ins().brif(is_base, next, &[current.into()], others, &[parent.into()]);
        self.builder.switch_to_block(others);
        let parent = self.load_word(stack, offset_of!(ControlBlock, parent));
        let is_base = self.builder.ins().icmp(IntCC::Equal, parent, no_parent);
        self.builder.ins().brif(is_base, next, &[stack.into()], others, &[parent.into()]);
        self.builder.seal_block(others);
        self.enter_sealed(next);
        base
    }

    /// Suspends everything from the running stack to its base; answers the
    /// reference to that.
    pub(super) fn suspend_to_base(&mut self, kind: StackKind) -> Value {
        let base = self.base();
        self.suspend_up_to(base);
        self.reference_of_kind(base, kind)
    }

    /// Notes in a stack which is the innermost of those that are suspended
    /// with it, if that is another: the running one.
    pub(super) fn suspend_up_to(&mut self, outermost: Value) {
        let current = self.current_stack();
        let is_other = self.builder.ins().icmp(IntCC::NotEqual, outermost, current);
        let [others, next] = self.cold_and_next();
        self.builder.ins().brif(is_other, others, &[], next, &[]);
        self.enter_sealed(others);
        self.store_word(current, outermost, offset_of!(ControlBlock, innermost));
        self.set_entangled(outermost, true);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }
}
