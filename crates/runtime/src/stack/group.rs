//! Groups: stacks that are suspended together.

use super::Stacks;
use ropewalk_abi::ControlBlock;
use std::iter;

impl Stacks {
    /// The stacks of a continuation that the host holds, innermost first.
    pub(crate) fn held(&self, reference: u64) -> impl Iterator<Item = &ControlBlock> {
        // SAFETY: the block of a valid reference and those suspended with it are alive.
        self.valid(reference)
            .into_iter()
            .flat_map(|outermost| unsafe { members(outermost) })
            .map(|stack| unsafe { &*stack })
    }
}

/// The stacks that are suspended up to one, the innermost first.
///
/// # Safety
///
/// It must be the outermost of suspended stacks, or new, as long as this is used.
pub(crate) unsafe fn members(
    outermost: *mut ControlBlock,
) -> impl Iterator<Item = *mut ControlBlock> {
    // SAFETY: the caller's promise. The parents of the innermost lead to the outermost.
    let innermost = unsafe { (*outermost).innermost };
    // SAFETY: as above.
    let parent = move |stack: &*mut ControlBlock| unsafe { (**stack).parent };
    iter::successors(Some(innermost), move |stack| (*stack != outermost).then(|| parent(stack)))
}
