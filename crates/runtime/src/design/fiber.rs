//! Fibers: the operations that generated code does not inline.

use crate::store::Store;
use ropewalk_abi::TrapCode;
use ropewalk_abi::stack::StackKind;

impl Store {
    /// Frees a fiber and the stacks suspended with it. A moribund fiber is left alone.
    pub(crate) fn release_fiber(&mut self, reference: u64) -> Result<(), TrapCode> {
        let fiber = match self.stacks.valid_of_kind(reference, StackKind::Fiber) {
            Ok(fiber) => fiber,
            Err(TrapCode::FiberMoribund) => return Ok(()),
            Err(code) => return Err(code),
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
