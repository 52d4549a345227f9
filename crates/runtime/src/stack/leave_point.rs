//! Where code on a stack was left.

use super::LeftAt;
use ropewalk_abi::ControlBlock;

/// Where an activation was left.
#[derive(Clone, Debug)]
pub struct LeavePoint {
    pub(crate) pc: usize,
    pub(crate) fp: usize,
    pub(crate) sp: usize,
    /// How far what lies on the stack is from where its links say.
    pub(crate) distance: usize,
    /// Whether `pc` is a faulting instruction, not the place after a call.
    pub(crate) at_fault: bool,
}

impl LeavePoint {
    /// Where a stack was left whose computation is in a host call.
    pub(crate) fn in_host_call(block: &ControlBlock) -> LeavePoint {
        // SAFETY: the stubs leave the return address at the stack pointer.
        let (LeftAt { sp, fp, distance }, pc) = unsafe {
            let left = LeftAt::of(block);
            (left, *(left.sp as *const usize))
        };
        LeavePoint { pc, fp, sp, distance, at_fault: false }
    }

    /// Where a stack was left that is suspended, unless it has not begun.
    pub(crate) fn suspended(block: &ControlBlock) -> Option<LeavePoint> {
        (block.fp != 0).then(|| LeavePoint::in_host_call(block))
    }
}
