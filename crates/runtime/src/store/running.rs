//! What runs in a store: activations, and why they end.

use super::Store;
use super::options::StoreOptions;
use super::pending::{AwaitedCall, PendingCall, WaitingActivation};
use super::stress::Stress;
use crate::arch::stubs;
use crate::heap::OwnedRoot;
use crate::report::backtrace::Backtrace;
use crate::stack::TopFrame;
use crate::stack::{self, Quarantine, RootStack};
use crate::vm::released::Released;
use crate::vm::store_id::StoreId;
use ropewalk_abi::builtin::Outcome;
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
    pub waiting: Vec<Option<WaitingActivation>>,
    /// The free numbers among these.
    pub free_numbers: Vec<usize>,
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
        call: PendingCall,
        /// The same, as a snapshot says it.
        awaits: AwaitedCall,
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
        let &StoreOptions { stress, trace, .. } = options;
        let Stress { move_stacks, check_stacks, park_always, .. } = stress;
        Running {
            roots: Vec::new(),
            spare_roots: Vec::new(),
            cold_roots: 0,
            no_parent: stack::without_handlers(),
            newest: ptr::null(),
            depth: 0,
            waiting: Vec::new(),
            free_numbers: Vec::new(),
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
    Fault(TrapCode, TopFrame),
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

impl From<TrapCode> for Ending {
    fn from(code: TrapCode) -> Ending {
        Ending::Trap(code)
    }
}

impl Store {
    /// What polls the newest activation, if it may wait.
    #[inline]
    pub fn poller(&self) -> Poller {
        // SAFETY: activations are linked as long as their calls last.
        unsafe { self.running.newest.as_ref() }.map_or(NOBODY, |activation| activation.poller)
    }

    /// The stacks of all activations, innermost first, when the newest one is
    /// in a host call too; then those of activations that wait.
    pub(crate) fn stacks_in_host_calls(&self) -> impl Iterator<Item = &ControlBlock> {
        // SAFETY: the running stack's block is alive.
        let newest = unsafe { self.context().stack.as_ref() };
        let all = newest
            .into_iter()
            .chain(self.outer_stacks())
            .chain(self.stacks_of_waiting_activations());
        all.flat_map(|stack| self.with_extender(stack))
    }

    /// A stack that runs and its parents, then whoever extends their base with
    /// its parents.
    pub(crate) fn with_extender<'a>(
        &'a self,
        stack: &'a ControlBlock,
    ) -> impl Iterator<Item = &'a ControlBlock> {
        std::iter::successors(Some(stack), |stack| {
            let is_base = ptr::eq(stack.parent, self.no_parent());
            let next = if is_base { stack.extender } else { stack.parent };
            // SAFETY: parents are alive as long as their children run, and so are
            // extenders.
            unsafe { next.as_ref() }
        })
    }

    /// A stack that runs, or is the innermost of those that are suspended up to a
    /// base, and its parents up to the base.
    pub(crate) fn with_parents<'a>(
        &'a self,
        stack: &'a ControlBlock,
    ) -> impl Iterator<Item = &'a ControlBlock> {
        std::iter::successors(Some(stack), |stack| {
            // SAFETY: parents are alive as long as their children run or are
            // suspended with them; the parent of a base is a block of the store.
            let parent = unsafe { &*stack.parent };
            (!ptr::eq(parent, self.no_parent())).then_some(parent)
        })
    }

    /// The stacks of the activations outside of the newest one, innermost
    /// first. Each is in a host call.
    pub(crate) fn outer_stacks(&self) -> impl Iterator<Item = &ControlBlock> {
        let mut next = self.running.newest;
        std::iter::from_fn(move || {
            // SAFETY: activations are linked as long as their calls last, and
            // their stacks live longer.
            unsafe {
                let activation = next.as_ref()?;
                next = activation.outer;
                activation.outer_stack.as_ref()
            }
        })
    }

    /// Has the stacks that wait for host functions in outer activations end these, where the
    /// functions return to: the stubs find there what leads to [`leave`](stubs::leave).
    pub(crate) fn end_outer_activations(&mut self) {
        static LEAVES: unsafe extern "C" fn() = stubs::leave;
        for stack in self.outer_stacks().map(ptr::from_ref) {
            // SAFETY: the block is alive, and nobody has a reference to it; what lies on its
            // stack is never used again.
            unsafe { (*stack.cast_mut()).sp = (&raw const LEAVES).addr() };
        }
    }

    /// The stacks that were left in host calls of activations that wait.
    pub(crate) fn stacks_of_waiting_activations(&self) -> impl Iterator<Item = &ControlBlock> {
        // SAFETY: stacks of activations are alive as long as those.
        self.running.waiting.iter().flatten().map(|waiting| unsafe { &*waiting.stack })
    }

    /// The activations that wait.
    pub(crate) fn waiting_activations(&self) -> impl Iterator<Item = &WaitingActivation> {
        self.running.waiting.iter().flatten()
    }

    /// How many activations wait.
    pub fn count_pending(&self) -> usize {
        self.running.waiting.len() - self.running.free_numbers.len()
    }

    /// The base of the running stack.
    pub(crate) fn base_of_running(&self) -> *mut ControlBlock {
        debug_assert_eq!(self.context().base, self.base_of(self.context().stack));
        self.context().base
    }

    /// The base of a stack that runs, or waits for one that does.
    pub(crate) fn base_of(&self, stack: *mut ControlBlock) -> *mut ControlBlock {
        // SAFETY: such stacks are alive.
        let stack = unsafe { &*stack };
        let base = self.with_parents(stack).last().expect("at least the stack itself");
        ptr::from_ref(base).cast_mut()
    }

    /// Says that the engine has panicked, or a call has ended, half-way, so that nothing runs or
    /// is collected here any more. Activations outside of the newest one end when their host
    /// functions return, whatever these make of it.
    pub(crate) fn poison(&mut self) {
        self.running.state = State::Poisoned;
        self.end_outer_activations();
    }

    /// How many activations run inside of each other, all but perhaps the newest in host calls.
    #[inline]
    pub fn depth(&self) -> usize {
        self.running.depth
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.running.state == State::Poisoned
    }

    /// Fails if a call has ended half-way, so that nothing runs any more.
    #[inline]
    pub fn check_usable(&self) -> anyhow::Result<()> {
        match self.is_poisoned() {
            false => Ok(()),
            true => Err(poisoned()),
        }
    }

    /// Says why the newest activation is about to end.
    pub fn set_ending(&mut self, ending: Ending) {
        self.replace_departure(Departure::Ends(ending));
    }

    /// Records why the newest activation ends. Returns the outcome that ends it.
    #[cold]
    pub(crate) fn end_with(&mut self, ending: impl Into<Ending>) -> Outcome {
        self.set_ending(ending.into());
        Outcome::END
    }

    /// Says that the newest activation is about to be left, and what it waits for.
    pub(crate) fn set_waiting(&mut self, call: PendingCall, awaits: AwaitedCall) {
        self.replace_departure(Departure::Waits { call, awaits });
    }

    /// What was to be waited for is dropped with the store whole, and may panic.
    fn replace_departure(&mut self, departure: Departure) {
        if let Departure::Waits { call, .. } =
            std::mem::replace(&mut self.running.departure, departure)
        {
            self.embedder.drop_value(call);
        }
    }

    /// Whether the newest activation is about to be left because it waits.
    #[inline]
    pub(crate) fn is_left_waiting(&self) -> bool {
        matches!(self.running.departure, Departure::Waits { .. }) && !self.is_poisoned()
    }

    /// What an activation waits for that was just left.
    #[inline]
    pub(crate) fn take_pending_call(&mut self) -> PendingCall {
        match std::mem::take(&mut self.running.departure) {
            Departure::Waits { call, .. } => call,
            _ => unreachable!("it was just left"),
        }
    }

    pub(crate) fn take_ending(&mut self) -> Ending {
        match std::mem::take(&mut self.running.departure) {
            Departure::Ends(ending) => ending,
            Departure::Waits { call, .. } => {
                self.embedder.drop_value(call);
                Ending::Cancelled
            }
            // Its host function has returned as if nothing were wrong.
            Departure::None if self.is_poisoned() => Ending::Error(poisoned()),
            Departure::None => unreachable!("an activation that ends has a reason"),
        }
    }

    /// The roots of the activations that have not ended.
    pub(crate) fn roots_in_use(&self) -> impl Iterator<Item = *mut ControlBlock> {
        let waiting = self.running.waiting.iter().flatten().map(|waiting| &waiting.root);
        self.running.roots[..self.running.depth].iter().chain(waiting).map(|root| root.block)
    }

    /// The block that root stacks have as their parent.
    pub(crate) fn no_parent(&self) -> *mut ControlBlock {
        self.running.no_parent()
    }

    /// How many stacks there are of which the owners have dropped what they held.
    pub(crate) fn count_released(&self) -> usize {
        let references = self.running.released.references.lock().expect("nobody panics with it");
        references.iter().map(|&reference| self.held_stacks(reference).count()).sum()
    }

    /// The stacks of what the host holds, the innermost first.
    pub(crate) fn held_stacks(&self, reference: u64) -> impl Iterator<Item = &ControlBlock> {
        let outermost = self.stacks.valid(reference);
        // SAFETY: the block of a valid reference is alive, and so are those that are
        // suspended with it; their parents lead to it.
        let innermost = outermost.map(|block| unsafe { &*(*block).innermost });
        std::iter::successors(innermost, move |stack| {
            let is_last = outermost.is_some_and(|outermost| ptr::eq(*stack, outermost));
            // SAFETY: as above.
            (!is_last).then(|| unsafe { &*stack.parent })
        })
    }
}
