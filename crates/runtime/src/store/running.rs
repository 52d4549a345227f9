//! The activations of a store: running ones, pending ones, and how they end.
//!
//! The newest activation runs, or is in a host call. The others are in host calls. Each has a
//! [root](super::roots), and so has each [pending activation](super::pending_activations).

use super::Store;
use super::options::StoreOptions;
use super::pending::PendingCall;
use super::pending_activations::{
    ActivationNumber, PendingActivation, PendingActivations, PendingCause,
};
use super::roots::Roots;
use super::stress::Stress;
use crate::arch::stubs;
use crate::heap::OwnedRoot;
use crate::report::backtrace::Backtrace;
use crate::stack::{self, Quarantine, RootStack, TopFrame};
use crate::vm::dropped_continuations::Released;
use crate::vm::store_id::StoreId;
use ropewalk_abi::builtin::Outcome;
use ropewalk_abi::{ControlBlock, StoreContext, TrapCode};
use std::any::Any;
use std::collections::TryReserveError;
use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};
use std::sync::Arc;
use std::task::Context;
use std::{io, ptr};

/// The activations of a store.
pub struct Running {
    pub(crate) roots: Roots,
    pub(crate) pending: PendingActivations,
    /// The parent of all root stacks.
    no_parent: Box<ControlBlock>,
    /// The newest activation, or null. It and the outer ones are linked as long as their calls last.
    newest: *const Activation,
    /// How the newest activation is about to be left.
    departure: Departure,
    /// The event that a host function sends by leaving its caller.
    pub(crate) event_to_send: Option<EventToSend>,
    state: State,
    pub(crate) extra: ExtraWork,
    /// The memory of roots that have moved.
    quarantine: Quarantine,
    /// The word of the last `suspend` that found a clause for every tag.
    pub(crate) suspended_with: u64,
    /// The word of the last `suspend` that the host has handled, or zero.
    pub(crate) last_handled: u64,
    /// Continuations whose owners in the host have dropped them.
    pub(crate) released: Arc<Released>,
}

/// Whether a store can be used, and whether entering it is recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    Plain,
    Traced,
    /// A call ended halfway: nothing runs or is collected anymore.
    Poisoned,
}

/// How the newest activation is about to be left.
#[derive(Debug, Default)]
pub(crate) enum Departure {
    #[default]
    None,
    Ends(Ending),
    /// It is set aside while a host call is pending.
    Pending {
        call: PendingCall,
        /// The reason, for a snapshot.
        cause: PendingCause,
    },
}

/// An event for a first-class stack.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EventToSend {
    /// The reference to the stack.
    pub reference: u64,
    /// The event, as a clause's word.
    pub word: u64,
}

/// Extra work of some modes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ExtraWork {
    /// Whether there is work after each activation.
    pub after_activation: bool,
    /// Whether there is work before the runtime switches to a stack for the host.
    pub before_switch: bool,
}

impl Running {
    /// Where the newest activation is, for native debuggers.
    pub(crate) const NEWEST: usize = offset_of!(Running, newest);

    pub(crate) fn new(options: &StoreOptions, id: StoreId) -> Running {
        let &StoreOptions { stress, trace, .. } = options;
        let Stress { move_stacks, check_stacks, park_always, .. } = stress;
        Running {
            roots: Roots::default(),
            pending: PendingActivations::default(),
            no_parent: stack::without_handlers(),
            newest: ptr::null(),
            departure: Departure::None,
            event_to_send: None,
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

    pub(crate) fn no_parent(&self) -> *mut ControlBlock {
        ptr::from_ref(&*self.no_parent).cast_mut()
    }

    // ---- activations

    /// The number of nested activations. All but perhaps the newest are in host calls.
    #[inline]
    pub fn depth(&self) -> usize {
        self.roots.depth()
    }

    /// The poller of the newest activation, if it may wait.
    #[inline]
    pub fn poller(&self) -> Poller {
        // SAFETY: activations are linked as long as their calls last.
        unsafe { self.newest.as_ref() }.map_or(NO_POLLER, |activation| activation.poller)
    }

    /// Begins an activation on the next root.
    #[inline]
    pub(crate) fn begin(&mut self, activation: *const Activation) {
        self.newest = activation;
        self.roots.begin();
    }

    /// Ends the only activation.
    #[inline]
    pub(crate) fn end_outermost(&mut self) {
        self.newest = ptr::null();
        self.roots.end_outermost();
    }

    /// Makes the activation outside of the newest one the newest.
    #[inline]
    pub(crate) fn end(&mut self, newest: &Activation) {
        self.newest = newest.outer;
        self.roots.end();
    }

    /// The stacks of the outer activations, innermost first. Each is in a host call.
    pub(crate) fn outer_stacks(&self) -> impl Iterator<Item = &ControlBlock> {
        let mut next = self.newest;
        std::iter::from_fn(move || {
            // SAFETY: activations are linked as long as their calls last; their stacks live longer.
            unsafe {
                let activation = next.as_ref()?;
                next = activation.outer;
                activation.outer_stack.as_ref()
            }
        })
    }

    /// Makes outer activations end when their host functions return, by [`leave`](stubs::leave).
    fn end_outer_activations(&mut self) {
        static LEAVES: unsafe extern "C" fn() = stubs::leave;
        for stack in self.outer_stacks().map(ptr::from_ref) {
            // SAFETY: the block is alive and not referenced, and its stack is never used again.
            unsafe { (*stack.cast_mut()).sp = (&raw const LEAVES).addr() };
        }
    }

    // ---- pending activations

    /// The number of pending activations.
    pub fn count_pending(&self) -> usize {
        self.pending.count()
    }

    pub(crate) fn stacks_of_pending_activations(&self) -> impl Iterator<Item = &ControlBlock> {
        // SAFETY: the stacks of an activation live as long as it does.
        self.pending.iter().map(|pending| unsafe { &*pending.stack })
    }

    /// Sets the newest activation aside, which is left next with these stacks. There must be
    /// [room](PendingActivations::make_room).
    #[inline]
    pub(crate) fn set_aside(
        &mut self,
        stack: *mut ControlBlock,
        base: *mut ControlBlock,
    ) -> ActivationNumber {
        let root = self.roots.take_newest();
        let cause = match &mut self.departure {
            Departure::Pending { cause, .. } => std::mem::take(cause),
            _ => PendingCause::Unknown,
        };
        self.pending.add(PendingActivation { root, stack, base, cause, _caller: None })
    }

    /// Makes the root of a pending activation the one for the next activation.
    #[inline]
    pub(crate) fn take_pending(&mut self, number: usize) -> ResumedActivation {
        let PendingActivation { root, stack, base, .. } = self.pending.take(number);
        let block = root.block;
        self.roots.add_next(root);
        self.roots.cool(self.count_pending());
        ResumedActivation { root: block, stack, base }
    }

    // ---- roots

    /// The roots of the activations that have not ended.
    pub(crate) fn roots_in_use(&self) -> impl Iterator<Item = &RootStack> {
        self.roots.in_use().iter().chain(self.pending.iter().map(|pending| &pending.root))
    }

    /// Makes room for one more root in every list that can hold it.
    pub(crate) fn make_room_for_root(&mut self) -> Result<(), TryReserveError> {
        self.roots.make_room(self.count_pending())
    }

    /// Moves a root to other memory. Returns `None` if no root has this block.
    pub(crate) fn move_root(&mut self, block: *mut ControlBlock) -> Option<io::Result<()>> {
        let root = self.roots.with_block(block)?;
        Some(stack::move_root(root, &mut self.quarantine))
    }

    /// Changes the block of a root, if one has the old block.
    pub(crate) fn replace_block(&mut self, old: *mut ControlBlock, new: *mut ControlBlock) {
        let mut pending = self.pending.iter_mut().map(|pending| &mut pending.root);
        let root = self.roots.with_block(old).or_else(|| pending.find(|root| root.block == old));
        if let Some(root) = root {
            root.block = new;
        }
    }

    /// Takes out all roots, when the store is dropped.
    pub(super) fn take_roots(&mut self) -> Vec<RootStack> {
        let mut roots = self.roots.take_all();
        roots.extend(self.pending.take_all_roots());
        roots
    }

    // ---- chains of stacks

    /// A running stack and its parents, then the extender of their base and its parents.
    pub(crate) fn with_extender<'a>(
        &'a self,
        stack: &'a ControlBlock,
    ) -> impl Iterator<Item = &'a ControlBlock> {
        std::iter::successors(Some(stack), |stack| {
            let is_base = ptr::eq(stack.parent, self.no_parent());
            let next = if is_base { stack.extender } else { stack.parent };
            // SAFETY: parents and extenders are alive as long as their children run.
            unsafe { next.as_ref() }
        })
    }

    /// A running stack, or the innermost of some suspended ones, and its parents up to the base.
    pub(crate) fn with_parents<'a>(
        &'a self,
        stack: &'a ControlBlock,
    ) -> impl Iterator<Item = &'a ControlBlock> {
        std::iter::successors(Some(stack), |stack| {
            // SAFETY: parents live as long as their children run or are suspended with them.
            let parent = unsafe { &*stack.parent };
            (!ptr::eq(parent, self.no_parent())).then_some(parent)
        })
    }

    /// The base of a running or pending stack.
    pub(crate) fn base_of(&self, stack: *mut ControlBlock) -> *mut ControlBlock {
        // SAFETY: such stacks are alive.
        let stack = unsafe { &*stack };
        let base = self.with_parents(stack).last().expect("at least the stack itself");
        ptr::from_ref(base).cast_mut()
    }

    // ---- how they end

    /// Whether activations need no extra work when they begin: the store is usable and not traced.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.state == State::Plain
    }

    pub(crate) fn is_poisoned(&self) -> bool {
        self.state == State::Poisoned
    }

    /// Fails if the store is poisoned.
    #[inline]
    pub fn check_usable(&self) -> anyhow::Result<()> {
        match self.is_poisoned() {
            false => Ok(()),
            true => Err(poisoned()),
        }
    }

    /// Makes the store unusable after a panic of the engine or a call that ended halfway. Outer
    /// activations end when their host functions return, whatever these return.
    pub(crate) fn poison(&mut self) {
        self.state = State::Poisoned;
        self.end_outer_activations();
    }

    /// How the newest activation is about to be left.
    pub(crate) fn departure(&self) -> &Departure {
        &self.departure
    }

    /// Whether the newest activation is about to be left in a pending call.
    #[inline]
    pub(crate) fn is_left_pending(&self) -> bool {
        matches!(self.departure, Departure::Pending { .. })
    }

    /// The pending call in which an activation was just left.
    #[inline]
    pub(crate) fn take_pending_call(&mut self) -> PendingCall {
        match std::mem::take(&mut self.departure) {
            Departure::Pending { call, .. } => call,
            _ => unreachable!("it was just left"),
        }
    }
}

/// An activation that was pending and is resumed on the next root.
pub(crate) struct ResumedActivation {
    pub root: *mut ControlBlock,
    pub stack: *mut ControlBlock,
    pub base: *mut ControlBlock,
}

#[cold]
pub(crate) fn poisoned() -> anyhow::Error {
    anyhow::anyhow!(
        "the store is unusable: an earlier call did not finish, because the engine panicked or its \
         compiled code is damaged"
    )
}

/// An activation, in the frame of [`activate`](crate::run::activation) on the host's stack.
#[derive(Debug)]
pub(crate) struct Activation {
    /// The next outer one, or null.
    pub(crate) outer: *const Activation,
    /// The stack that ran there, in the host call that led here.
    pub(crate) outer_stack: *mut ControlBlock,
    pub(crate) outer_base: *mut ControlBlock,
    /// The host's stack pointer of the outer activation, if there is one.
    pub(crate) outer_sp: MaybeUninit<usize>,
    /// The poller, if the activation may wait.
    pub(crate) poller: Poller,
}

impl Activation {
    /// An activation with no other outside.
    #[inline]
    pub(crate) fn outermost(poller: Poller) -> Activation {
        let (outer_stack, outer_base) = (ptr::null_mut(), ptr::null_mut());
        let outer_sp = MaybeUninit::uninit();
        Activation { outer: ptr::null(), outer_stack, outer_base, outer_sp, poller }
    }

    /// An activation inside the running one.
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
    /// The context for polling its host functions. Valid as long as this record.
    pub context: *mut Context<'static>,
    /// Gives the embedder access to the store while others run, or null.
    pub accessor: *const c_void,
}

/// The poller of an activation that cannot wait.
pub const NO_POLLER: Poller = ptr::null_mut();

/// Why WebAssembly did not return.
#[derive(Debug)]
pub enum Ending {
    /// A builtin or the engine ended it.
    Trap(TrapCode),
    /// A trap with more details.
    DetailedTrap(TrapCode, String),
    /// A function returned that must not: the function at this address in code.
    Returned {
        /// The trap.
        code: TrapCode,
        /// The address of its code.
        function: usize,
        /// Details of the trap.
        detail: Option<String>,
    },
    /// An instruction faulted.
    Fault(TrapCode, TopFrame),
    /// The code at an address cannot be executed. Links between stacks may be half changed.
    NoCode(TrapCode, usize),
    /// A host function returned an error.
    Error(anyhow::Error),
    /// Nothing caught an exception. The backtrace is where it was thrown, if that is known already.
    Exception(OwnedRoot, Backtrace),
    /// A host function panicked.
    Panic(Box<dyn Any + Send>),
    /// The caller has cancelled the pending activation.
    Cancelled,
}

impl From<TrapCode> for Ending {
    fn from(code: TrapCode) -> Ending {
        Ending::Trap(code)
    }
}

impl Store {
    /// The stacks of nested activations, innermost first, then those of pending activations.
    pub(crate) fn stacks_in_host_calls(&self) -> impl Iterator<Item = &ControlBlock> {
        let pending = self.running.stacks_of_pending_activations();
        let pending = pending.flat_map(|stack| self.running.with_extender(stack));
        self.nested_stacks().map(|(_, stack)| stack).chain(pending)
    }

    /// The stacks of the nested activations, innermost first, when the newest one is in a host call
    /// too. Each comes with the stack that it waits for, unless it called the host.
    pub(crate) fn nested_stacks(
        &self,
    ) -> impl Iterator<Item = (Option<&ControlBlock>, &ControlBlock)> {
        // SAFETY: the running stack's block is alive.
        let newest = unsafe { self.context().stack.as_ref() };
        newest.into_iter().chain(self.running.outer_stacks()).flat_map(|innermost| {
            let mut child = None;
            let stacks = self.running.with_extender(innermost);
            stacks.map(move |stack| (child.replace(stack), stack))
        })
    }

    pub(crate) fn base_of_running(&self) -> *mut ControlBlock {
        debug_assert_eq!(self.context().base, self.running.base_of(self.context().stack));
        self.context().base
    }

    /// Sets why the newest activation is about to end.
    pub fn set_ending(&mut self, ending: Ending) {
        self.replace_departure(Departure::Ends(ending));
    }

    /// Sets the pending call in which the newest activation is about to be left.
    pub(crate) fn set_pending(&mut self, call: PendingCall, cause: PendingCause) {
        self.replace_departure(Departure::Pending { call, cause });
    }

    /// A replaced pending call is dropped while the store is consistent, since that may panic.
    fn replace_departure(&mut self, departure: Departure) {
        if let Departure::Pending { call, .. } =
            std::mem::replace(&mut self.running.departure, departure)
        {
            self.embedder.drop_value(call);
        }
    }

    /// Records why the newest activation ends. Returns the outcome that ends it.
    #[cold]
    pub(crate) fn end_with(&mut self, ending: impl Into<Ending>) -> Outcome {
        self.set_ending(ending.into());
        Outcome::END
    }

    pub(crate) fn take_ending(&mut self) -> Ending {
        match std::mem::take(&mut self.running.departure) {
            Departure::Ends(ending) => ending,
            Departure::Pending { call, .. } => {
                self.embedder.drop_value(call);
                Ending::Cancelled
            }
            // Its host function returned as if nothing were wrong.
            Departure::None if self.running.is_poisoned() => Ending::Error(poisoned()),
            Departure::None => unreachable!("an activation that ends has a reason"),
        }
    }

    /// How many stacks belong to continuations that their owners have dropped.
    pub(crate) fn count_released(&self) -> usize {
        let references =
            self.running.released.references.lock().expect("the lock is never poisoned");
        references.iter().map(|&reference| self.stacks.held(reference).count()).sum()
    }
}
