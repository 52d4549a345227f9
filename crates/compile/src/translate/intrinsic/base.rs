//! Bases, and what is suspended with them as one.

use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use ropewalk_abi::stack::{StackKind, StackState, kind_bits};
use ropewalk_abi::{Builtin, ControlBlock, StoreContext};
use std::mem::offset_of;

impl Translator<'_> {
    /// The block of a stack to switch to: valid, and not the root of another
    /// activation.
    pub(super) fn check_target(&mut self, reference: Value, kind: StackKind) -> Value {
        let block = self.check_reference(reference, kind);
        let state = self.load_state(block);
        let is_root = self.is_state(state, StackState::Root);
        let [root, cold, next] = std::array::from_fn(|_| self.builder.create_block());
        self.builder.set_cold_block(cold);
        self.builder.ins().brif(is_root, root, &[], next, &[]);
        self.enter_sealed(root);
        let newest = self.load_from_store(offset_of!(StoreContext, root));
        let is_newest = self.builder.ins().icmp(IntCC::Equal, block, newest);
        self.builder.ins().brif(is_newest, next, &[], cold, &[]);
        self.enter_sealed(cold);
        self.call_builtin(Builtin::check_root, &[block]);
        self.jump(next, &[]);
        self.enter_sealed(next);
        block
    }

    /// Uses up a valid reference.
    pub(super) fn consume_stack(
        &mut self,
        block: Value,
        reference: Value,
        kind: StackKind,
    ) -> Value {
        let plain = self.builder.ins().bxor_imm_u(reference, kind_bits(kind) as i64);
        self.consume(block, plain)
    }

    /// The base of the running stack.
    pub(super) fn base(&mut self) -> Value {
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
    /// reference to that.
    pub(super) fn suspend_to_base(&mut self, kind: StackKind) -> Value {
        let base = self.base();
        let current = self.current_stack();
        self.store_word(current, base, offset_of!(ControlBlock, innermost));
        self.reference_of_kind(base, kind)
    }

    /// The stack to continue when a base is.
    pub(super) fn continued(&mut self, base: Value) -> Value {
        let innermost = self.load_word(base, offset_of!(ControlBlock, innermost));
        let nothing = self.builder.ins().iconst(I64, 0);
        self.store_word(nothing, innermost, offset_of!(ControlBlock, through));
        innermost
    }
}
