//! The runtime functions that stubs call.
//!
//! Stubs find them through [`StoreContext::calls`], so that the assembly depends on no higher
//! layer.

use super::interrupted::Saved;
use ropewalk_abi::bound::BoundHead;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::{ControlBlock, HostContext, PausedRegisters, StoreContext};

/// The table of these functions. Results of type `u64` are nonzero if the caller must not continue.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct RuntimeCalls {
    /// Decides how a function continues after a safepoint.
    pub paused: unsafe extern "C" fn(*mut StoreContext, *const PausedRegisters) -> u64,
    pub make_room: unsafe extern "C" fn(*mut StoreContext, *mut Saved) -> u64,
    pub unpark_running: unsafe extern "C" fn(*mut StoreContext, *mut ControlBlock) -> u64,
    /// Delivers bound arguments where stacks are checked. Returns the new stack pointer.
    pub deliver_checked: unsafe extern "C" fn(*mut StoreContext, *mut BoundHead) -> usize,
    /// Decides whether an activation is left, or an exception is handled in it.
    pub leaving: unsafe extern "C" fn(*mut StoreContext) -> Outcome,
    /// Watches the call of a host function.
    pub host_called: unsafe extern "C" fn(*mut StoreContext, *const HostContext),
    /// Watches the outcome of a host function.
    pub host_returned: unsafe extern "C" fn(*mut StoreContext, u64),
    /// Traces the return of a stack's function, with its signal.
    pub finished: unsafe extern "C" fn(*mut StoreContext, u64),
}
