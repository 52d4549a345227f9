//! Calls into WebAssembly that wait for pending host calls.

use crate::items::call_error::public_error;
use crate::store::StoreContextMut;
use anyhow::Result;
use ropewalk_runtime::run::pending;
use ropewalk_runtime::{PendingCall, Poller, Polling, Stop, Store as RuntimeStore};
use std::ffi::c_void;
use std::future::poll_fn;
use std::ptr::{self, NonNull};
use std::task::{Context, Poll, Waker};

/// A call into WebAssembly that a future polls. If it is dropped while it waits, its stacks are
/// freed.
pub(crate) struct AsyncCall {
    runtime: NonNull<RuntimeStore>,
    pending: Option<PendingCall>,
}

// SAFETY: a store can be sent between calls, and does not run while the call waits. A pending
// call can be sent. The creator of this checks that the store's data can be sent.
unsafe impl Send for AsyncCall {}
// SAFETY: a shared reference gives access to nothing.
unsafe impl Sync for AsyncCall {}

impl AsyncCall {
    /// A call that has not begun.
    ///
    /// # Safety
    ///
    /// Nothing else may use the store as long as this lives.
    pub unsafe fn new(runtime: NonNull<RuntimeStore>) -> AsyncCall {
        AsyncCall { runtime, pending: None }
    }

    /// Begins the call. Returns the word that the function returned, if it returns one.
    ///
    /// # Safety
    ///
    /// `begin` must enter WebAssembly in the store, in a way that is sound as long as this lives.
    #[inline]
    pub unsafe fn begin(
        &mut self,
        context: &mut Context<'_>,
        begin: impl FnOnce(Poller) -> Result<u64, Stop>,
    ) -> Poll<Result<u64>> {
        match begin(&mut polling(context, ptr::null())) {
            Ok(word) => Poll::Ready(Ok(word)),
            Err(stop) => {
                let polled = self.stopped(stop);
                self.announce(context.waker());
                polled
            }
        }
    }

    /// Continues the call if its pending host call is ready.
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<u64>> {
        if self.poll_pending(context).is_pending() {
            return Poll::Pending;
        }
        // SAFETY: the creator of this promised that nothing else uses the store.
        let polled = unsafe { self.resume(&mut polling(context, ptr::null())) };
        self.announce(context.waker());
        polled
    }

    /// Polls the pending host call.
    pub fn poll_pending(&mut self, context: &mut Context<'_>) -> Poll<()> {
        self.pending.as_mut().expect("a call is not polled after it has ended").poll(context)
    }

    /// Continues the call, whose pending host call is ready, until it ends or waits again. The
    /// next pending host call was then polled by the same poller.
    ///
    /// # Safety
    ///
    /// Nothing else may use the store until this returns.
    pub unsafe fn resume(&mut self, poller: Poller) -> Poll<Result<u64>> {
        let pending = self.pending.take().expect("the call waits");
        // SAFETY: the activation belongs to the store. The caller promises the rest.
        match unsafe { pending::resume_activation(self.runtime, pending, poller) } {
            Ok(word) => Poll::Ready(Ok(word)),
            Err(stop) => self.stopped(stop),
        }
    }

    /// Asks to wake the task when the call must be polled again, if it has just begun to wait.
    /// Others must be able to use the store by now, since a waker may do anything.
    pub fn announce(&mut self, waker: &Waker) {
        if let Some(pending) = &mut self.pending {
            pending.announce(waker);
        }
    }

    /// Keeps the pending host call of a call that waits, or returns why the call has ended. The
    /// caller must then [announce](Self::announce) a call that waits.
    pub fn stopped(&mut self, stop: Stop) -> Poll<Result<u64>> {
        match stop {
            Stop::Failed(error) => Poll::Ready(Err(public_error(error))),
            Stop::Pending(left) => {
                // SAFETY: WebAssembly was just left, so nothing else uses the store.
                self.pending = Some(unsafe { self.runtime.as_mut() }.take_pending(left));
                Poll::Pending
            }
        }
    }

    /// Takes the pending host call. The call is then given up.
    pub fn take_pending(&mut self) -> Option<PendingCall> {
        self.pending.take()
    }
}

impl Drop for AsyncCall {
    fn drop(&mut self) {
        if let Some(pending) = self.take_pending() {
            // SAFETY: nothing else uses the store as long as this lives.
            unsafe { pending::cancel(self.runtime, pending) };
        }
    }
}

/// Enters WebAssembly in a future, which waits for pending host calls. Returns the word that the
/// function returned, if it returns one. The store is borrowed as long as the future lives.
///
/// # Safety
///
/// `begin` must enter WebAssembly in the store that it gets, in a way that is sound at the first
/// poll of the future. What it refers to must not move as long as the future lives, which may be
/// leaked.
pub(crate) async unsafe fn entered<T>(
    store: &mut StoreContextMut<'_, T>,
    begin: impl FnOnce(StoreContextMut<'_, T>, Poller) -> Result<u64, Stop>,
) -> Result<u64> {
    // SAFETY: the store is borrowed as long as this lives.
    let mut call = unsafe { AsyncCall::new(store.enter()) };
    let mut begin = Some(begin);
    poll_fn(|context| match begin.take() {
        // SAFETY: the caller's promise.
        Some(begin) => unsafe {
            call.begin(context, |poller| begin(StoreContextMut(&mut *store.0), poller))
        },
        None => call.poll(context),
    })
    .await
}

/// Describes the task that polls a call to the runtime.
pub(crate) fn polling(context: &mut Context<'_>, accessor: *const c_void) -> Polling {
    Polling { context: ptr::from_mut(context).cast(), accessor }
}
