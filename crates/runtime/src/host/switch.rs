//! Tasks, fibers, stacks of a bag and first-class stacks that the host continues.
//!
//! The host stands at the root of an activation of its own, as when it resumes a
//! [continuation](crate::host::continuation). The root waits with clauses that the host has chosen,
//! and continues at the stub [`come_back`](stubs::come_back).
//!
//! * The root becomes the parent of a task or fiber. Whatever suspends, dismounts or finishes there
//!   switches to the root.
//! * A root that switches to another stack is suspended like any other. It passes a reference to
//!   itself, and a switch to that reference comes back to the host. Events and exceptions find no
//!   handler at the root. They end the activation, and are its result.

use crate::arch::stubs;
use crate::host::continuation::activate_held;
use crate::run::activation::{Stop, activate};
use crate::store::Store;
use crate::store::running::Poller;
use ropewalk_abi::builtin::{CATCH, Outcome};
use ropewalk_abi::clauses::{self, List};
use ropewalk_abi::stack::{ClauseKind, StackKind, handler_word, kind_bits, tag_of_handler};
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{ControlBlock, RawVal, StoreContext, TagDef, TrapCode};
use std::ffi::c_void;
use std::ptr::{self, NonNull};

/// Resumes a task with the values in the transfer area. Afterwards its results are there.
///
/// # Safety
///
/// The values must have the types that the task expects, and the poller be valid until this
/// returns. Nothing but the store may be borrowed.
pub unsafe fn resume_task(
    store: NonNull<Store>,
    reference: u64,
    poller: Poller,
) -> Result<(), Stop> {
    // SAFETY: the root waits for what it continues; the rest is the caller's promise.
    unsafe {
        let returned = activate(store, poller, |context, root| {
            continue_from(context, root, clauses::no_clauses(), |store| {
                Ok((store.attach(reference, StackKind::Task, root)?, 0))
            })
        });
        returned.map(drop)
    }
}

/// Mounts a fiber with an event that it expects. The signal denotes the event, and its values are
/// in the transfer area. Afterwards [`Store::event_of`] returns the event that came back.
///
/// # Safety
///
/// As for [`resume_task`]. The signal must come from [`Store::expected_event`]. The clauses must
/// not move until the activation has ended.
pub unsafe fn mount<W: AsRef<[u64]>>(
    store: NonNull<Store>,
    reference: u64,
    signal: u64,
    handlers: &List<W>,
    poller: Poller,
) -> Result<(), Stop> {
    // SAFETY: as there.
    unsafe {
        let returned = activate(store, poller, |context, root| {
            continue_from(context, root, handlers.as_ptr(), |store| {
                Ok((store.attach(reference, StackKind::Fiber, root)?, signal))
            })
        });
        returned.map(drop)
    }
}

/// Switches to a stack of a bag that the host owns, with `count` values in the transfer area and a
/// reference to the root. Afterwards the values that came back are there.
///
/// # Safety
///
/// As for [`resume_task`].
pub unsafe fn switch(
    store: NonNull<Store>,
    reference: u64,
    count: usize,
    poller: Poller,
) -> Result<(), Stop> {
    // SAFETY: as there.
    unsafe {
        activate_held(store, reference, poller, |context, root| {
            continue_from(context, root, clauses::no_clauses(), |store| {
                let block = store.consume_held(reference, StackKind::Bag)?;
                let left = (*root).reference | kind_bits(StackKind::Bag);
                store.transfer(count, RawVal::from_u64(left));
                if store.options.stress.check_stacks {
                    store.set_tag(count, ValueClass::Ref);
                }
                store.context_mut().base = block;
                Ok(((*block).ungroup(), 0))
            })
        })
    }
}

/// Sends an event, given as a clause's word, to a first-class stack that the host owns. Its values
/// are in the transfer area, and a reference to the root is added. The result comes back as an
/// exception.
///
/// # Safety
///
/// As for [`resume_task`]. The last value of the event must be a first-class stack.
pub unsafe fn send(
    store: NonNull<Store>,
    reference: u64,
    event: u64,
    poller: Poller,
) -> Result<(), Stop> {
    // SAFETY: as for `resume_task`.
    unsafe {
        activate_held(store, reference, poller, |context, root| {
            (*root).wait_for_host(stubs::come_back as *const c_void, clauses::no_clauses());
            let store = Store::from_context(context);
            // If it cannot continue, it becomes garbage.
            store.let_go(reference);
            let outcome = store.event_throw(reference, event, false);
            match outcome.ended {
                CATCH => stubs::enter_landing(context, outcome.value),
                _ => Outcome::END,
            }
        })
    }
}

/// Makes a root wait with clauses, and continues a stack with a signal, after `link` has linked it
/// to the root. Returns as [`stubs::enter_stack`] does.
///
/// # Safety
///
/// The root must be the running stack and idle. The clauses must not move.
#[inline]
pub(crate) unsafe fn continue_from(
    context: *mut StoreContext,
    root: *mut ControlBlock,
    handlers: *const u64,
    link: impl FnOnce(&mut Store) -> Result<(*mut ControlBlock, u64), TrapCode>,
) -> Outcome {
    // SAFETY: the caller's promise.
    unsafe {
        (*root).wait_for_host(stubs::come_back as *const c_void, handlers);
        let store = Store::from_context(context);
        let (to, signal) = match link(store) {
            Ok(linked) => linked,
            Err(code) => return store.end_with(code),
        };
        if store.running.extra.before_switch {
            store.watch_switch(to);
        }
        stubs::enter_stack(context, to, signal, (*to).reference)
    }
}

impl Store {
    /// Extra work of some modes before the runtime switches from the running stack to another.
    ///
    /// # Safety
    ///
    /// Both stacks must be alive, and the links between them set.
    #[cold]
    pub(crate) unsafe fn watch_switch(&mut self, to: *mut ControlBlock) {
        self.trace_switch(to, 0, ptr::null());
        if self.options.stress.move_stacks {
            // SAFETY: the caller's promise.
            unsafe { self.move_stack(to) };
        }
    }

    /// The block of a task or fiber, which must be suspended or new.
    fn resumable(&self, reference: u64, kind: StackKind) -> Result<*mut ControlBlock, TrapCode> {
        let block = self.stacks.valid_of_kind(reference, kind)?;
        // SAFETY: the block of a valid reference is alive.
        match (unsafe { (*block).parent.is_null() }, kind) {
            (true, _) => Ok(block),
            (false, StackKind::Task) => Err(TrapCode::TaskNotSuspended),
            (false, _) => Err(TrapCode::FiberHasParent),
        }
    }

    /// Makes a root the parent of a task or fiber. Returns the stack to continue.
    unsafe fn attach(
        &mut self,
        reference: u64,
        kind: StackKind,
        root: *mut ControlBlock,
    ) -> Result<*mut ControlBlock, TrapCode> {
        let block = self.resumable(reference, kind)?;
        // SAFETY: the stacks suspended with a task or fiber are alive.
        unsafe {
            (*block).parent = root;
            Ok((*block).ungroup())
        }
    }

    /// The signal of an event, if a fiber expects it where it is suspended.
    pub fn expected_event(
        &self,
        reference: u64,
        event: NonNull<TagDef>,
    ) -> Result<Option<u64>, TrapCode> {
        let block = self.resumable(reference, StackKind::Fiber)?;
        let word = handler_word(event.addr().get(), ClauseKind::Event);
        // SAFETY: the stacks suspended with a fiber are alive. A suspended or new fiber has a list
        // of clauses.
        Ok(unsafe { clauses::find((*(*block).innermost).handlers, word) })
    }

    /// The event that came back from an activation with these clauses.
    pub fn event_of(&self, handlers: &[u64]) -> NonNull<TagDef> {
        let number = self.context().passage.signal as usize - 1;
        let tag = NonNull::new(tag_of_handler(handlers[number]) as *mut TagDef);
        tag.expect("a clause of a tag")
    }

    /// Whether a task or fiber is not moribund.
    pub fn is_alive(&self, reference: u64) -> bool {
        self.stacks.valid(reference).is_some()
    }
}
