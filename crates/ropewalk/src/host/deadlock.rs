//! Deadlocks: concurrent calls that all wait for each other.

use crate::host::concurrent::Accessor;
use crate::store::AsContext as _;
use ropewalk_runtime::StackList;
use std::collections::HashMap;
use std::future::Future;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};
use thiserror::Error;

/// The error of calls of an [`Accessor`] that all wait for each other.
///
/// [`Accessor::wait_for_guest`] detects it, and has an example. It prints as a list of the calls and
/// of all other stacks: where each of them is, and what it waits for.
#[derive(Clone, Debug, Error)]
#[error("deadlock: every call waits for another\n{}", .0.waits_with_calls())]
pub struct Deadlock(Arc<StackList>);

impl Deadlock {
    /// The stacks at the time of the deadlock.
    pub fn stacks(&self) -> &StackList {
        &self.0
    }
}

/// The calls of an accessor, and those of them that wait for other calls.
#[derive(Debug, Default)]
pub(crate) struct Guests(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    /// How many calls are running or waiting.
    calls: usize,
    next: u64,
    waits: HashMap<u64, Arc<GuestWait>>,
}

/// A call that waits for another one.
#[derive(Debug)]
struct GuestWait {
    /// Whether it was woken since it was last polled.
    is_woken: AtomicBool,
    /// Shared, so that the embedder's waker is never cloned, woken or dropped under the lock.
    waker: Mutex<Arc<Waker>>,
    /// The deadlock, once it is found.
    deadlock: Mutex<Option<Deadlock>>,
}

impl Wake for GuestWait {
    fn wake(self: Arc<Self>) {
        self.is_woken.store(true, Ordering::Release);
        let waker = self.waker.lock().expect("nothing panics while it is locked").clone();
        waker.wake_by_ref();
    }
}

impl Guests {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("nothing panics while it is locked")
    }

    pub(crate) fn begin_call(&self) {
        self.state().calls += 1;
    }

    pub(crate) fn end_call(&self) {
        self.state().calls -= 1;
    }
}

impl State {
    fn is_stuck(&self) -> bool {
        let sleeps = |waiting: &Arc<GuestWait>| !waiting.is_woken.load(Ordering::Acquire);
        self.calls > 0 && self.waits.len() >= self.calls && self.waits.values().all(sleeps)
    }
}

/// Registers a call as waiting, until this is dropped.
struct Entry<'a> {
    guests: &'a Guests,
    number: u64,
    waiting: Arc<GuestWait>,
}

impl Drop for Entry<'_> {
    fn drop(&mut self) {
        let mut state = self.guests.state();
        let waiting = state.waits.remove(&self.number);
        drop(state);
        drop(waiting);
    }
}

impl<T> Accessor<T> {
    /// Waits in a host function for something that only another call of this accessor can do, such
    /// as sending a message. If every call waits like this, and none was woken, each wait fails
    /// with the same [`Deadlock`]: the program ends with a report instead of waiting for ever.
    ///
    /// Do not use this to wait for the embedder, a timer, or a connection: these can wake the
    /// future at any time, so waiting for them is no deadlock.
    ///
    /// ```
    /// use ropewalk::*;
    /// use std::sync::Arc;
    /// use tokio::sync::Notify;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module $m
    ///       (import "host" "receive" (func $receive))
    ///       (import "host" "send" (func $send))
    ///       (func (export "polite") (call $receive) (call $send)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_concurrent("host", "receive", |accessor: &Accessor<Arc<Notify>>, (): ()| {
    ///     Box::pin(async move {
    ///         let message = accessor.with(|store| store.data().clone());
    ///         Ok::<(), Error>(accessor.wait_for_guest(message.notified()).await?)
    ///     })
    /// })?;
    /// linker.func_wrap("host", "send", |caller: Caller<'_, Arc<Notify>>| {
    ///     caller.data().notify_one()
    /// })?;
    /// let mut store = Store::new(&engine, Arc::default());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let polite = instance.get_typed_func::<(), ()>(&mut store, "polite")?;
    /// let (a, b) = store
    ///     .run_concurrent(async |accessor| {
    ///         let (a, b) = (polite.call_concurrent(accessor, ()), polite.call_concurrent(accessor, ()));
    ///         tokio::join!(a, b)
    ///     })
    ///     .await;
    /// let report = format!("{:#}", a.unwrap_err());
    /// assert!(report.contains("deadlock: every call waits for another"));
    /// assert!(report.contains("is in a call of the host\n    at <text>:5:"), "{report}");
    /// assert!(b.is_err());
    /// # Ok(()) }
    /// ```
    pub async fn wait_for_guest<F: Future>(&self, future: F) -> Result<F::Output, Deadlock> {
        let mut future = pin!(future);
        let mut entry = None;
        std::future::poll_fn(|context| {
            let entry = entry.get_or_insert_with(|| self.enter_wait(context.waker()));
            if let Some(deadlock) = entry.waiting.deadlock.lock().expect("never poisoned").take() {
                return Poll::Ready(Err(deadlock));
            }
            let waker = Arc::new(context.waker().clone());
            let mut place = entry.waiting.waker.lock().expect("never poisoned");
            let before = std::mem::replace(&mut *place, waker);
            drop(place);
            drop(before);
            entry.waiting.is_woken.store(false, Ordering::Release);
            let waker = Waker::from(entry.waiting.clone());
            if let Poll::Ready(output) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
                return Poll::Ready(Ok(output));
            }
            Poll::Pending
        })
        .await
    }

    fn enter_wait(&self, waker: &Waker) -> Entry<'_> {
        let waiting = Arc::new(GuestWait {
            is_woken: AtomicBool::new(true), // until its first poll
            waker: Mutex::new(Arc::new(waker.clone())),
            deadlock: Mutex::new(None),
        });
        let mut state = self.guests.state();
        state.next += 1;
        let number = state.next;
        state.waits.insert(number, waiting.clone());
        Entry { guests: &self.guests, number, waiting }
    }

    /// Fails all waits if there is a deadlock. Called after all calls were polled.
    pub(crate) fn find_deadlock(&self) {
        let waits: Vec<Arc<GuestWait>> = {
            let state = self.guests.state();
            if !state.is_stuck() {
                return;
            }
            state.waits.values().cloned().collect()
        };
        let stacks = self.with(|store| store.as_context().stacks()).unwrap_or_default();
        let deadlock = Deadlock(Arc::new(stacks));
        for waiting in waits {
            *waiting.deadlock.lock().expect("never poisoned") = Some(deadlock.clone());
            waiting.wake();
        }
    }
}
