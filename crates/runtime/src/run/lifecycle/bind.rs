//! Binds values to a stack, and removes them.

use crate::stack::BoundValues;
use crate::stack::bound_values::has_room_to_bind;
use crate::store::Store;
use ropewalk_abi::bound::{BoundEnd, BoundHead, bind_more, bound_numbers, first_bound};
use ropewalk_abi::{ControlBlock, RawVal, StoreContext, TypeInfo};

impl Store {
    /// Removes the bound values of a stack that continues with an exception.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new, and not parked.
    pub(crate) unsafe fn drop_bound(&mut self, stack: *mut ControlBlock) {
        // SAFETY: the caller's promise.
        unsafe {
            self.free_bound(stack);
            if let Some(bound) = self.bound(&*stack) {
                (*stack).sp = bound.left_at();
            }
        }
    }

    /// Binds the first values of the transfer area to a stack. They are the first remaining
    /// parameters of a function type.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new, not parked, and have room. It must expect these values,
    /// at least one.
    pub(crate) unsafe fn put_bound(
        &self,
        stack: *mut ControlBlock,
        ty: &TypeInfo,
        expected: usize,
        count: usize,
    ) {
        // SAFETY: the caller's promise.
        unsafe {
            debug_assert!(has_room_to_bind(&*stack, count));
            let (end, numbers) = match self.bound(&*stack) {
                Some(BoundValues { head }) => {
                    let numbers = bound_numbers((*head).further, (*head).rest);
                    (head.add(1) as usize, numbers.wrapping_add(bind_more(count)))
                }
                None => {
                    let end = ((*stack).sp as *mut BoundEnd).sub(1);
                    end.write(BoundEnd { ty });
                    (end as usize, first_bound(expected, count))
                }
            };
            for number in 0..count {
                let place = (end as *mut RawVal).sub(number + 1);
                place.write(self.transferred(number));
            }
            let head = (end as *mut RawVal).sub(count).cast::<BoundHead>().sub(1);
            let (rest, further) = (numbers as u32, (numbers >> u32::BITS) as u32);
            head.write(BoundHead { deliver: self.context().deliver, rest, further });
            (*stack).sp = head as usize;
        }
    }
}

/// Does what `deliver` does, where stacks are checked: puts the bound values before those in the
/// transfer area, with tags. Returns the stack pointer above the bound values.
///
/// # Safety
///
/// The stub must have found the head of bound values there.
pub(crate) unsafe extern "C" fn deliver_checked(
    context: *mut StoreContext,
    head: *mut BoundHead,
) -> usize {
    // SAFETY: generated code holds no reference to the store.
    let store = unsafe { Store::from_context(context) };
    let bound = BoundValues { head };
    store.deliver(bound);
    bound.left_at()
}
