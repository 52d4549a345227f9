//! Copies of what lies on a stack.
//!
//! ```text
//!   a stack                    its copy, in other memory
//!   | colour        | high     | colour          | high
//!   | frames        | top      | frames          | top'
//!   |   link -------|--+       |   link + d -----|--+
//!     ^ sp                       ^ sp'
//!
//!   d = top' - top
//! ```
//!
//! What lies on a stack refers to nothing of the stack but by its links, so it can be
//! copied as it can be [moved](super::relocate). The frames of one that is
//! [parked](super::park) are copied from where they are packed.

use super::left::LeftAt;
use super::relocate::move_links;
use super::table::Stacks;
use crate::stack::mark::Mark;
use ropewalk_abi::ControlBlock;
use std::collections::TryReserveError;
use std::ptr;

/// What lies on a stack that is suspended or new.
#[derive(Clone, Copy, Debug)]
struct Contents {
    /// Where it lies.
    from: usize,
    /// Where it would lie if the stack were not parked.
    sp: usize,
    len: usize,
    /// How far the highest address of the stack is above its `top`.
    above: usize,
}

impl Contents {
    /// # Safety
    ///
    /// The stack must be suspended or new.
    #[inline]
    unsafe fn of(stack: &ControlBlock) -> Contents {
        // SAFETY: the caller's promise.
        let (left, depth) = unsafe { (LeftAt::of(stack), LeftAt::depth(stack)) };
        let sp = left.sp.wrapping_sub(left.distance);
        let below = stack.top - sp;
        Contents { from: left.sp, sp, len: below + size_of::<usize>(), above: depth - below }
    }
}

impl Stacks {
    /// Whether a free stack has room for what lies on another that is suspended or new.
    ///
    /// # Safety
    ///
    /// They must be.
    #[inline]
    pub unsafe fn fits(&self, stack: &ControlBlock, free: &ControlBlock) -> bool {
        // SAFETY: the caller's promise.
        let Contents { len, .. } = unsafe { Contents::of(stack) };
        free.top + size_of::<usize>() - free.limit >= len
    }

    /// Has what lies on a free stack begin where it does on another that is suspended or
    /// new. Returns how many bytes it needs then.
    ///
    /// # Safety
    ///
    /// They must be.
    pub unsafe fn begin_alike(&self, stack: &ControlBlock, free: &mut ControlBlock) -> usize {
        // SAFETY: the caller's promise.
        let Contents { len, above, .. } = unsafe { Contents::of(stack) };
        free.top = free.high - above;
        (free.sp, free.fp) = (free.top, 0);
        // The first word lies at the top, and not below it.
        above + len - size_of::<usize>()
    }

    /// Copies what lies on a stack to another.
    ///
    /// # Safety
    ///
    /// The first must be suspended or new, and the other be free and
    /// [have room](Self::fits).
    #[inline]
    pub unsafe fn copy_contents(&self, stack: &ControlBlock, to: &mut ControlBlock) {
        // SAFETY: the caller's promise.
        let Contents { from, sp, len, .. } = unsafe { Contents::of(stack) };
        let distance = to.top.wrapping_sub(stack.top);
        to.sp = sp.wrapping_add(distance);
        debug_assert!(to.sp >= to.limit);
        // SAFETY: what lies there is so long, there is room for it, and nothing else lies
        // in the memory of a free stack.
        unsafe { ptr::copy_nonoverlapping(from as *const u8, to.sp as *mut u8, len) };
        to.fp = 0;
        if stack.fp != 0 {
            to.fp = stack.fp.wrapping_add(distance);
            // SAFETY: the chain was copied along with everything else.
            unsafe { move_links(to.fp, distance) };
        }
    }

    /// Copies the marks of a stack to its copy; returns them. They have the serial numbers of
    /// the others until they [get their own](Self::take_serials).
    ///
    /// # Safety
    ///
    /// Both must be suspended or new, and one be the copy of the other.
    pub unsafe fn copy_marks(
        &mut self,
        stack: &ControlBlock,
        copy: &ControlBlock,
    ) -> Result<&mut [Mark], TryReserveError> {
        let number = |block| self.number_of(block).expect("a block of the table");
        let (from, to) = (number(stack), number(copy));
        // SAFETY: the caller's promise.
        let (above, above_copy) = unsafe { (Contents::of(stack).above, Contents::of(copy).above) };
        let marks = self.marks.copy(from, to, stack.marks.into())?;
        for mark in &mut *marks {
            mark.depth = mark.depth - above + above_copy;
        }
        Ok(marks)
    }

    /// Takes serial numbers for so many new marks; returns the first.
    pub fn take_serials(&mut self, count: usize) -> u64 {
        let first = self.newest_mark + 1;
        self.newest_mark += count as u64;
        first
    }
}
