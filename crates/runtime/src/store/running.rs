//! What runs in a store: activations, and why they end.

use super::Store;
use crate::heap::OwnedRoot;
use crate::report::backtrace::Backtrace;
use crate::stack::LeavePoint;
use ropewalk_abi::{ControlBlock, StoreContext, TrapCode};
use std::any::Any;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::task::Context;

/// Why nothing runs in a store any more.
#[cold]
pub(crate) fn poisoned() -> anyhow::Error {
    anyhow::anyhow!(
        "the store cannot be used any more: an earlier call ended half-way, by a panic of the \
         engine or by compiled code that is damaged"
    )
}

/// An activation. It lies on the host's stack, in the frame of [`activate`].
#[derive(Debug)]
pub(crate) struct Activation {
    /// The one outside of it, or null.
    pub(crate) outer: *const Activation,
    /// The stack that was running there, in the host call that led here.
    pub(crate) outer_stack: *mut ControlBlock,
    /// The base of that.
    pub(crate) outer_base: *mut ControlBlock,
    /// The host's stack pointer of the one outside, if there is one.
    pub(crate) outer_sp: MaybeUninit<usize>,
    /// What polls it, if it may wait.
    pub(crate) poller: Poller,
}

impl Activation {
    /// One outside of which nothing runs.
    #[inline]
    pub(crate) fn outermost(poller: Poller) -> Activation {
        let (outer_stack, outer_base) = (ptr::null_mut(), ptr::null_mut());
        let outer_sp = MaybeUninit::uninit();
        Activation { outer: ptr::null(), outer_stack, outer_base, outer_sp, poller }
    }

    /// One inside of what runs in a store.
    #[inline]
    pub(crate) fn inside(store: &Store, poller: Poller) -> Activation {
        let &StoreContext { stack: outer_stack, base: outer_base, host_sp, .. } = store.context();
        let outer_sp = MaybeUninit::new(host_sp);
        Activation { outer: store.newest, outer_stack, outer_base, outer_sp, poller }
    }
}

/// What polls an activation that may wait, or null.
pub type Poller = *mut Polling;

/// How an activation that may wait is polled.
#[derive(Debug)]
pub struct Polling {
    /// What its host functions are polled with, for as long as this is.
    pub context: *mut Context<'static>,
    /// If other activations run while it waits: what gives the embedder access to the
    /// store meanwhile. Else null.
    pub accessor: *const c_void,
}

/// An activation that cannot wait.
pub const NOBODY: Poller = ptr::null_mut();

/// Why WebAssembly did not return.
#[derive(Debug)]
pub enum Ending {
    /// A builtin or the engine ended it.
    Trap(TrapCode),
    /// The same, and what more is known.
    DetailedTrap(TrapCode, String),
    /// An instruction faulted.
    Fault(TrapCode, LeavePoint),
    /// The code at an address was to be executed for the first time, and cannot be. The
    /// instruction before it may have left links between stacks half changed.
    NoCode(TrapCode, usize),
    /// A host function returned an error.
    Error(anyhow::Error),
    /// Nothing caught an exception, which was thrown there if that is known
    /// already.
    Exception(OwnedRoot, Backtrace),
    /// A host function panicked.
    Panic(Box<dyn Any + Send>),
    /// A host function waits for its results.
    Waits,
    /// Whoever waited for it has given it up.
    Cancelled,
}
