//! Calls that may wait for host functions.

use crate::items::call::public_error;
use crate::store::StoreContextMut;
use anyhow::Result;
use ropewalk_runtime::run::pending;
use ropewalk_runtime::{PendingCall, Poller, Polling, Stop, Store as RuntimeStore};
use std::ffi::c_void;
use std::future::poll_fn;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

/// A call that may wait, as a future polls it. If it is dropped while it waits, its
/// stacks are freed.
pub(crate) struct AsyncCall {
    runtime: NonNull<RuntimeStore>,
    state: State,
}

enum State {
    New,
    Pending(PendingCall),
    Finished,
}

// SAFETY: a store can be sent between calls, and does not run while the call waits; what
// it waits for can be sent. Whoever makes this sees to it that the store's data can.
unsafe impl Send for AsyncCall {}
// SAFETY: a shared one can do nothing.
unsafe impl Sync for AsyncCall {}

impl AsyncCall {
    /// A call in a store.
    ///
    /// # Safety
    ///
    /// Nobody else may use the store as long as this lives.
    pub unsafe fn new(runtime: NonNull<RuntimeStore>) -> AsyncCall {
        AsyncCall { runtime, state: State::New }
    }

    /// A call that waits already.
    ///
    /// # Safety
    ///
    /// As for [`new`](Self::new); it must be a call of the store.
    pub unsafe fn pending(runtime: NonNull<RuntimeStore>, pending: PendingCall) -> AsyncCall {
        AsyncCall { runtime, state: State::Pending(pending) }
    }

    /// Begins the call, or continues it when what it waits for is ready. The word is what
    /// a function that was called with words has returned.
    ///
    /// # Safety
    ///
    /// `begin` must enter WebAssembly, in a way that is sound as long as this lives.
    #[inline]
    pub unsafe fn poll(
        &mut self,
        context: &mut Context<'_>,
        begin: impl FnOnce(NonNull<RuntimeStore>, Poller) -> Result<u64, Stop>,
    ) -> Poll<Result<u64>> {
        if let State::New = self.state {
            self.state = State::Finished;
            let mut polling = polling(context, ptr::null());
            return match begin(self.runtime, &mut polling) {
                Ok(word) => Poll::Ready(Ok(word)),
                Err(stop) => {
                    let polled = self.stopped(stop);
                    self.announce(context.waker());
                    polled
                }
            };
        }
        self.poll_waiting(context)
    }

    /// The same, for a call that continues a stack, and gives no word.
    ///
    /// # Safety
    ///
    /// As there.
    #[inline]
    pub unsafe fn poll_stack(
        &mut self,
        context: &mut Context<'_>,
        begin: impl FnOnce(NonNull<RuntimeStore>, Poller) -> Result<(), Stop>,
    ) -> Poll<Result<()>> {
        let begin = |runtime, poller| begin(runtime, poller).map(|()| 0);
        // SAFETY: the caller's promise.
        unsafe { self.poll(context, begin) }.map_ok(drop)
    }

    /// Continues the call when what it waits for is ready.
    pub fn poll_waiting(&mut self, context: &mut Context<'_>) -> Poll<Result<u64>> {
        if self.poll_rest(context).is_pending() {
            return Poll::Pending;
        }
        let mut polling = polling(context, ptr::null());
        // SAFETY: whoever made this promised that nobody else uses the store.
        let polled = unsafe { self.go_on(&mut polling) };
        self.announce(context.waker());
        polled
    }

    /// Polls what the call waits for.
    pub fn poll_rest(&mut self, context: &mut Context<'_>) -> Poll<()> {
        match &mut self.state {
            State::Pending(pending) => pending.poll(context),
            _ => panic!("a call was polled after it had ended"),
        }
    }

    /// Continues the call when what it waits for is ready, until it has ended or waits again.
    /// The host function that it waits for then was polled with the same context.
    ///
    /// # Safety
    ///
    /// Nobody else may use the store meanwhile.
    pub unsafe fn go_on(&mut self, poller: Poller) -> Poll<Result<u64>> {
        let State::Pending(pending) = std::mem::replace(&mut self.state, State::Finished) else {
            unreachable!("it was polled");
        };
        // SAFETY: the activation is one of the store; the rest is the caller's promise.
        match unsafe { pending::resume_activation(self.runtime, pending, poller) } {
            Ok(word) => Poll::Ready(Ok(word)),
            Err(stop) => self.stopped(stop),
        }
    }

    /// Has whoever polls the call woken when it must go on, if it has just begun to wait. Called
    /// when others can use the store: a waker may do anything.
    pub fn announce(&mut self, waker: &Waker) {
        if let State::Pending(pending) = &mut self.state {
            pending.announce(waker);
        }
    }

    /// Notes that the call waits, or returns how it has ended. If it waits, it is to be
    /// [announced](Self::announce).
    pub fn stopped(&mut self, stop: Stop) -> Poll<Result<u64>> {
        match stop {
            Stop::Failed(error) => Poll::Ready(Err(public_error(error))),
            Stop::Waits(left) => {
                // SAFETY: nobody else uses the store now: it was just left.
                self.state = State::Pending(unsafe { self.runtime.as_mut() }.take_pending(left));
                Poll::Pending
            }
        }
    }

    /// What the call waits for, if it does; then it is given up.
    pub fn take_pending(&mut self) -> Option<PendingCall> {
        match std::mem::replace(&mut self.state, State::Finished) {
            State::Pending(pending) => Some(pending),
            _ => None,
        }
    }
}

/// Continues a stack in a future, which waits for host functions that are not ready. The store
/// is borrowed as long as the future lives, and at hand again when it has ended.
///
/// # Safety
///
/// `begin` must enter WebAssembly in the store it is given, in a way that is sound when the
/// future is first polled; what it refers to must stay where it is as long as the future lives,
/// which may be for ever.
pub(crate) async unsafe fn continued<T>(
    store: &mut StoreContextMut<'_, T>,
    begin: impl FnOnce(NonNull<RuntimeStore>, Poller) -> Result<(), Stop>,
) -> Result<()> {
    // SAFETY: the store is borrowed as long as this lives.
    let mut call = unsafe { AsyncCall::new(store.enter()) };
    let mut begin = Some(begin);
    poll_fn(|context| {
        let begin = |runtime, poller| begin.take().expect("a call begins once")(runtime, poller);
        // SAFETY: the caller's promise.
        unsafe { call.poll_stack(context, begin) }
    })
    .await
}

/// How a call is polled with a context.
pub(crate) fn polling(context: &mut Context<'_>, accessor: *const c_void) -> Polling {
    Polling { context: ptr::from_mut(context).cast(), accessor }
}

impl Drop for AsyncCall {
    fn drop(&mut self) {
        if let Some(pending) = self.take_pending() {
            // SAFETY: nobody else uses the store as long as this lives.
            unsafe { pending::cancel(self.runtime, pending) };
        }
    }
}
