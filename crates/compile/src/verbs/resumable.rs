//! Tasks and fibers: stacks whose references stay the same.

use super::Case;
use crate::emit::record::{Records, block, store};
use crate::emit::trap;
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::stack::{GROUPED, HAS_WAITED, NEXT_GENERATION, StackKind, kind_bits};
use ropewalk_abi::{Builtin, TrapCode};

impl Translator<'_> {
    /// The block of a task or fiber. Traps unless it is the running stack or one of its parents. If
    /// the reference is not valid, `otherwise` must trap.
    pub(crate) fn running_one(
        &mut self,
        reference: Value,
        kind: StackKind,
        case: Case,
        otherwise: impl FnOnce(&mut Self),
    ) -> Value {
        if let Case::Common { otherwise } = case {
            let own = self.current_reference();
            let own = self.ins().bor_imm_u(own, kind_bits(kind) as i64);
            let is_current = self.ins().icmp(IntCC::Equal, reference, own);
            self.continue_if(is_current, otherwise);
            return self.current_stack();
        }
        let (block, _) = self.check_reference_or(reference, kind, otherwise);
        self.check_running(block, kind);
        block
    }

    /// The innermost of the stacks that are suspended together with a task or fiber. If it has a
    /// parent, it is not suspended, and `has_parent` handles that. In the common case it is
    /// suspended alone.
    pub(crate) fn innermost_of_suspended(
        &mut self,
        block: Value,
        case: Case,
        has_parent: impl FnOnce(&mut Self, Value),
    ) -> Value {
        let parent = self.get(block, block::PARENT);
        if let Case::Common { otherwise } = case {
            let place = block::IS_GROUPED.offset;
            let is_grouped = self.ins().uload32(MemFlagsData::trusted(), block, place);
            let any = self.ins().bor(is_grouped, parent);
            self.continue_unless(any, otherwise);
            return block;
        }
        has_parent(self, parent);
        self.innermost(block, case)
    }

    /// Traps unless a task or fiber is the running stack or one of its parents.
    fn check_running(&mut self, block: Value, kind: StackKind) {
        let code = match kind {
            StackKind::Fiber => TrapCode::FiberNotRunning,
            _ => TrapCode::TaskNotRunning,
        };
        let no_parent = self.no_parent();
        let [search, outwards, found] = std::array::from_fn(|_| self.next_block());
        let [stack] = self.words(search);
        let current = self.current_stack();
        self.find_through(current, block, found);
        self.jump(search, &[current]);
        self.builder.switch_to_block(search);
        let is_this = self.ins().icmp(IntCC::Equal, stack, block);
        self.ins().brif(is_this, found, &[], outwards, &[]);
        self.enter_sealed(outwards);
        let parent = self.get(stack, block::PARENT);
        let is_outermost = self.ins().icmp(IntCC::Equal, parent, no_parent);
        self.ins().trapnz(is_outermost, trap(code));
        self.jump(search, &[parent]);
        self.builder.seal_block(search);
        self.enter_sealed(found);
    }

    /// Continues at `found` if the running stack was continued through `other`, and no stack
    /// between the two can have changed.
    fn find_through(&mut self, current: Value, other: Value, found: Block) {
        let [waited, changed] = [self.cold_block(), self.next_block()];
        let through = self.get(current, block::THROUGH);
        let is_through = self.ins().icmp(IntCC::Equal, through, other);
        self.continue_if(is_through, changed);
        let has_not_waited = self.is_grouped_as(current, GROUPED);
        self.ins().brif(has_not_waited, found, &[], waited, &[]);
        self.enter_sealed(waited);
        let has_waited = self.is_grouped_as(current, HAS_WAITED);
        let sought = self.get(current, block::SOUGHT);
        let captures = self.get_from_store(store::CAPTURES);
        let is_unchanged = self.ins().icmp(IntCC::Equal, sought, captures);
        let is_above = self.ins().band(has_waited, is_unchanged);
        self.ins().brif(is_above, found, &[], changed, &[]);
        self.enter_sealed(changed);
    }

    /// Suspends the running stack and its parents up to a task or fiber; returns the parent of
    /// that.
    pub(crate) fn detach(&mut self, block: Value, case: Case) -> Value {
        self.suspend_below(block, case);
        let parent = self.get(block, block::PARENT);
        let nothing = self.ins().iconst(I64, 0);
        self.set(block, block::PARENT, nothing);
        parent
    }

    /// Gives a suspended stack a parent, so that the stacks that are suspended together with it can
    /// continue.
    pub(crate) fn attach(&mut self, block: Value, parent: Value, case: Case) {
        self.set(block, block::PARENT, parent);
        if let Case::Any = case {
            self.ungroup(block);
        }
    }

    /// Makes the reference of a task or fiber stale, and frees the running stack and its parents up
    /// to and including it.
    pub(crate) fn release_one(&mut self, block: Value, case: Case) {
        match case {
            Case::Common { otherwise } => {
                // Only if no frame on it owns a stack.
                self.note_owned();
                let owns = self.get(block, block::OWNS);
                self.continue_unless(owns, otherwise);
                let reference = self.get(block, block::REFERENCE);
                let stale = self.ins().iadd_imm_s(reference, NEXT_GENERATION as i64);
                self.set(block, block::REFERENCE, stale);
                self.put_on_free_list(block);
            }
            Case::Any => {
                self.call_builtin(Builtin::release_running, &[block]);
            }
        }
        self.set_freed(true);
    }
}
