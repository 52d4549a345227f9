//! Arguments that are [bound](ropewalk_abi::bound) to a stack.
//!
//! Generated code binds them inline, and the stub `deliver` removes them. This is how the runtime
//! reads and writes them.

use super::saved_position::SavedPosition;
use ropewalk_abi::bound::{BoundEnd, BoundHead, bound_size};
use ropewalk_abi::{ControlBlock, RawVal, TypeInfo};
use std::ffi::c_void;

#[derive(Clone, Copy, Debug)]
pub(crate) struct BoundValues {
    pub(crate) head: *mut BoundHead,
}

impl BoundValues {
    /// The arguments that are bound to a suspended or new stack, if any.
    ///
    /// # Safety
    ///
    /// The address to continue at must be on top of the stack.
    pub unsafe fn of(stack: &ControlBlock, deliver: *const c_void) -> Option<BoundValues> {
        // SAFETY: the caller's promise.
        let head = unsafe { SavedPosition::of(stack) }.sp as *mut BoundHead;
        // SAFETY: the caller's promise.
        (unsafe { (*head).deliver } == deliver).then_some(BoundValues { head })
    }

    /// The number of bound values.
    pub fn count(self) -> usize {
        // SAFETY: `of` found a head there.
        unsafe { (*self.head).further as usize + 1 }
    }

    /// The number of values that the stack still expects.
    pub fn rest(self) -> usize {
        // SAFETY: as above.
        unsafe { (*self.head).rest as usize }
    }

    pub fn value(self, number: usize) -> *mut RawVal {
        assert!(number < self.count());
        // SAFETY: the values are above the head, the last one first.
        unsafe { self.head.add(1).cast::<RawVal>().add(self.count() - 1 - number) }
    }

    /// The function type whose first parameters are bound.
    pub fn ty(self) -> *const TypeInfo {
        // SAFETY: the type is above the values.
        unsafe { (*self.end()).ty }
    }

    /// The stack pointer without the bound values.
    pub fn left_at(self) -> usize {
        // SAFETY: the words are on the stack.
        unsafe { self.end().add(1) as usize }
    }

    fn end(self) -> *mut BoundEnd {
        // SAFETY: the values are above the head.
        unsafe { self.head.add(1).cast::<RawVal>().add(self.count()).cast() }
    }
}

/// Whether a suspended or new stack, which is not parked, has room to bind this many values.
pub(crate) fn has_room_to_bind(stack: &ControlBlock, count: usize) -> bool {
    stack.sp - stack.limit >= bound_size(count)
}
