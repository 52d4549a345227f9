//! The innermost frame of a stack that has stopped.

use super::LeftAt;
use ropewalk_abi::ControlBlock;

/// The registers of a stopped stack, from which its frames are walked.
#[derive(Clone, Debug)]
pub struct LeavePoint {
    pub(crate) pc: usize,
    pub(crate) fp: usize,
    pub(crate) sp: usize,
    /// The distance from where the links say the frames are to where they are.
    pub(crate) distance: usize,
    /// Whether `pc` is a faulting instruction instead of a return address.
    pub(crate) at_fault: bool,
}

impl LeavePoint {
    /// The innermost frame of a stack that is in a host call.
    pub(crate) fn in_host_call(block: &ControlBlock) -> LeavePoint {
        // SAFETY: the stubs leave the return address at the stack pointer.
        let (LeftAt { sp, fp, distance }, pc) = unsafe {
            let left = LeftAt::of(block);
            (left, *(left.sp as *const usize))
        };
        LeavePoint { pc, fp, sp, distance, at_fault: false }
    }

    /// The innermost frame of a suspended stack, or `None` if it is new.
    pub(crate) fn suspended(block: &ControlBlock) -> Option<LeavePoint> {
        (block.fp != 0).then(|| LeavePoint::in_host_call(block))
    }
}
