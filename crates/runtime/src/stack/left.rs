//! The saved stack and frame pointer of a stack that is not running, parked or not.

use super::park::PackedHead;
use ropewalk_abi::ControlBlock;

/// Where the frames of a stack that is not running are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftAt {
    /// The address of the top word, which holds the address to continue at.
    pub sp: usize,
    /// The address of the newest link, or zero.
    pub fp: usize,
    /// The distance from where the links say the frames are to where they are.
    pub distance: usize,
}

impl LeftAt {
    /// Reads the control block of a stack.
    ///
    /// # Safety
    ///
    /// The stack must be in use, and not run generated code.
    pub unsafe fn of(stack: &ControlBlock) -> LeftAt {
        if !stack.is_parked() {
            return LeftAt { sp: stack.sp, fp: stack.fp, distance: 0 };
        }
        // SAFETY: a parked stack has a header.
        let head = unsafe { &*PackedHead::of(stack) };
        let sp = stack.high + size_of::<PackedHead>();
        let left = LeftAt { sp, fp: 0, distance: sp.wrapping_sub(head.sp) };
        LeftAt { fp: left.follow(stack.fp), ..left }
    }

    /// The address that a link refers to. Zero ends the chain.
    pub fn follow(&self, link: usize) -> usize {
        match link {
            0 => 0,
            link => link.wrapping_add(self.distance),
        }
    }

    /// The distance from the stack pointer to the highest address, as if the stack were not parked.
    ///
    /// # Safety
    ///
    /// As for [`of`](Self::of).
    pub unsafe fn depth(stack: &ControlBlock) -> usize {
        match stack.is_parked() {
            false => stack.high - stack.sp,
            // SAFETY: a parked stack has a header.
            true => unsafe { (*PackedHead::of(stack)).depth(stack) },
        }
    }
}
