//! Many calls at once in one store.

use crate::Func;
use crate::deadlock::Guests;
use crate::snapshot::{self, Snapshot};
use crate::snapshot_options::SnapshotOptions;
use crate::store::{AsContextMut, Store, StoreContextMut, StoreInner};
use crate::typed::TypedFunc;
use crate::val::Val;
use crate::waiting::{WaitingCall, polling};
use crate::wasm_values::{Places, WasmParams, WasmResults};
use anyhow::{Result, ensure};
use ropewalk_abi::HostContext;
use ropewalk_runtime::{Pending, Stop, Store as RuntimeStore, pending};
use std::collections::VecDeque;
use std::ffi::c_void;
use std::future::{Future as _, poll_fn};
use std::pin::pin;
use std::ptr::{self, NonNull};
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};
use std::task::{Context, Poll, Waker};

/// Access to a store in which several calls wait at the same time.
///
/// [`Store::run_concurrent`] and host functions of
/// [`Linker::func_wrap_concurrent`](crate::Linker::func_wrap_concurrent) get one. The
/// store can be used inside of [`with`](Accessor::with), and not across an `await`.
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
    /// Which thread uses the store, or zero.
    user: AtomicUsize,
    /// What the host function was called with that runs, and lets others use the store; or null.
    called: AtomicPtr<HostContext>,
    /// Calls that were dropped while somebody used the store.
    given_up: Mutex<Vec<Pending>>,
    admission: Mutex<Admission>,
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

/// Who may begin a call.
#[derive(Debug)]
struct Admission {
    limit: usize,
    running: usize,
    /// Those that wait for their turn, in order.
    queue: VecDeque<(u64, Waker)>,
    next: u64,
}

impl Admission {
    /// Admits a call, or lets it wait. It has a number once it has waited.
    fn poll(&mut self, number: &mut Option<u64>, context: &Context<'_>) -> Poll<()> {
        let is_next = match number {
            None => self.queue.is_empty(),
            Some(number) => self.queue.front().is_some_and(|(first, _)| first == number),
        };
        if is_next && self.running < self.limit {
            self.running += 1;
            if number.take().is_some() {
                self.queue.pop_front();
            }
            self.wake();
            return Poll::Ready(());
        }
        let waker = context.waker().clone();
        match *number {
            None => {
                self.next += 1;
                *number = Some(self.next);
                self.queue.push_back((self.next, waker));
            }
            Some(number) => {
                let mine = self.queue.iter_mut().find(|(other, _)| *other == number);
                mine.expect("it is in the queue").1 = waker;
            }
        }
        Poll::Pending
    }

    /// Has the first that waits look again.
    fn wake(&self) {
        if let Some((_, waker)) = self.queue.front()
            && self.running < self.limit
        {
            waker.wake_by_ref();
        }
    }
}

/// The place of a call among those that are admitted or wait for that.
struct Turn<'a> {
    admission: &'a Mutex<Admission>,
    number: Option<u64>,
    is_admitted: bool,
}

impl Turn<'_> {
    fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        let mut admission = self.admission.lock().expect("nobody panics with it");
        let polled = admission.poll(&mut self.number, context);
        self.is_admitted = polled.is_ready();
        polled
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut admission = self.admission.lock().expect("nobody panics with it");
        if self.is_admitted {
            admission.running -= 1;
        }
        if let Some(number) = self.number {
            admission.queue.retain(|(other, _)| *other != number);
        }
        admission.wake();
    }
}

/// Something that tells this thread from others.
fn this_thread() -> usize {
    thread_local!(static HERE: u8 = const { 0 });
    HERE.with(|here| ptr::from_ref(here) as usize)
}

/// Somebody uses the store, until this is dropped.
pub(crate) struct Using<'a>(&'a AtomicUsize);

impl Drop for Using<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

/// A host function, whose caller uses the store, lets others use it.
pub(crate) struct Open<'a>(Option<(&'a AtomicUsize, Calls<'a>)>);

impl Drop for Open<'_> {
    fn drop(&mut self) {
        if let Some((user, _)) = self.0 {
            acquire(user).expect("nobody of this thread has kept it");
        }
    }
}

/// A host function runs that has an accessor, until this is dropped.
pub(crate) struct Calls<'a> {
    called: &'a AtomicPtr<HostContext>,
    before: *mut HostContext,
}

impl Drop for Calls<'_> {
    fn drop(&mut self) {
        self.called.store(self.before, Ordering::Relaxed);
    }
}

/// Begins to use a store, unless this thread does already.
fn acquire(user: &AtomicUsize) -> Option<()> {
    let me = this_thread();
    loop {
        match user.compare_exchange_weak(0, me, Ordering::Acquire, Ordering::Relaxed) {
            Ok(_) => return Some(()),
            Err(other) if other == me => return None,
            // Nobody keeps it for longer than a call that does not wait.
            Err(_) => std::thread::yield_now(),
        }
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
        let admission =
            Admission { limit: usize::MAX, running: 0, queue: VecDeque::new(), next: 0 };
        Accessor {
            owner,
            runtime,
            user: AtomicUsize::new(0),
            called: AtomicPtr::new(ptr::null_mut()),
            given_up: Mutex::default(),
            admission: Mutex::new(admission),
            guests: Guests::default(),
        }
    }

    /// Lets others use the store of an accessor, if it is one, while a host function of
    /// a call that is polled with it runs.
    ///
    /// # Safety
    ///
    /// It must be null or an accessor of this type, whose store this thread uses, and which
    /// outlives what is returned. The context must be that of the function.
    pub(crate) unsafe fn open<'a>(accessor: *const c_void, context: &HostContext) -> Open<'a>
    where
        T: 'a,
    {
        // SAFETY: the caller's promise.
        let accessor = unsafe { accessor.cast::<Accessor<T>>().as_ref::<'a>() };
        Open(accessor.map(|accessor| {
            let calls = accessor.calls(context);
            accessor.user.store(0, Ordering::Release);
            (&accessor.user, calls)
        }))
    }

    /// Notes that a host function runs, which was called with a context.
    pub(crate) fn calls(&self, context: &HostContext) -> Calls<'_> {
        let called = ptr::from_ref(context).cast_mut();
        let before = self.called.swap(called, Ordering::Relaxed);
        Calls { called: &self.called, before }
    }

    fn try_lock(&self) -> Option<Using<'_>> {
        acquire(&self.user)?;
        let using = Using(&self.user);
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

    /// Writes the store down with all calls that wait in it. In the snapshot, each waits for the
    /// results of the host function that it waits for here
    /// ([`Restored::calls`](crate::Restored::calls)); here all go on.
    ///
    /// A host function that has been given the accessor can call this too. If it has not waited
    /// yet, and so runs in its call, that call is the last one in the snapshot. Frames of the host
    /// cannot be written: it is refused where another host function runs outside of that, and
    /// where a call waits for a [limiter](crate::Store::limiter_async).
    ///
    /// The store is written as it is now. Calls whose futures were dropped are given up, so it
    /// must be taken while they are there:
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let engine = Engine::new(Config::new().snapshots(true))?;
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "answer" (func $answer (param i32) (result i32)))
    ///       (func (export "run") (param i32) (result i32)
    ///         (i32.add (local.get 0) (call $answer (i32.mul (local.get 0) (i32.const 10))))))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// // Nobody answers here.
    /// linker.func_wrap_concurrent("host", "answer", |_: &Accessor<()>, (_,): (i32,)| {
    ///     Box::pin(std::future::pending::<i32>())
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
    /// let snapshot = store
    ///     .run_concurrent(async |accessor| {
    ///         let calls = async {
    ///             tokio::join!(run.call_concurrent(accessor, 1), run.call_concurrent(accessor, 2))
    ///         };
    ///         tokio::select! {
    ///             biased;
    ///             _ = calls => unreachable!("nobody answers"),
    ///             snapshot = async { accessor.snapshot(&SnapshotOptions::new()) } => snapshot,
    ///         }
    ///     })
    ///     .await?;
    ///
    /// let mut restored = snapshot.restore(&linker, &[module], ())?;
    /// let calls = std::mem::take(&mut restored.calls);
    /// assert_eq!(calls.len(), 2);
    /// for call in calls {
    ///     assert_eq!(call.import(), Some(("host", "answer")));
    ///     let asked = call.arguments().unwrap()[0].i32().unwrap();
    ///     let results = call.resume(&mut restored.store, &[Val::I32(asked * 10)])?;
    ///     assert_eq!(results[0].i32(), Some(asked / 10 + asked * 10));
    /// }
    /// # Ok(()) }
    /// ```
    ///
    /// # Panics
    ///
    /// If it is called inside of [`with`](Accessor::with).
    pub fn snapshot(&self, options: &SnapshotOptions) -> Result<Snapshot> {
        self.use_store(|mut store| {
            let called = self.called.load(Ordering::Relaxed);
            snapshot::take_in(&mut store, options, called)
        })
    }

    /// Has at most so many calls of this accessor run or wait at the same time. Others
    /// wait for their turn, in the order in which they were first polled.
    pub fn set_limit(&self, limit: usize) {
        let mut admission = self.admission.lock().expect("nobody panics with it");
        admission.limit = limit;
        admission.wake();
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
    call: WaitingCall,
}

impl<'a, T> ConcurrentCall<'a, T> {
    pub fn new(accessor: &'a Accessor<T>) -> ConcurrentCall<'a, T> {
        // SAFETY: who has the lock uses the store.
        let call = unsafe { WaitingCall::new(accessor.runtime) };
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
        ended.map_ok(|word| (word, using))
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
        unsafe { self.call.go_on(&mut polling) }.map_ok(|word| (word, using))
    }
}

impl<T> Drop for ConcurrentCall<'_, T> {
    fn drop(&mut self) {
        self.accessor.guests.end_call();
        let Some(mut pending) = self.call.take_pending() else { return };
        // What it waits for may use the store when it is dropped.
        pending.waiting.give_up();
        match self.accessor.try_lock() {
            // SAFETY: this thread has the store.
            Some(_using) => unsafe { pending::cancel(self.accessor.runtime, pending) },
            None => self.accessor.given_up.lock().expect("nobody panics with it").push(pending),
        }
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
        let mut turn = Turn { admission: &accessor.admission, number: None, is_admitted: false };
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
        let mut turn = Turn { admission: &accessor.admission, number: None, is_admitted: false };
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
