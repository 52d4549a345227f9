//! Arguments that are bound to a stack: [where they lie](ropewalk_abi::bound), as the
//! runtime reads and writes them. Generated code binds them in line, and the stub
//! `deliver` takes them off.

use super::left::LeftAt;
use ropewalk_abi::bound::{BoundEnd, BoundHead, bound_size};
use ropewalk_abi::{ControlBlock, RawVal, TypeInfo};
use std::ffi::c_void;

/// What is bound to a stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Bound {
    pub(crate) head: *mut BoundHead,
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

/// Whether a stack that is suspended or new, and not parked, has room for as many
/// values.
pub(crate) fn has_room_to_bind(stack: &ControlBlock, count: usize) -> bool {
    stack.sp - stack.limit >= bound_size(count)
}
