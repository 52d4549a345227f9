//! Where the frames of a stack that is not running are, and the innermost one.

use super::park::PackedHead;
use ropewalk_abi::ControlBlock;

/// Where the frames of a stack that is not running are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SavedPosition {
    /// The address of the top word, which holds the address to continue at.
    pub sp: usize,
    /// The address of the newest link, or zero.
    pub fp: usize,
    /// The distance between the addresses in the links and the actual addresses of the frames.
    pub distance: usize,
}

impl SavedPosition {
    /// Reads the control block of a stack.
    ///
    /// # Safety
    ///
    /// The stack must be in use, and not run generated code.
    pub unsafe fn of(stack: &ControlBlock) -> SavedPosition {
        if !stack.is_parked() {
            return SavedPosition { sp: stack.sp, fp: stack.fp, distance: 0 };
        }
        // SAFETY: a parked stack has a header.
        let head = unsafe { &*PackedHead::of(stack) };
        let sp = stack.high + size_of::<PackedHead>();
        let left = SavedPosition { sp, fp: 0, distance: sp.wrapping_sub(head.sp) };
        SavedPosition { fp: left.follow(stack.fp), ..left }
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

/// The registers of a stopped stack, from which its frames are walked.
#[derive(Clone, Debug)]
pub struct TopFrame {
    pub(crate) pc: usize,
    pub(crate) fp: usize,
    pub(crate) sp: usize,
    /// The distance between the addresses in the links and the actual addresses of the frames.
    pub(crate) distance: usize,
    /// Whether `pc` is a faulting instruction instead of a return address.
    pub(crate) at_fault: bool,
}

impl TopFrame {
    /// The innermost frame of a stack that is in a host call.
    pub(crate) fn in_host_call(block: &ControlBlock) -> TopFrame {
        // SAFETY: the stubs leave the return address at the stack pointer.
        let (SavedPosition { sp, fp, distance }, pc) = unsafe {
            let left = SavedPosition::of(block);
            (left, *(left.sp as *const usize))
        };
        TopFrame { pc, fp, sp, distance, at_fault: false }
    }

    /// The innermost frame of a suspended stack, or `None` if it is new.
    pub(crate) fn suspended(block: &ControlBlock) -> Option<TopFrame> {
        (block.fp != 0).then(|| TopFrame::in_host_call(block))
    }
}
