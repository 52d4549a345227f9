//! What runs in a store: activations, and why they end.

use super::Store;
use super::options::StoreOptions;
use super::pending::{Awaits, Frozen, Waiting};
use crate::heap::OwnedRoot;
use crate::report::backtrace::Backtrace;
use crate::stack::LeavePoint;
use crate::stack::{self, Quarantine, RootStack};
use crate::vm::released::Released;
use crate::vm::store_id::StoreId;
use ropewalk_abi::{ControlBlock, StoreContext, TrapCode};
use std::any::Any;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::Arc;
use std::task::Context;

/// What runs in a store, and what waits.
pub(crate) struct Running {
    /// A root stack for each activation, and some that are idle.
    pub roots: Vec<RootStack>,
    /// Root stacks for later.
    pub spare_roots: Vec<RootStack>,
    /// How many of those, the first, have no memory.
    pub cold_roots: usize,
    /// What root stacks have as their parent.
    no_parent: Box<ControlBlock>,
    /// The newest activation, or null.
    pub newest: *const Activation,
    /// How many activations there are.
    pub depth: usize,
    /// Activations that wait, by number.
    pub frozen: Vec<Option<Frozen>>,
    /// The free numbers among these.
    pub free_frozen: Vec<usize>,
    /// How the newest activation is about to be left.
    pub departure: Departure,
    pub state: State,
    /// Work that some modes add, where the runtime is anyway.
    pub extra: ExtraWork,
    /// The memory of roots that have moved.
    pub quarantine: Quarantine,
    /// The word of the last `suspend` that found the clause for every tag.
    pub suspended_with: u64,
    /// The word of the last `suspend` that the host has handled, or zero.
    pub last_handled: u64,
    /// Continuations whose owners in the host have dropped them.
    pub released: Arc<Released>,
}

/// Whether a store can be used, and whether the beginning of an activation is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// It can.
    Plain,
    /// It can, and what happens is recorded.
    Traced,
    /// A call has ended half-way: nothing runs or is collected here any more.
    Poisoned,
}

/// How the newest activation is about to be left.
#[derive(Debug, Default)]
pub(crate) enum Departure {
    /// It is not.
    #[default]
    None,
    /// It ends.
    Ends(Ending),
    /// It waits.
    Waits {
        /// For what.
        waiting: Waiting,
        /// The same, as a snapshot says it.
        awaits: Awaits,
    },
}

/// Work that some modes add.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtraWork {
    /// There is something to do whenever an activation has ended.
    pub after_activation: bool,
    /// There is something to do before the runtime continues a stack for the host.
    pub before_switch: bool,
}

impl Running {
    pub fn new(options: &StoreOptions, id: StoreId) -> Running {
        let &StoreOptions { move_stacks, check_stacks, park_always, trace, .. } = options;
        Running {
            roots: Vec::new(),
            spare_roots: Vec::new(),
            cold_roots: 0,
            no_parent: stack::without_handlers(),
            newest: ptr::null(),
            depth: 0,
            frozen: Vec::new(),
            free_frozen: Vec::new(),
            departure: Departure::None,
            state: if trace { State::Traced } else { State::Plain },
            extra: ExtraWork {
                after_activation: check_stacks | park_always | trace,
                before_switch: move_stacks | trace,
            },
            quarantine: Quarantine::default(),
            suspended_with: 0,
            last_handled: 0,
            released: Arc::new(Released::of(id)),
        }
    }

    /// The block that root stacks have as their parent.
    pub fn no_parent(&self) -> *mut ControlBlock {
        ptr::from_ref(&*self.no_parent).cast_mut()
    }
}

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
        Activation { outer: store.running.newest, outer_stack, outer_base, outer_sp, poller }
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
    /// Whoever waited for it has given it up.
    Cancelled,
}
