//! Many calls at once in one store.

use crate::Func;
use crate::host::admission::{Admission, Turn};
use crate::host::deadlock::Guests;
use crate::host::polled_call::{AsyncCall, polling};
use crate::host::store_lock::{Opened, StoreLock, Using};
use crate::items::typed_func::TypedFunc;
use crate::store::{AsContextMut, Store, StoreContextMut, StoreInner};
use crate::value::val::Val;
use crate::value::wasm_values::{Places, WasmParams, WasmResults};
use anyhow::{Result, ensure};
use ropewalk_abi::HostContext;
use ropewalk_runtime::embedder::{guarded, resume};
use ropewalk_runtime::run::pending;
use ropewalk_runtime::{PendingCall, Stop, Store as RuntimeStore};
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::task::{Context, Poll};

/// Access to a store in which several calls wait at the same time.
///
/// [`Store::run_concurrent`] and host functions of
/// [`Linker::func_wrap_concurrent`](crate::Linker::func_wrap_concurrent) get one. The
/// store can be used inside of [`with`](Accessor::with), and not across an `await`.
///
/// Threads can share an accessor. One that needs the store waits as long as another uses it, and
/// as long as another runs a host function that was called and has not waited yet. Such a
/// function must not wait for another thread by blocking its own.
///
/// ```
/// use ropewalk::*;
///
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "host" "count" (func $count))
///       (func (export "run") (call $count) (call $count)))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// linker.func_wrap_concurrent("host", "count", |accessor: &Accessor<i32>, (): ()| {
///     Box::pin(async move {
///         tokio::task::yield_now().await;
///         accessor.with(|mut store| *store.data_mut() += 1);
///     })
/// })?;
/// let mut store = Store::new(&engine, 0);
/// let instance = linker.instantiate(&mut store, &module)?;
/// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
/// store
///     .run_concurrent(async |accessor| {
///         let (a, b) =
///             tokio::join!(run.call_concurrent(accessor, ()), run.call_concurrent(accessor, ()));
///         a.and(b)
///     })
///     .await?;
/// assert_eq!(*store.data(), 4);
/// # Ok(()) }
/// ```
pub struct Accessor<T> {
    owner: *mut StoreInner<T>,
    runtime: NonNull<RuntimeStore>,
    /// Which thread uses the store.
    lock: StoreLock,
    /// What the host function was called with that runs, and lets others use the store; or null.
    pub(crate) called: AtomicPtr<HostContext>,
    /// Calls that were dropped while somebody used the store.
    given_up: Mutex<Vec<PendingCall>>,
    admission: Admission,
    /// Who waits for others.
    pub(crate) guests: Guests,
}

// SAFETY: only one thread uses the store at a time, and its data can be sent there.
unsafe impl<T: Send> Send for Accessor<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Accessor<T> {}

impl<T> std::fmt::Debug for Accessor<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Accessor").finish_non_exhaustive()
    }
}

/// A host function, whose caller uses the store, lets others use it.
pub(crate) struct Open<'a> {
    // Dropped in this order.
    _calls: Calls<'a>,
    _opened: Opened<'a>,
    _using: Option<Using<'a>>,
}

/// A host function runs that has an accessor, until this is dropped.
struct Calls<'a> {
    called: &'a AtomicPtr<HostContext>,
    before: *mut HostContext,
}

impl Drop for Calls<'_> {
    fn drop(&mut self) {
        self.called.store(self.before, Ordering::Relaxed);
    }
}

impl<T> Accessor<T> {
    /// An accessor to a store.
    ///
    /// # Safety
    ///
    /// Nobody else may use the store as long as this lives.
    pub(crate) unsafe fn new(owner: *mut StoreInner<T>) -> Accessor<T> {
        // SAFETY: the caller's promise.
        let runtime = unsafe { StoreContextMut(&mut *owner).enter() };
        Accessor {
            owner,
            runtime,
            lock: StoreLock::default(),
            called: AtomicPtr::new(ptr::null_mut()),
            given_up: Mutex::default(),
            admission: Admission::default(),
            guests: Guests::default(),
        }
    }

    /// Lets others use the store that run on this thread, while a host function runs that was
    /// called with a context.
    pub(crate) fn open(&self, context: &HostContext) -> Open<'_> {
        // If the accessor is that of the call, this thread has it already.
        let using = self.lock.lock();
        let opened = self.lock.open();
        let called = ptr::from_ref(context).cast_mut();
        let before = self.called.swap(called, Ordering::Relaxed);
        let calls = Calls { called: &self.called, before };
        Open { _calls: calls, _opened: opened, _using: using }
    }

    fn try_lock(&self) -> Option<Using<'_>> {
        let using = self.lock.lock()?;
        let given_up = std::mem::take(&mut *self.given_up.lock().expect("nobody panics with it"));
        for pending in given_up {
            // SAFETY: this thread has the store.
            unsafe { pending::cancel(self.runtime, pending) };
        }
        Some(using)
    }

    fn lock(&self) -> Using<'_> {
        self.try_lock().expect("the store is in use: `Accessor::with` was called inside of itself")
    }

    /// Uses the store. References that are made meanwhile end with it; an
    /// [`Owned`](crate::Owned) one lasts.
    ///
    /// # Panics
    ///
    /// If it is called inside of itself.
    pub fn with<R>(&self, f: impl FnOnce(StoreContextMut<'_, T>) -> R) -> R {
        let _using = self.lock();
        // SAFETY: this thread has the store.
        let mut scope = crate::RootScope::new(unsafe { self.store() });
        f(scope.as_context_mut())
    }

    /// Uses the store. References that are made meanwhile last as long as the accessor.
    pub(crate) fn use_store<R>(&self, f: impl FnOnce(StoreContextMut<'_, T>) -> R) -> R {
        let _using = self.lock();
        // SAFETY: this thread has the store.
        f(unsafe { self.store() })
    }

    /// The store.
    ///
    /// # Safety
    ///
    /// This thread must have it, and use it by nothing else meanwhile.
    pub(crate) unsafe fn store(&self) -> StoreContextMut<'_, T> {
        // SAFETY: the caller's promise.
        StoreContextMut(unsafe { &mut *self.owner })
    }

    /// Has at most so many calls of this accessor run or wait at the same time. Others
    /// wait for their turn, in the order in which they were first polled.
    pub fn set_limit(&self, limit: usize) {
        self.admission.set_limit(limit);
    }
}

impl<T> Drop for Accessor<T> {
    fn drop(&mut self) {
        drop(self.try_lock());
    }
}

impl<T: Send + 'static> Store<T> {
    /// Runs many calls at once. Each waits for its own host functions; meanwhile the
    /// others run. They take turns on this store without locks, so a call that computes
    /// and never waits keeps the others from running, unless it has a
    /// [time slice](Store::set_time_slice): then calls that compute take turns too.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "sleep" (func $sleep (param i32)))
    ///       (func (export "run") (param i32) (result i32)
    ///         (call $sleep (local.get 0))
    ///         (i32.mul (local.get 0) (i32.const 2))))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_concurrent("host", "sleep", |_: &Accessor<()>, (time,): (i32,)| {
    ///     Box::pin(async move {
    ///         tokio::time::sleep(std::time::Duration::from_millis(time as u64)).await;
    ///     })
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    /// let (a, b) = store
    ///     .run_concurrent(async |accessor| {
    ///         tokio::join!(run.call_concurrent(accessor, 30), run.call_concurrent(accessor, 20))
    ///     })
    ///     .await;
    /// assert_eq!((a?, b?), (60, 40));
    /// # Ok(()) }
    /// ```
    ///
    /// A call that is dropped is given up, and its stacks are freed. A trap or an error
    /// of one call ends that one. References among results last until this ends.
    pub async fn run_concurrent<R>(&mut self, f: impl AsyncFnOnce(&Accessor<T>) -> R) -> R {
        let mut scope = crate::RootScope::new(self);
        let accessor = {
            let store = scope.as_context_mut();
            // SAFETY: this future has the store.
            unsafe { Accessor::new(store.0) }
        };
        let mut body = pin!(f(&accessor));
        poll_fn(|context| {
            let polled = body.as_mut().poll(context);
            if polled.is_pending() {
                accessor.find_deadlock();
            }
            polled
        })
        .await
    }
}

/// A call that waits while others run.
pub(crate) struct ConcurrentCall<'a, T> {
    accessor: &'a Accessor<T>,
    call: AsyncCall,
}

impl<'a, T> ConcurrentCall<'a, T> {
    pub fn new(accessor: &'a Accessor<T>) -> ConcurrentCall<'a, T> {
        // SAFETY: who has the lock uses the store.
        let call = unsafe { AsyncCall::new(accessor.runtime) };
        accessor.guests.begin_call();
        ConcurrentCall { accessor, call }
    }

    /// Begins the call. If it has ended, this thread has the store until its results are taken:
    /// they are known to nobody else, and whoever uses the store next may collect.
    pub fn begin(
        &mut self,
        context: &mut Context<'_>,
        begin: impl FnOnce(StoreContextMut<'_, T>, ropewalk_runtime::Poller) -> Result<u64, Stop>,
    ) -> Poll<Result<(u64, Using<'a>)>> {
        let using = self.accessor.lock();
        let mut polling = polling(context, ptr::from_ref(self.accessor).cast());
        // SAFETY: this thread has the store.
        let began = begin(unsafe { self.accessor.store() }, &mut polling);
        let ended = match began {
            Ok(word) => Poll::Ready(Ok(word)),
            Err(stop) => self.call.stopped(stop),
        };
        self.ended(ended, using, context)
    }

    /// The result of the call, with the store. Without a result others use the store.
    fn ended(
        &mut self,
        ended: Poll<Result<u64>>,
        using: Using<'a>,
        context: &Context<'_>,
    ) -> Poll<Result<(u64, Using<'a>)>> {
        match ended {
            Poll::Ready(Ok(word)) => Poll::Ready(Ok((word, using))),
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            Poll::Pending => {
                drop(using);
                self.call.announce(context.waker());
                Poll::Pending
            }
        }
    }

    /// Continues the call when what it waits for is ready. If it has ended, as for
    /// [`begin`](Self::begin).
    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(u64, Using<'a>)>> {
        // Others may use the store meanwhile.
        if self.call.poll_rest(context).is_pending() {
            return Poll::Pending;
        }
        let using = self.accessor.lock();
        let mut polling = polling(context, ptr::from_ref(self.accessor).cast());
        // SAFETY: this thread has the store.
        let ended = unsafe { self.call.go_on(&mut polling) };
        self.ended(ended, using, context)
    }
}

impl<T> Drop for ConcurrentCall<'_, T> {
    fn drop(&mut self) {
        self.accessor.guests.end_call();
        let Some(mut pending) = self.call.take_pending() else { return };
        // What it waits for may use the store when it is dropped.
        let rest = pending.give_up();
        let dropped = guarded(|| drop(rest));
        match self.accessor.try_lock() {
            // SAFETY: this thread has the store.
            Some(_using) => unsafe { pending::cancel(self.accessor.runtime, pending) },
            None => self.accessor.given_up.lock().expect("nobody panics with it").push(pending),
        }
        dropped.unwrap_or_else(resume);
    }
}

impl<Params: WasmParams, Results: WasmResults> TypedFunc<Params, Results> {
    /// Calls it. Other calls run in the same store while it waits for host functions.
    /// [`Store::run_concurrent`](crate::Store::run_concurrent) has an example.
    pub async fn call_concurrent<T: Send>(
        &self,
        accessor: &Accessor<T>,
        params: Params,
    ) -> Result<Results> {
        let mut turn = Turn::new(&accessor.admission);
        poll_fn(|context| turn.poll(context)).await;
        let mut values = Places::<Params, Results>::EMPTY;
        let mut call = ConcurrentCall::new(accessor);
        let mut params = Some(params);
        let (word, _using) = poll_fn(|context| {
            if let Some(params) = params.take() {
                return call.begin(context, |store, poller| {
                    // SAFETY: the places are pinned with the future.
                    unsafe { self.begin(store, params, values.as_mut_ptr(), poller) }
                });
            }
            call.poll(context)
        })
        .await?;
        // SAFETY: this thread has the store since the call has ended, and the results are in
        // their places.
        unsafe {
            let runtime = &mut (*accessor.owner).runtime;
            Ok(self.results(runtime, values.as_mut_ptr(), word))
        }
    }
}

impl Func {
    /// Calls it. Other calls run in the same store while it waits for host functions.
    pub async fn call_concurrent<T: Send>(
        &self,
        accessor: &Accessor<T>,
        arguments: &[Val],
        results: &mut [Val],
    ) -> Result<()> {
        let mut turn = Turn::new(&accessor.admission);
        poll_fn(|context| turn.poll(context)).await;
        let mut call = ConcurrentCall::new(accessor);
        let mut values = None;
        let (_, _using) = poll_fn(|context| {
            if values.is_none() {
                return call.begin(context, |mut store, poller| {
                    let values = values.insert(self.places(&mut store, arguments, results)?);
                    // SAFETY: the places are on the heap, and live as long as the call.
                    unsafe { self.begin(store, values, poller) }
                });
            }
            call.poll(context)
        })
        .await?;
        let values = values.expect("the call has begun");
        // SAFETY: this thread has the store since the call has ended.
        let store = unsafe { accessor.store() };
        ensure!(values.len() >= results.len(), "the results are in their places");
        self.take_results(store, &values, results)
    }
}
