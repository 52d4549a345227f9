//! Copies the frames of suspended stacks.
//!
//! ```text
//!   a stack                    its copy, in other memory
//!   | color         | high     | color           | high
//!   | frames        | top      | frames          | top'
//!   |   link -------|--+       |   link + d -----|--+
//!     ^ sp                       ^ sp'
//!
//!   d = top' - top
//! ```
//!
//! Only links refer to the stack itself, so frames can be copied as they can be
//! [moved](super::relocate). The frames of a [parked](super::park) stack are copied from where they
//! are packed.

use super::relocate::move_links;
use super::saved_position::SavedPosition;
use super::table::Stacks;
use crate::stack::walk_mark::Mark;
use ropewalk_abi::ControlBlock;
use std::collections::TryReserveError;
use std::ptr;

/// The frames of a suspended or new stack.
#[derive(Clone, Copy, Debug)]
struct Contents {
    /// Where the frames are.
    from: usize,
    /// Where the frames would be if the stack were not parked.
    sp: usize,
    len: usize,
    /// The distance from `top` to the highest address.
    above: usize,
}

impl Contents {
    /// # Safety
    ///
    /// The stack must be suspended or new.
    #[inline]
    unsafe fn of(stack: &ControlBlock) -> Contents {
        // SAFETY: the caller's promise.
        let (left, depth) = unsafe { (SavedPosition::of(stack), SavedPosition::depth(stack)) };
        let sp = left.sp.wrapping_sub(left.distance);
        let below = stack.top - sp;
        Contents { from: left.sp, sp, len: below + size_of::<usize>(), above: depth - below }
    }
}

impl Stacks {
    /// Whether a free stack has room for the frames of a suspended or new one.
    ///
    /// # Safety
    ///
    /// The stacks must be in these states.
    #[inline]
    pub unsafe fn fits(&self, stack: &ControlBlock, free: &ControlBlock) -> bool {
        // SAFETY: the caller's promise.
        let Contents { len, .. } = unsafe { Contents::of(stack) };
        free.top + size_of::<usize>() - free.limit >= len
    }

    /// Makes a free stack begin at the same offset as a suspended or new one. Returns the size that
    /// it needs then.
    ///
    /// # Safety
    ///
    /// The stacks must be in these states.
    pub unsafe fn begin_alike(&self, stack: &ControlBlock, free: &mut ControlBlock) -> usize {
        // SAFETY: the caller's promise.
        let Contents { len, above, .. } = unsafe { Contents::of(stack) };
        free.top = free.high - above;
        (free.sp, free.fp) = (free.top, 0);
        // The first word is at the top, not below it.
        above + len - size_of::<usize>()
    }

    /// Copies the frames of a stack to another.
    ///
    /// # Safety
    ///
    /// The first must be suspended or new. The other must be free and [have room](Self::fits).
    #[inline]
    pub unsafe fn copy_contents(&self, stack: &ControlBlock, to: &mut ControlBlock) {
        // SAFETY: the caller's promise.
        let Contents { from, sp, len, .. } = unsafe { Contents::of(stack) };
        let distance = to.top.wrapping_sub(stack.top);
        to.sp = sp.wrapping_add(distance);
        debug_assert!(to.sp >= to.limit);
        // SAFETY: the frames have this size, and nothing else is in the memory of a free stack,
        // which has room for them.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, to.sp as *mut u8, len) };
        to.fp = 0;
        if stack.fp != 0 {
            to.fp = stack.fp.wrapping_add(distance);
            // SAFETY: the chain was copied with the frames.
            unsafe { move_links(to.fp, distance) };
        }
    }

    /// Copies the marks of a stack to its copy, and returns them. They keep their serial numbers
    /// until they [get their own](Self::take_serials).
    ///
    /// # Safety
    ///
    /// Both must be suspended or new, and one be the copy of the other.
    pub unsafe fn copy_marks(
        &mut self,
        stack: &ControlBlock,
        copy: &ControlBlock,
    ) -> Result<&mut [Mark], TryReserveError> {
        let (from, to) = (self.number(stack), self.number(copy));
        // SAFETY: the caller's promise.
        let (above, above_copy) = unsafe { (Contents::of(stack).above, Contents::of(copy).above) };
        let marks = self.marks.copy(from, to, stack.marks.into())?;
        for mark in &mut *marks {
            mark.depth = mark.depth - above + above_copy;
        }
        Ok(marks)
    }

    /// Reserves serial numbers for `count` new marks. Returns the first.
    pub fn take_serials(&mut self, count: usize) -> u64 {
        let first = self.newest_mark + 1;
        self.newest_mark += count as u64;
        first
    }
}
