//! Concurrent calls in one store.

use crate::Func;
use crate::host::async_call::{AsyncCall, polling};
use crate::host::call_limit::{CallLimit, Permit};
use crate::host::deadlock::Guests;
use crate::host::store_lock::{Opened, StoreLock, Using};
use crate::items::func::take_results;
use crate::items::typed_func::TypedFunc;
use crate::store::{AsContextMut, Store, StoreContextMut, StoreInner};
use crate::value::val::Val;
use crate::value::wasm_values::{Places, WasmParams, WasmResults};
use anyhow::Result;
use ropewalk_abi::HostContext;
use ropewalk_runtime::embedder::{guarded, resume};
use ropewalk_runtime::run::pending;
use ropewalk_runtime::{PendingCall, Poller, Stop, Store as RuntimeStore};
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Mutex, MutexGuard};
use std::task::{Context, Poll};

/// Access to a store in which several calls can wait at the same time.
///
/// [`Store::run_concurrent`] and host functions of
/// [`Linker::func_wrap_concurrent`](crate::Linker::func_wrap_concurrent) get one. The
/// store can be used inside of [`with`](Accessor::with), and not across an `await`.
///
/// Threads can share an accessor. A thread that needs the store waits as long as another thread
/// uses it, or runs a host function that has not waited yet. Such a function must not block its
/// thread to wait for another one.
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
    lock: StoreLock,
    /// The context of the host function that runs and lets others use the store, or null.
    pub(crate) called: AtomicPtr<HostContext>,
    /// Calls that were dropped while the store was in use.
    cancelled: Mutex<Vec<PendingCall>>,
    limit: CallLimit,
    pub(crate) guests: Guests,
}

// SAFETY: one thread uses the store at a time, and its data can be sent to that thread.
unsafe impl<T: Send> Send for Accessor<T> {}
// SAFETY: as above.
unsafe impl<T: Send> Sync for Accessor<T> {}

opaque_debug!(impl<T> Accessor<T>);

/// Lets others use the store of a running host function, until this is dropped. The fields are
/// dropped in this order.
pub(crate) struct Open<'a> {
    _running: RunningFunction<'a>,
    _opened: Opened<'a>,
    _using: Option<Using<'a>>,
}

/// A host function with an accessor runs, until this is dropped.
struct RunningFunction<'a> {
    called: &'a AtomicPtr<HostContext>,
    before: *mut HostContext,
}

impl Drop for RunningFunction<'_> {
    fn drop(&mut self) {
        self.called.store(self.before, Ordering::Relaxed);
    }
}

impl<T> Accessor<T> {
    /// # Safety
    ///
    /// Nothing else may use the store as long as this lives.
    pub(crate) unsafe fn new(owner: *mut StoreInner<T>) -> Accessor<T> {
        // SAFETY: the caller's promise.
        let runtime = unsafe { StoreContextMut(&mut *owner).enter() };
        Accessor {
            owner,
            runtime,
            lock: StoreLock::default(),
            called: AtomicPtr::new(ptr::null_mut()),
            cancelled: Mutex::default(),
            limit: CallLimit::default(),
            guests: Guests::default(),
        }
    }

    /// Lets other code on this thread use the store, while the host function with this context
    /// runs.
    pub(crate) fn open(&self, context: &HostContext) -> Open<'_> {
        // This thread has the lock already, unless the function has an accessor of its own.
        let using = self.lock.lock();
        let opened = self.lock.open();
        let called = ptr::from_ref(context).cast_mut();
        let before = self.called.swap(called, Ordering::Relaxed);
        let running = RunningFunction { called: &self.called, before };
        Open { _running: running, _opened: opened, _using: using }
    }

    fn try_lock(&self) -> Option<Using<'_>> {
        let using = self.lock.lock()?;
        let cancelled = std::mem::take(&mut *self.cancelled());
        for pending in cancelled {
            // SAFETY: this thread has locked the store.
            unsafe { pending::cancel(self.runtime, pending) };
        }
        Some(using)
    }

    fn cancelled(&self) -> MutexGuard<'_, Vec<PendingCall>> {
        self.cancelled.lock().expect("nothing panics while it is locked")
    }

    fn lock(&self) -> Using<'_> {
        self.try_lock().expect("the store is in use: `Accessor::with` was called inside of itself")
    }

    /// Uses the store. References that the function makes end with it, unless they are
    /// [`Owned`](crate::Owned).
    ///
    /// # Panics
    ///
    /// If it is called inside of itself.
    pub fn with<R>(&self, f: impl FnOnce(StoreContextMut<'_, T>) -> R) -> R {
        let _using = self.lock();
        // SAFETY: this thread has locked the store.
        let mut scope = crate::RootScope::new(unsafe { self.store() });
        f(scope.as_context_mut())
    }

    /// Uses the store. References that the function makes last as long as the accessor.
    pub(crate) fn use_store<R>(&self, f: impl FnOnce(StoreContextMut<'_, T>) -> R) -> R {
        let _using = self.lock();
        // SAFETY: this thread has locked the store.
        f(unsafe { self.store() })
    }

    /// # Safety
    ///
    /// This thread must have locked the store, and must not use it otherwise as long as the result
    /// lives.
    pub(crate) unsafe fn store(&self) -> StoreContextMut<'_, T> {
        // SAFETY: the caller's promise.
        StoreContextMut(unsafe { &mut *self.owner })
    }

    /// Limits how many calls of this accessor run or wait at the same time. The others begin
    /// later, in the order in which they were first polled.
    pub fn set_limit(&self, limit: usize) {
        self.limit.set(limit);
    }
}

impl<T> Drop for Accessor<T> {
    fn drop(&mut self) {
        drop(self.try_lock());
    }
}

impl<T: Send + 'static> Store<T> {
    /// Runs concurrent calls. While one of them waits for its host functions, the others run. A
    /// call that computes and never waits keeps the others from running, unless there is a
    /// [time slice](Store::set_time_slice).
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
    /// Dropping a call cancels it, and frees its stacks. A trap or an error ends only its own
    /// call. References among results last until this future ends.
    pub async fn run_concurrent<R>(&mut self, f: impl AsyncFnOnce(&Accessor<T>) -> R) -> R {
        let mut scope = crate::RootScope::new(self);
        let accessor = {
            let store = scope.as_context_mut();
            // SAFETY: this future borrows the store.
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

struct ConcurrentCall<'a, T> {
    accessor: &'a Accessor<T>,
    call: AsyncCall,
}

impl<'a, T> ConcurrentCall<'a, T> {
    fn new(accessor: &'a Accessor<T>) -> ConcurrentCall<'a, T> {
        // SAFETY: the call uses the store only while its thread has locked it.
        let call = unsafe { AsyncCall::new(accessor.runtime) };
        accessor.guests.begin_call();
        ConcurrentCall { accessor, call }
    }

    fn begin(
        &mut self,
        context: &mut Context<'_>,
        begin: impl FnOnce(StoreContextMut<'_, T>, Poller) -> Result<u64, Stop>,
    ) -> Poll<Result<(u64, Using<'a>)>> {
        let using = self.accessor.lock();
        let mut polling = polling(context, ptr::from_ref(self.accessor).cast());
        // SAFETY: this thread has locked the store.
        let began = begin(unsafe { self.accessor.store() }, &mut polling);
        let ended = match began {
            Ok(word) => Poll::Ready(Ok(word)),
            Err(stop) => self.call.stopped(stop),
        };
        self.ended(ended, using, context)
    }

    /// Keeps the store locked if the call has results. Otherwise others can use it.
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

    /// Continues the call if its pending host call is ready.
    fn poll(&mut self, context: &mut Context<'_>) -> Poll<Result<(u64, Using<'a>)>> {
        // Others can use the store while the host call is polled.
        if self.call.poll_pending(context).is_pending() {
            return Poll::Pending;
        }
        let using = self.accessor.lock();
        let mut polling = polling(context, ptr::from_ref(self.accessor).cast());
        // SAFETY: this thread has locked the store.
        let ended = unsafe { self.call.resume(&mut polling) };
        self.ended(ended, using, context)
    }
}

impl<T> Drop for ConcurrentCall<'_, T> {
    fn drop(&mut self) {
        self.accessor.guests.end_call();
        let Some(mut pending) = self.call.take_pending() else { return };
        // The future may use the store when it is dropped.
        let future = pending.give_up();
        let dropped = guarded(|| drop(future));
        match self.accessor.try_lock() {
            // SAFETY: this thread has locked the store.
            Some(_using) => unsafe { pending::cancel(self.accessor.runtime, pending) },
            None => self.accessor.cancelled().push(pending),
        }
        dropped.unwrap_or_else(resume);
    }
}

impl<T> Accessor<T> {
    /// Runs a call to its end while others run. Returns the word that the function returned, if it
    /// returns one. The store stays locked until the results are read: another user of the store
    /// could collect, and the collector does not know the results.
    pub(crate) async fn run_call(
        &self,
        begin: impl FnOnce(StoreContextMut<'_, T>, Poller) -> Result<u64, Stop>,
    ) -> Result<(u64, Using<'_>)> {
        let mut call = ConcurrentCall::new(self);
        let mut begin = Some(begin);
        poll_fn(|context| match begin.take() {
            Some(begin) => call.begin(context, begin),
            None => call.poll(context),
        })
        .await
    }

    /// Waits until the [limit](Self::set_limit) admits one more call.
    async fn permit(&self) -> Permit<'_> {
        let mut permit = Permit::new(&self.limit);
        poll_fn(|context| permit.poll(context)).await;
        permit
    }
}

impl<Params: WasmParams, Results: WasmResults> TypedFunc<Params, Results> {
    /// Calls the function. Other calls run in the same store while it waits for host functions.
    /// [`Store::run_concurrent`](crate::Store::run_concurrent) has an example.
    pub async fn call_concurrent<T: Send>(
        &self,
        accessor: &Accessor<T>,
        params: Params,
    ) -> Result<Results> {
        let _permit = accessor.permit().await;
        let mut values = Places::<Params, Results>::EMPTY;
        // SAFETY: the places are pinned with the future.
        let begin = |store: StoreContextMut<'_, T>, poller| unsafe {
            self.begin(store, params, values.as_mut_ptr(), poller)
        };
        let (word, _using) = accessor.run_call(begin).await?;
        // SAFETY: the store is locked since the call has ended, and the call has written its
        // results.
        unsafe {
            let runtime = &mut (*accessor.owner).runtime;
            Ok(self.results(runtime, values.as_mut_ptr(), word))
        }
    }
}

impl Func {
    /// Calls the function. Other calls run in the same store while it waits for host functions.
    pub async fn call_concurrent<T: Send>(
        &self,
        accessor: &Accessor<T>,
        arguments: &[Val],
        results: &mut [Val],
    ) -> Result<()> {
        let _permit = accessor.permit().await;
        let mut places = None;
        let begin = |store: StoreContextMut<'_, T>, poller| {
            let (_, values) = places.insert(self.places(&store, arguments, results)?);
            // SAFETY: the places are pinned with the future.
            unsafe { self.begin(store, values, poller) }
        };
        let (_, _using) = accessor.run_call(begin).await?;
        let (ty, values) = places.expect("the call has begun");
        // SAFETY: the store is locked since the call has ended.
        take_results(&mut unsafe { accessor.store() }, &ty, &values, results);
        Ok(())
    }
}
