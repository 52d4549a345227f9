//! Activations that wait for a host function.
//!
//! A host function whose results come later leaves its call: the stack is then like one
//! that is suspended, with [what continues the call](crate::arch::stubs) on top. The
//! activation ends, but nothing of it is given up. It is *frozen*: its root, which stack
//! ran, and the base of that are set aside, and the root of the next activation is
//! another one. When the results are there, it is *thawed*: a new activation begins with
//! what was set aside, and the stack continues.
//!
//! ```text
//!   roots, by depth      frozen                       roots, by depth
//!   | 0: outer    |      | root, stack, base |        | 0: outer    |
//!   | 1: waits    | ---> |                   | ---->  | 1: waits    |  it continues
//!   | 2: idle     |                                   | 2: idle     |
//! ```
//!
//! So any number of activations can wait at the same time, and continue in any order.
//! To all others a frozen activation is like an outer one in a host call: its stacks
//! are in use, its root can be switched to by nobody else, and the collector visits its
//! frames.

use crate::arch::stubs::{self, Left};
use crate::embedder::{guarded, resume};
use crate::report::trap::Trap;
use crate::run::activation::{Stop, activate_on};
use crate::stack::RootStack;
use crate::store::Store;
use crate::store::pending::{Awaits, Frozen, LeftWaiting, Pending, Scope, Waiting};
use crate::store::running::{Departure, State};
use crate::store::running::{Ending, Poller};
use ropewalk_abi::builtin::{CATCH, END, GO_ON, Outcome, SUSPEND};
use ropewalk_abi::{
    ControlBlock, HostContext, LEFT_CALL_FRAME, LeftCall, Passage, RawVal, StoreContext, TrapCode,
    ValType,
};
use std::ptr::{self, NonNull};

/// How many idle roots stay ready beside those in use.
const READY_ROOTS: usize = 8;

/// How many spare roots keep their memory at least.
const WARM_ROOTS: usize = 64;

impl Store {
    /// Makes sure that there is room on the running stack for what lies there while a
    /// host call is left.
    pub(crate) fn make_room_for_left_call(&mut self) -> Result<(), TrapCode> {
        // SAFETY: the running stack's block is alive, and the stack is in a call of the
        // host.
        unsafe { self.make_room(self.context().stack, LEFT_CALL_FRAME) }
    }

    /// Leaves the running call of a host function, which was called with a context and
    /// arguments, and waits for its results.
    ///
    /// # Safety
    ///
    /// The arguments must be there, and the context be that of a host function of the store.
    pub unsafe fn wait_for_host(
        &mut self,
        waiting: Waiting,
        call: LeftCall,
        context: *const HostContext,
        values: *const RawVal,
    ) -> Outcome {
        let awaits = match self.options.snapshots {
            // SAFETY: the caller's promise.
            true => unsafe { Awaits::host(self, context, values) },
            false => Awaits::Unsaid,
        };
        self.wait(waiting, awaits, call)
    }

    /// Leaves the running host call, which waits for its results.
    pub(crate) fn wait(&mut self, waiting: Waiting, awaits: Awaits, call: LeftCall) -> Outcome {
        // What has called the function is not continued, and nothing lies on its stack any more.
        if let Err(error) = self.check_usable() {
            self.set_ending(Ending::Error(error));
            return Outcome::END;
        }
        let room = self.make_room_for_left_call().and_then(|()| self.make_room_to_freeze());
        if let Err(code) = room {
            self.set_ending(Ending::Trap(code));
            return Outcome::END;
        }
        let context = self.context_mut();
        context.passage = Passage::NONE;
        context.left_call = call;
        if waiting.scope.begin().is_some() {
            self.keep_scope_open();
        }
        self.set_waiting(waiting, awaits);
        Outcome::SUSPEND
    }

    /// Makes room in the lists for one more activation that waits.
    pub(crate) fn make_room_to_freeze(&mut self) -> Result<(), TrapCode> {
        if !self.running.free_frozen.is_empty() {
            // There was one more before.
            return Ok(());
        }
        let count = self.running.frozen.len() + 1;
        let room = self.running.frozen.try_reserve(1);
        let free = room.and_then(|()| {
            self.running.free_frozen.try_reserve(count - self.running.free_frozen.len())
        });
        free.map_err(|_| TrapCode::OutOfMemory)
    }

    /// Sets the newest activation aside, which is then to be left. There must be
    /// [room](Self::make_room_to_freeze).
    pub(crate) fn freeze(&mut self) -> LeftWaiting {
        // Those after it are idle.
        let root = self.running.roots.swap_remove(self.running.depth - 1);
        let awaits = match &mut self.running.departure {
            Departure::Waits { awaits, .. } => std::mem::take(awaits),
            _ => Awaits::Unsaid,
        };
        let &StoreContext { stack, base, .. } = self.context();
        let frozen = Frozen { root, stack, base, awaits, _caller: None };
        let number = match self.running.free_frozen.pop() {
            Some(number) => number,
            None => {
                self.running.frozen.push(None);
                self.running.frozen.len() - 1
            }
        };
        self.running.frozen[number] = Some(frozen);
        // As many blocks there cannot be.
        LeftWaiting(number as u32)
    }

    /// An activation that was just left because it waits, for whoever polls it.
    #[inline]
    pub fn take_pending(&mut self, left: LeftWaiting) -> Pending {
        let LeftWaiting(number) = left;
        let waiting = self.take_waiting();
        let interrupts = self.options.interruption.then(|| self.budget.interrupts.clone());
        Pending { waiting, number, interrupts }
    }

    /// An activation of a snapshot, set aside.
    pub(crate) fn restore_frozen(
        &mut self,
        frozen: Frozen,
        waiting: Waiting,
    ) -> anyhow::Result<Pending> {
        self.make_room_to_freeze().map_err(Trap::from_code)?;
        self.running.frozen.push(Some(frozen));
        let interrupts = self.options.interruption.then(|| self.budget.interrupts.clone());
        Ok(Pending { number: self.running.frozen.len() as u32 - 1, waiting, interrupts })
    }

    /// Makes the root of an activation that was set aside the one for the next
    /// activation.
    fn unfreeze(&mut self, number: usize) -> Thawed {
        let Frozen { root, stack, base, .. } =
            self.running.frozen[number].take().expect("it waits");
        self.running.free_frozen.push(number);
        if self.options.interruption {
            let waker = self.budget.interrupts.take_waker(number);
            self.embedder.drop_value(waker);
        }
        let block = root.block;
        self.running.roots.push(root);
        let last = self.running.roots.len() - 1;
        if last != self.running.depth {
            self.running.roots.swap(self.running.depth, last);
            self.set_spare_roots_aside();
        }
        if self.warm_roots() > WARM_ROOTS + self.count_pending() {
            self.cool_roots();
        }
        Thawed { root: block, stack, base }
    }

    /// Keeps few idle roots ready.
    fn set_spare_roots_aside(&mut self) {
        while self.running.roots.len() > self.running.depth + 1 + READY_ROOTS {
            self.running.spare_roots.extend(self.running.roots.pop());
        }
    }

    /// How many spare roots have memory.
    fn warm_roots(&self) -> usize {
        self.running.spare_roots.len() - self.running.cold_roots
    }

    /// Takes the memory of half of the spare roots, when there are more of them than
    /// activations that wait. Those that were used last are used next.
    #[cold]
    fn cool_roots(&mut self) {
        let cold = self.running.cold_roots + self.warm_roots() / 2;
        self.running.spare_roots[self.running.cold_roots..cold]
            .iter()
            .for_each(RootStack::give_back);
        self.running.cold_roots = cold;
    }

    /// A spare root.
    pub(crate) fn spare_root(&mut self) -> Option<RootStack> {
        let root = self.running.spare_roots.pop();
        self.running.cold_roots = self.running.cold_roots.min(self.running.spare_roots.len());
        root
    }

    /// Continues with what has become of a host function.
    fn conclude(&mut self, waiting: Waiting) -> Outcome {
        let Waiting { rest, scope, .. } = waiting;
        let outcome = rest.conclude(self);
        if let Some(begin) = scope.begin() {
            self.close_scope(begin);
        }
        outcome
    }
}

/// The activation that a new one continues.
struct Thawed {
    root: *mut ControlBlock,
    stack: *mut ControlBlock,
    base: *mut ControlBlock,
}

/// Continues an activation whose host function is ready; returns the result of what was
/// called [with words](crate::call_with_words).
///
/// # Safety
///
/// The activation must be one of the store, and the poller be valid until this returns.
/// Nothing but the store may be borrowed.
pub unsafe fn thaw(
    mut store: NonNull<Store>,
    pending: Pending,
    poller: Poller,
) -> Result<u64, Stop> {
    let Pending { number, waiting, .. } = pending;
    let number = number as usize;
    // SAFETY: the caller has the store borrowed.
    let inner = unsafe { store.as_mut() };
    inner.check_usable()?;
    if inner.running.depth >= inner.options.max_activations {
        // SAFETY: the caller's promise.
        unsafe { give_up(store, number, waiting.scope) };
        return Err(Stop::Failed(Trap::from_code(TrapCode::CallStackExhausted).into()));
    }
    let Thawed { root, stack, base } = inner.unfreeze(number);
    if inner.running.state != State::Plain {
        inner.trace_enter(root);
    }
    // SAFETY: the stack was left in a host call, of which these are the results.
    unsafe {
        activate_on(store, root, poller, |context, _| {
            (*context).stack = stack;
            (*context).base = base;
            let store = Store::from_context(context);
            let outcome = guarded(|| store.conclude(waiting)).unwrap_or_else(|panic| {
                store.set_ending(Ending::Panic(panic));
                Outcome::END
            });
            if outcome.ended == GO_ON {
                if store.running.state != State::Plain {
                    store.trace_host_return();
                }
                let reference = (*stack).reference;
                (*context).passage = Passage { to: stack, signal: 0, reference };
            }
            match outcome.ended {
                END => Left::ENDED,
                CATCH => stubs::enter_landing(context, outcome.value),
                GO_ON | SUSPEND => {
                    let Passage { to, signal, reference } = (*context).passage;
                    if store.options.move_stacks {
                        store.move_stack(to);
                    }
                    stubs::enter_stack(context, to, signal, reference)
                }
                other => unreachable!("no outcome: {other}"),
            }
        })
    }
}

/// Gives an activation up that waits: frees its stacks.
///
/// # Safety
///
/// As for [`thaw`].
pub unsafe fn cancel(store: NonNull<Store>, pending: Pending) {
    let Pending { number, waiting, .. } = pending;
    let Waiting { rest, scope, .. } = waiting;
    // It may use the store, and wait for activations of its own.
    let dropped = guarded(|| drop(rest));
    // SAFETY: the caller's promise.
    unsafe { give_up(store, number as usize, scope) };
    dropped.unwrap_or_else(resume);
}

unsafe fn give_up(mut store: NonNull<Store>, number: usize, scope: Scope) {
    // SAFETY: the caller has the store borrowed.
    let inner = unsafe { store.as_mut() };
    if inner.is_poisoned() {
        return;
    }
    if let Some(begin) = scope.begin() {
        inner.close_scope(begin);
    }
    let Thawed { root, stack, base } = inner.unfreeze(number);
    inner.trace_enter(root);
    // SAFETY: nothing runs.
    let given_up = unsafe {
        activate_on(store, root, ptr::null_mut(), |context, _| {
            (*context).stack = stack;
            (*context).base = base;
            Store::from_context(context).set_ending(Ending::Cancelled);
            Left::ENDED
        })
    };
    debug_assert!(given_up.is_err());
}

impl Awaits {
    /// A host function that was called with a context and these arguments.
    ///
    /// # Safety
    ///
    /// The arguments must be there, and the context be that of a host function of the store.
    unsafe fn host(store: &Store, context: *const HostContext, values: *const RawVal) -> Awaits {
        // SAFETY: the caller's promise; types live as long as the engine.
        let arguments = unsafe {
            let ty = store.options.types.shared_func_type((*(*context).ty).id);
            let has_references = ty.params().iter().any(|ty| matches!(ty, ValType::Ref(_)));
            let arguments = std::slice::from_raw_parts(values, ty.params().len());
            (!has_references).then(|| Box::from(arguments))
        };
        Awaits::Host { context, arguments }
    }
}
