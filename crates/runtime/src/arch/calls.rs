//! The functions of the runtime that stubs call. Stubs find them by way of
//! [`StoreContext::calls`], so that the assembly depends on no layer above it.

use super::interrupted::Saved;
use ropewalk_abi::bound::BoundHead;
use ropewalk_abi::{ControlBlock, HostContext, PausedRegisters, StoreContext};

/// A table of these functions.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RuntimeCalls {
    /// Decides how a function continues that has stopped; nonzero if it does not.
    pub paused: unsafe extern "C" fn(*mut StoreContext, *const PausedRegisters) -> u64,
    /// Gets more room for a stack that has met its guard; nonzero if there is none.
    pub make_room: unsafe extern "C" fn(*mut StoreContext, *mut Saved) -> u64,
    /// Unpacks the frames of a parked stack; nonzero if that fails.
    pub unpark_running: unsafe extern "C" fn(*mut StoreContext, *mut ControlBlock) -> u64,
    /// Delivers bound arguments where stacks are checked; returns the new stack pointer.
    pub deliver_checked: unsafe extern "C" fn(*mut StoreContext, *mut BoundHead) -> usize,
    /// Moves the running stack to other memory.
    pub move_stack: unsafe extern "C" fn(*mut StoreContext),
    /// Records that a function of the host is about to be called.
    pub host_called: unsafe extern "C" fn(*mut StoreContext, *const HostContext),
    /// Records how a function of the host has ended.
    pub host_returned: unsafe extern "C" fn(*mut StoreContext, u64),
    /// Records that the function of a stack has returned, with a signal.
    pub finished: unsafe extern "C" fn(*mut StoreContext, u64),
}
