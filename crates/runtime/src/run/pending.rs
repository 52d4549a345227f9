//! Leaving, resuming and canceling activations with a pending host call.
//!
//! A host function whose results come later leaves its call, which is then *pending*: the stack
//! looks like a suspended one, with [the stub that continues the call](crate::arch::stubs) on top. The activation is *set
//! aside*: its root, its running stack and the base of that are kept, and the next activation gets
//! another root. When the call is ready, the activation is *resumed*: a new one begins with the
//! saved state, and the stack continues.
//!
//! ```text
//!   roots, by depth      set aside                    roots, by depth
//!   | 0: outer    |      | root, stack, base |        | 0: outer    |
//!   | 1: pending  | ---> |                   | ---->  | 1: resumed  |
//!   | 2: idle     |                                   | 2: idle     |
//! ```
//!
//! So any number of activations can be pending at the same time, and they are resumed in any order.
//! A pending activation is like an outer one in a host call: its stacks are in use, nothing switches
//! to its root, and the collector visits its frames.

use crate::arch::stubs;
use crate::embedder::{guarded, resume};
use crate::report::trap::Trap;
use crate::run::activation::{Stop, activate_on};
use crate::store::Store;
use crate::store::interrupts::Interrupts;
use crate::store::pending::{PendingCall, Scope};
use crate::store::pending_activations::{ActivationNumber, PendingActivation, PendingCause};
use crate::store::running::{Ending, Poller, ResumedActivation};
use ropewalk_abi::builtin::{CATCH, CONTINUE, END, Outcome, SUSPEND};
use ropewalk_abi::{HostContext, LEFT_CALL_FRAME, LeftCall, Passage, RawVal, TrapCode, ValType};
use std::ptr::{self, NonNull};
use std::sync::Arc;

impl Store {
    /// Makes room on the running stack for the frame of a suspended host call.
    pub(crate) fn make_room_for_left_call(&mut self) -> Result<(), TrapCode> {
        // SAFETY: the running stack's block is alive, and the stack is in a host call.
        unsafe { self.make_room(self.context().stack, LEFT_CALL_FRAME) }
    }

    /// Leaves the running call of a host function, which is pending.
    ///
    /// # Safety
    ///
    /// A host function of the store must have been called with the context and `values`.
    pub unsafe fn leave_host_call(
        &mut self,
        call: PendingCall,
        left: LeftCall,
        context: *const HostContext,
        values: *const RawVal,
    ) -> Outcome {
        let cause = match self.options.snapshots {
            // SAFETY: the caller's promise.
            true => unsafe { PendingCause::host(self, context, values) },
            false => PendingCause::Unknown,
        };
        self.leave_pending(call, cause, left)
    }

    /// Leaves the running call of a host function or builtin, which is pending.
    pub(crate) fn leave_pending(
        &mut self,
        call: PendingCall,
        cause: PendingCause,
        left: LeftCall,
    ) -> Outcome {
        // The caller of the function does not continue, and its stack is empty.
        if let Err(error) = self.running.check_usable() {
            return self.end_with(Ending::Error(error));
        }
        let room = self.make_room_for_left_call().and_then(|()| self.running.pending.make_room());
        if let Err(code) = room {
            return self.end_with(code);
        }
        let context = self.context_mut();
        context.passage = Passage::NONE;
        context.left_call = left;
        if call.scope().begin().is_some() {
            self.keep_scope_open();
        }
        self.set_pending(call, cause);
        Outcome::SUSPEND
    }

    /// The pending call in which an activation was just left. The caller polls it.
    #[inline]
    pub fn take_pending(&mut self, activation: ActivationNumber) -> PendingCall {
        let mut call = self.running.take_pending_call();
        call.belongs_to(activation, self.ending_interrupts());
        call
    }

    /// The interrupts that can end an activation while it is pending.
    fn ending_interrupts(&self) -> Option<Arc<Interrupts>> {
        self.options.interruption.then(|| self.budget.interrupts.clone())
    }

    pub(crate) fn restore_pending_activation(
        &mut self,
        activation: PendingActivation,
        mut call: PendingCall,
    ) -> anyhow::Result<PendingCall> {
        self.running.pending.make_room().map_err(Trap::from_code)?;
        let number = self.running.pending.add(activation);
        call.belongs_to(number, self.ending_interrupts());
        Ok(call)
    }

    /// Takes out a pending activation, to resume it next.
    fn take_pending_activation(&mut self, number: usize) -> ResumedActivation {
        if self.options.interruption {
            let waker = self.budget.interrupts.take_waker(number);
            self.embedder.drop_value(waker);
        }
        self.running.take_pending(number)
    }

    fn finish(&mut self, call: PendingCall) -> Outcome {
        let scope = call.scope();
        let outcome = call.finish(self);
        if let Some(begin) = scope.begin() {
            self.close_scope(begin);
        }
        outcome
    }
}

/// Resumes an activation whose pending call is ready. Returns the result of a function that was
/// called [with words](crate::call_with_words).
///
/// # Safety
///
/// The activation must be one of the store, and the poller be valid until this returns. Nothing but
/// the store may be borrowed.
pub unsafe fn resume_activation(
    mut store: NonNull<Store>,
    call: PendingCall,
    poller: Poller,
) -> Result<u64, Stop> {
    let number = call.activation();
    // SAFETY: the caller has the store borrowed.
    let inner = unsafe { store.as_mut() };
    inner.running.check_usable()?;
    if inner.running.depth() >= inner.options.max_activations {
        // SAFETY: the caller's promise.
        unsafe { give_up(store, number, call.scope()) };
        return Err(Stop::Failed(Trap::from_code(TrapCode::CallStackExhausted).into()));
    }
    let ResumedActivation { root, stack, base } = inner.take_pending_activation(number);
    if !inner.running.is_plain() {
        inner.trace_enter(root);
    }
    // SAFETY: the stack was suspended in a host call, and these are the call's results.
    unsafe {
        activate_on(store, root, poller, |context, _| {
            (*context).stack = stack;
            (*context).base = base;
            let store = Store::from_context(context);
            let outcome = guarded(|| store.finish(call))
                .unwrap_or_else(|panic| store.end_with(Ending::Panic(panic)));
            if outcome.ended == CONTINUE {
                if !store.running.is_plain() {
                    store.trace_host_return();
                }
                let reference = (*stack).reference;
                (*context).passage = Passage { to: stack, signal: 0, reference };
            }
            let leaves = match outcome.ended {
                SUSPEND => (*context).passage.to.is_null(),
                ended => ended == END,
            };
            let outcome = match leaves {
                // As in the stub `leave`.
                true => (store.entry_points.calls.leaving)(context),
                false => outcome,
            };
            match outcome.ended {
                END => Outcome::END,
                CATCH => stubs::enter_landing(context, outcome.value),
                CONTINUE | SUSPEND => {
                    let Passage { to, signal, reference } = (*context).passage;
                    if store.options.stress.move_stacks {
                        store.move_stack(to);
                    }
                    stubs::enter_stack(context, to, signal, reference)
                }
                other => unreachable!("no outcome: {other}"),
            }
        })
    }
}

/// Cancels a pending activation: frees its stacks.
///
/// # Safety
///
/// As for [`resume_activation`].
pub unsafe fn cancel(store: NonNull<Store>, call: PendingCall) {
    let (number, scope) = (call.activation(), call.scope());
    // The future's `drop` can use the store, and can wait for activations of its own.
    let dropped = guarded(|| drop(call));
    // SAFETY: the caller's promise.
    unsafe { give_up(store, number, scope) };
    dropped.unwrap_or_else(resume);
}

unsafe fn give_up(mut store: NonNull<Store>, number: usize, scope: Scope) {
    // SAFETY: the caller has the store borrowed.
    let inner = unsafe { store.as_mut() };
    if inner.running.is_poisoned() {
        return;
    }
    if let Some(begin) = scope.begin() {
        inner.close_scope(begin);
    }
    let ResumedActivation { root, stack, base } = inner.take_pending_activation(number);
    inner.trace_enter(root);
    // SAFETY: nothing runs.
    let given_up = unsafe {
        activate_on(store, root, ptr::null_mut(), |context, _| {
            (*context).stack = stack;
            (*context).base = base;
            Store::from_context(context).end_with(Ending::Cancelled)
        })
    };
    debug_assert!(given_up.is_err());
}

impl PendingCause {
    /// A call of a host function, with its arguments unless some are references.
    ///
    /// # Safety
    ///
    /// A host function of the store must have been called with the context and `values`.
    unsafe fn host(
        store: &Store,
        context: *const HostContext,
        values: *const RawVal,
    ) -> PendingCause {
        // SAFETY: the caller's promise. Types live as long as the engine.
        let arguments = unsafe {
            let ty = store.options.types.shared_func_type((*(*context).ty).id);
            let has_references = ty.params().iter().any(|ty| matches!(ty, ValType::Ref(_)));
            let arguments = std::slice::from_raw_parts(values, ty.params().len());
            (!has_references).then(|| Box::from(arguments))
        };
        PendingCause::Host { context, arguments }
    }
}
