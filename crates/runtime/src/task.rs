//! What tasks and fibers need of the runtime: the uncommon cases.

use crate::continuation::invalid_stack;
use crate::store::Store;
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{ControlBlock, TrapCode};

impl Store {
    /// The first of the free stacks with another block, because its generations
    /// are used up.
    pub(crate) fn renew_free(&mut self) -> Result<*mut ControlBlock, TrapCode> {
        if self.stacks.is_table_full() {
            self.collect(0)?;
        }
        let mut free = self.context().free_stacks;
        let renewed = self.stacks.renew_free(&mut free);
        self.context_mut().free_stacks = free;
        renewed.map(|()| free)
    }

    /// Frees a fiber and what is suspended with it; one that has ended stays
    /// so.
    pub(crate) fn release_fiber(&mut self, reference: u64) -> Result<(), TrapCode> {
        let kind = StackKind::Fiber;
        let valid = self.stacks.valid(reference).filter(|_| StackKind::of(reference) == Some(kind));
        let Some(fiber) = valid else {
            return match invalid_stack(reference, kind) {
                TrapCode::FiberMoribund => Ok(()),
                code => Err(code),
            };
        };
        // SAFETY: the block of a valid reference is alive; without a parent it
        // is suspended.
        unsafe {
            if !(*fiber).parent.is_null() {
                return Err(TrapCode::FiberHasParent);
            }
            self.release_suspended(fiber);
        }
        Ok(())
    }
}
