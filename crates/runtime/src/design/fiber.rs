//! Fibers: the operations that generated code does not inline.

use crate::run::lifecycle::invalid_stack;
use crate::store::Store;
use ropewalk_abi::TrapCode;
use ropewalk_abi::stack::StackKind;

impl Store {
    /// Frees a fiber and the stacks suspended with it. A moribund fiber is left alone.
    pub(crate) fn release_fiber(&mut self, reference: u64) -> Result<(), TrapCode> {
        let kind = StackKind::Fiber;
        let valid = self.stacks.valid(reference).filter(|_| StackKind::of(reference) == Some(kind));
        let Some(fiber) = valid else {
            return match invalid_stack(reference, kind) {
                TrapCode::FiberMoribund => Ok(()),
                code => Err(code),
            };
        };
        // SAFETY: the block of a valid reference is alive. Without a parent it is suspended.
        unsafe {
            if !(*fiber).parent.is_null() {
                return Err(TrapCode::FiberHasParent);
            }
            self.release_suspended(fiber);
        }
        Ok(())
    }
}
