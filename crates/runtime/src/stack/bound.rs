//! Arguments that are bound to a stack: [where they lie](ropewalk_abi::bound), as the
//! runtime reads and writes them. Generated code binds them in line, and the stub
//! `deliver` takes them off.

use super::left::LeftAt;
use crate::store::Store;
use ropewalk_abi::bound::{BoundEnd, BoundHead, bind_more, bound_numbers, bound_size, first_bound};
use ropewalk_abi::{ControlBlock, RawVal, StoreContext, TypeInfo};
use std::ffi::c_void;

/// What is bound to a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    head: *mut BoundHead,
}

impl Bound {
    /// What is bound to a stack that is suspended or new, if anything is.
    ///
    /// # Safety
    ///
    /// The address to continue at must be on top of the stack.
    pub unsafe fn of(stack: &ControlBlock, deliver: *const c_void) -> Option<Bound> {
        // SAFETY: the caller's promise.
        let head = unsafe { LeftAt::of(stack) }.sp as *mut BoundHead;
        // SAFETY: the caller's promise.
        (unsafe { (*head).deliver } == deliver).then_some(Bound { head })
    }

    /// How many values are bound.
    pub fn count(self) -> usize {
        // SAFETY: `of` has found a head there.
        unsafe { (*self.head).further as usize + 1 }
    }

    /// How many more the stack expects.
    pub fn rest(self) -> usize {
        // SAFETY: as above.
        unsafe { (*self.head).rest as usize }
    }

    /// A value, by its number.
    pub fn value(self, number: usize) -> *mut RawVal {
        assert!(number < self.count());
        // SAFETY: the values lie above the head, the last one first.
        unsafe { self.head.add(1).cast::<RawVal>().add(self.count() - 1 - number) }
    }

    /// The function type whose first parameters the values are.
    pub fn ty(self) -> *const TypeInfo {
        // SAFETY: that lies after the values.
        unsafe { (*self.end()).ty }
    }

    /// Where the word on top lay when the stack was left.
    pub fn left_at(self) -> usize {
        // SAFETY: the words are on the stack.
        unsafe { self.end().add(1) as usize }
    }

    fn end(self) -> *mut BoundEnd {
        // SAFETY: as many values lie after the head.
        unsafe { self.head.add(1).cast::<RawVal>().add(self.count()).cast() }
    }
}

impl Store {
    /// What is bound to a stack that is suspended or new, if anything is.
    ///
    /// # Safety
    ///
    /// As for [`Bound::of`].
    pub(crate) unsafe fn bound(&self, stack: &ControlBlock) -> Option<Bound> {
        // SAFETY: the caller's promise.
        unsafe { Bound::of(stack, self.context().deliver) }
    }

    /// Takes what is bound to a stack off it, since the stack is continued with an
    /// exception.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new, and not be parked.
    pub(crate) unsafe fn drop_bound(&mut self, stack: *mut ControlBlock) {
        // SAFETY: the caller's promise.
        unsafe {
            self.free_bound(stack);
            if let Some(bound) = self.bound(&*stack) {
                (*stack).sp = bound.left_at();
            }
        }
    }

    /// Binds the first values of the transfer area, which are the first parameters
    /// that a function type says are left, to a stack.
    ///
    /// # Safety
    ///
    /// The stack must be suspended or new, expect that many, at least one, have room, and
    /// not be parked.
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
                Some(Bound { head }) => {
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

/// Whether a stack that is suspended or new, and not parked, has room for as many
/// values.
pub(crate) fn has_room_to_bind(stack: &ControlBlock, count: usize) -> bool {
    stack.sp - stack.limit >= bound_size(count)
}

/// What `deliver` does where stacks are checked: puts what is bound before the values
/// in the transfer area, with tags. Returns the stack pointer without what was bound.
///
/// # Safety
///
/// The stub must have found the head of what is bound there.
pub(crate) unsafe extern "C" fn deliver_checked(
    context: *mut StoreContext,
    head: *mut BoundHead,
) -> usize {
    // SAFETY: generated code holds no reference to the store.
    let store = unsafe { Store::from_context(context) };
    let bound = Bound { head };
    store.deliver(bound);
    bound.left_at()
}
