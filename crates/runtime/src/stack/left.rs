//! Where a stack that does not run was left, wherever its frames lie: in memory of its
//! own, or [packed](super::park), as they were there.

use super::park::PackedHead;
use ropewalk_abi::ControlBlock;

/// Where a stack that does not run was left.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LeftAt {
    /// Where the word on top lies: the address to continue at.
    pub sp: usize,
    /// Where the newest link lies, or zero.
    pub fp: usize,
    /// How far what lies on the stack is from where its links say.
    pub distance: usize,
}

impl LeftAt {
    /// Of a stack whose block says where it was left.
    ///
    /// # Safety
    ///
    /// The stack must be in use, and not run generated code.
    pub unsafe fn of(stack: &ControlBlock) -> LeftAt {
        if !stack.is_parked() {
            return LeftAt { sp: stack.sp, fp: stack.fp, distance: 0 };
        }
        // SAFETY: a parked stack has its frames there.
        let head = unsafe { &*PackedHead::of(stack) };
        let sp = stack.high + size_of::<PackedHead>();
        let left = LeftAt { sp, fp: 0, distance: sp.wrapping_sub(head.sp) };
        LeftAt { fp: left.follow(stack.fp), ..left }
    }

    /// Where a link leads: zero ends the chain.
    pub fn follow(&self, link: usize) -> usize {
        match link {
            0 => 0,
            link => link.wrapping_add(self.distance),
        }
    }

    /// How many bytes lie between the highest address of a stack and its stack pointer,
    /// wherever its frames lie.
    ///
    /// # Safety
    ///
    /// As for [`of`](Self::of).
    pub unsafe fn depth(stack: &ControlBlock) -> usize {
        match stack.is_parked() {
            false => stack.high - stack.sp,
            // SAFETY: as above.
            true => unsafe { (*PackedHead::of(stack)).depth(stack) },
        }
    }
}
