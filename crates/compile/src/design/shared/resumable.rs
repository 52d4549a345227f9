//! Stacks that can be resumed again and again: tasks and fibers.

use super::Case;
use crate::design::call::OperationCall;
use crate::emit::record::{Records, block, store};
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::stack::{GROUPED, HAS_WAITED, NEXT_GENERATION, StackKind, kind_bits};
use ropewalk_abi::{Builtin, TrapCode};

impl Translator<'_> {
    /// Whether both operands of a call are null or name the same task or fiber. The
    /// whole word is the identity: a block goes on to the next generation when its
    /// task or fiber is gone, and begins with the first one again only if nothing
    /// names it.
    pub(crate) fn same_reference(&mut self, call: &OperationCall) {
        let operands = self.pop_operands(call);
        let is_same = self.builder.ins().icmp(IntCC::Equal, operands[0], operands[1]);
        let is_same = self.builder.ins().uextend(I32, is_same);
        self.push(is_same);
    }

    /// The block of a task or fiber, which must be the running stack or among its
    /// parents. If the reference is not valid, it does something that traps.
    pub(crate) fn running_one(
        &mut self,
        reference: Value,
        kind: StackKind,
        case: Case,
        otherwise: impl FnOnce(&mut Self),
    ) -> Value {
        if let Case::Common { otherwise } = case {
            let own = self.current_reference();
            let own = self.builder.ins().bor_imm_u(own, kind_bits(kind) as i64);
            let is_current = self.builder.ins().icmp(IntCC::Equal, reference, own);
            self.continue_if(is_current, otherwise);
            return self.current_stack();
        }
        let (block, _) = self.check_reference_or(reference, kind, otherwise);
        self.check_running(block, kind);
        block
    }

    /// The innermost of the stacks that are suspended with a task or fiber, which
    /// has no parent then. If it has one, it does something else. In the common
    /// case it is suspended alone.
    pub(crate) fn innermost_of_suspended(
        &mut self,
        block: Value,
        case: Case,
        has_parent: impl FnOnce(&mut Self, Value),
    ) -> Value {
        let parent = self.get(block, block::PARENT);
        if let Case::Common { otherwise } = case {
            let place = block::IS_GROUPED.offset;
            let is_grouped = self.builder.ins().uload32(MemFlagsData::trusted(), block, place);
            let any = self.builder.ins().bor(is_grouped, parent);
            self.continue_unless(any, otherwise);
            return block;
        }
        has_parent(self, parent);
        self.innermost(block, case)
    }

    /// Traps unless a task or fiber is the running stack or among its parents.
    pub(crate) fn check_running(&mut self, block: Value, kind: StackKind) {
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
        let is_this = self.builder.ins().icmp(IntCC::Equal, stack, block);
        self.builder.ins().brif(is_this, found, &[], outwards, &[]);
        self.enter_sealed(outwards);
        let parent = self.get(stack, block::PARENT);
        let is_outermost = self.builder.ins().icmp(IntCC::Equal, parent, no_parent);
        self.builder.ins().trapnz(is_outermost, trap(code));
        self.jump(search, &[parent]);
        self.builder.seal_block(search);
        self.enter_sealed(found);
    }

    /// Continues at a block if the running stack was continued by way of another, and
    /// nothing between the two can have changed.
    fn find_through(&mut self, current: Value, other: Value, found: Block) {
        let [waited, changed] = [self.cold_block(), self.next_block()];
        let through = self.get(current, block::THROUGH);
        let is_through = self.builder.ins().icmp(IntCC::Equal, through, other);
        self.continue_if(is_through, changed);
        let has_not_waited = self.is_grouped_as(current, GROUPED);
        self.builder.ins().brif(has_not_waited, found, &[], waited, &[]);
        self.enter_sealed(waited);
        let has_waited = self.is_grouped_as(current, HAS_WAITED);
        let sought = self.get(current, block::SOUGHT);
        let captures = self.get_from_store(store::CAPTURES);
        let is_unchanged = self.builder.ins().icmp(IntCC::Equal, sought, captures);
        let is_above = self.builder.ins().band(has_waited, is_unchanged);
        self.builder.ins().brif(is_above, found, &[], changed, &[]);
        self.enter_sealed(changed);
    }

    /// Takes the running stack and its parents up to a task or fiber out of the
    /// running ones; returns the parent.
    pub(crate) fn detach(&mut self, block: Value, case: Case) -> Value {
        self.suspend_below(block, case);
        let parent = self.get(block, block::PARENT);
        let nothing = self.builder.ins().iconst(I64, 0);
        self.set(block, block::PARENT, nothing);
        parent
    }

    /// Gives a suspended stack a parent, and makes it and those that are
    /// suspended with it ready to be continued.
    pub(crate) fn attach(&mut self, block: Value, parent: Value, case: Case) {
        self.set(block, block::PARENT, parent);
        if let Case::Any = case {
            self.ungroup(block);
        }
    }

    /// Makes the reference of a task or fiber stale, and frees the running stack
    /// and its parents up to and with it.
    pub(crate) fn release_one(&mut self, block: Value, case: Case) {
        match case {
            Case::Common { otherwise } => {
                // No frame on it owns a stack.
                self.note_owned();
                let owns = self.get(block, block::OWNS);
                self.continue_unless(owns, otherwise);
                let reference = self.get(block, block::REFERENCE);
                let stale = self.builder.ins().iadd_imm_s(reference, NEXT_GENERATION as i64);
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
