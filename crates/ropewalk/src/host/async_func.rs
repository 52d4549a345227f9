//! Async host functions.
//!
//! The host function polls its future at once. A future that is ready costs what any other
//! function does. If it is not ready, the call is left as a
//! [pending host call](ropewalk_runtime::PendingCall), and the future of the call into WebAssembly
//! polls it.

use crate::host::caller::Caller;
use crate::host::concurrent::Accessor;
use crate::host::entry::{ClosureOf, HostCode, owner};
use crate::host::pending_call::{ValuesFuture, cannot_wait};
use crate::host::signature::{Signature, Typed};
use crate::host::{WasmRet, failure};
use crate::store::StoreInner;
use crate::store::future_memory::{FutureSlot, HostCallFuture, StoredFuture};
use crate::value::val::Val;
use anyhow::{Error, Result, anyhow};
use ropewalk_abi::builtin::{END, Outcome};
use ropewalk_abi::{HostContext, RawVal};
use ropewalk_runtime::{PendingCall, Polling, Scope, Store as RuntimeStore};
use std::ffi::c_void;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr;
use std::task::{Context, Poll, Waker};

type BoxFuture<'a, R> = Pin<Box<dyn Future<Output = R> + Send + 'a>>;

/// An `async` function of the host, or an `async` closure that captures nothing, for
/// [`Linker::func_wrap_async_fn`](crate::Linker::func_wrap_async_fn): it takes a [`Caller`] and a
/// tuple of parameters, and its future is `Send`.
///
/// ```
/// use ropewalk::*;
///
/// /// Defines an operation on two numbers.
/// fn define<F>(linker: &mut Linker<()>, name: &str, func: F) -> Result<()>
/// where
///     F: for<'a> AsyncFunc<'a, (), (i32, i32), Output = i32> + 'static,
/// {
///     linker.func_wrap_async_fn("numbers", name, func)?;
///     Ok(())
/// }
///
/// async fn add(_: Caller<'_, ()>, (a, b): (i32, i32)) -> i32 {
///     a + b
/// }
///
/// let mut linker = Linker::new(&Engine::default());
/// define(&mut linker, "add", add)?;
/// define(&mut linker, "subtract", async |_: Caller<'_, ()>, (a, b): (i32, i32)| a - b)?;
/// # Ok::<(), Error>(())
/// ```
pub trait AsyncFunc<'a, T: 'a, Params>: Send + Sync {
    /// What it returns.
    type Output;
    #[doc(hidden)]
    type Future: Future<Output = Self::Output> + Send + 'a;

    #[doc(hidden)]
    fn start(&self, caller: Caller<'a, T>, params: Params) -> Self::Future;
}

impl<'a, T: 'a, Params, F, G> AsyncFunc<'a, T, Params> for F
where
    F: Fn(Caller<'a, T>, Params) -> G + Send + Sync,
    G: Future + Send + 'a,
{
    type Output = G::Output;
    type Future = G;

    #[inline]
    fn start(&self, caller: Caller<'a, T>, params: Params) -> G {
        self(caller, params)
    }
}

/// The future of a host function, before its first poll.
pub(crate) struct Started<T, F> {
    future: F,
    /// What the future may have borrowed. It is dropped after the future.
    accessor: Option<Box<Accessor<T>>>,
    /// Whether the future borrows the store as long as it lives.
    holds_store: bool,
}

impl<T, F> Started<T, F> {
    fn with_store(future: F) -> Started<T, F> {
        Started { future, accessor: None, holds_store: true }
    }
}

/// A kind of async functions: what a closure gets, and where its future is.
pub(crate) trait Start<T, F, Params, Ret> {
    type Future: HostCallFuture<Output = Ret>;

    /// Begins a call.
    ///
    /// # Safety
    ///
    /// The context must belong to the function and to the store. The store must outlive the
    /// future, and nothing else may use it while the future is polled. `shared` must be null or
    /// the [`Accessor`] that the call is polled with.
    unsafe fn start(
        func: &'static F,
        store: *mut StoreInner<T>,
        context: &HostContext,
        params: Params,
        shared: *const c_void,
    ) -> Started<T, Self::Future>;
}

/// What the future of a host function returns: its results, or an error.
pub(crate) trait IntoValues<V>: 'static {
    fn into_values(self) -> Result<V>;
}

impl<R: WasmRet + 'static> IntoValues<R::Values> for R {
    fn into_values(self) -> Result<R::Values> {
        WasmRet::into_values(self)
    }
}

impl IntoValues<Vec<Val>> for Result<Vec<Val>> {
    fn into_values(self) -> Result<Vec<Val>> {
        self
    }
}

/// The code of an async function: its kind `K`, closure `F` and signature `S`, and what its future
/// returns.
pub(crate) struct Async<T, K, F, S, Ret>(PhantomData<(T, K, F, S, Ret)>);

pub(crate) type AsyncTyped<T, K, F, Params, Ret> =
    Async<T, K, F, Typed<Params, <Ret as WasmRet>::Values>, Ret>;

impl<T, K, F, S, Ret> HostCode for Async<T, K, F, S, Ret>
where
    T: Send + 'static,
    K: Start<T, F, S::Params, Ret>,
    F: Send + Sync + 'static,
    S: Signature<Values: Send + 'static>,
    Ret: IntoValues<S::Values>,
{
    type Data = T;
    type Signature = S;
    type Func = F;
    type Left = Outcome;

    #[inline]
    unsafe fn call(
        closure: &'static ClosureOf<Self>,
        context: &HostContext,
        values: *mut RawVal,
        scope: usize,
    ) -> Result<Option<Outcome>> {
        // SAFETY: the caller's promise.
        unsafe {
            let owner = owner::<T>(context);
            let runtime = &mut *(*owner).runtime;
            let poller = runtime.running.poller();
            let shared = poller.as_ref().map_or(ptr::null(), |polling| polling.accessor);
            let params = S::take(&closure.signature, runtime, context, values);
            // Locals are dropped in reverse order. The future may use the store by its accessor
            // until it is dropped, and an open accessor is borrowed.
            let Started { future: started, accessor, holds_store } =
                K::start(&closure.func, owner, context, params, shared);
            // A future that does not hold the store may use it, like others on this thread.
            let open = (!holds_store).then(|| match accessor.as_deref() {
                Some(own) => own.open(context),
                None => (*shared.cast::<Accessor<T>>()).open(context),
            });
            let mut future = started;
            let polled = match poller.as_mut() {
                Some(Polling { context, .. }) => Pin::new(&mut future).poll(&mut **context),
                None => Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())),
            };
            match polled {
                Poll::Ready(output) => {
                    future.end(&raw mut (*owner).future_memory);
                    let output = output.into_values();
                    drop(open);
                    drop(accessor);
                    let runtime = &(*owner).runtime;
                    S::put(&closure.signature, output?, context, runtime, values)?;
                    Ok(None)
                }
                Poll::Pending if poller.is_null() => Err(cannot_wait()),
                Poll::Pending if holds_store && !shared.is_null() => Err(anyhow!(
                    "a host function that borrows the store must wait, but other calls of \
                     `run_concurrent` need the store: define it with `func_wrap_concurrent`"
                )),
                Poll::Pending => {
                    drop(open);
                    let runtime = &mut *(*owner).runtime;
                    let started = Started { future, accessor, holds_store };
                    Ok(Some(leave::<Self, _, _, _>(
                        runtime, closure, context, values, started, scope,
                    )))
                }
            }
        }
    }

    fn left(left: Outcome) -> Outcome {
        left
    }

    #[cold]
    unsafe fn fail(
        runtime: &mut RuntimeStore,
        context: &HostContext,
        _: *const RawVal,
        error: Error,
    ) -> Outcome {
        // SAFETY: the caller's promise.
        unsafe { failure::fail(runtime, context, error) }
    }
}

/// Leaves a call whose future is not ready.
///
/// # Safety
///
/// The context must belong to the function, and the values be its arguments.
#[cold]
unsafe fn leave<C: HostCode, T: Send + 'static, G, Ret>(
    runtime: &mut RuntimeStore,
    closure: &'static ClosureOf<C>,
    context: &HostContext,
    values: *const RawVal,
    started: Started<T, G>,
    scope: usize,
) -> Outcome
where
    C::Signature: Signature<Values: Send + 'static>,
    G: HostCallFuture<Output = Ret>,
    Ret: IntoValues<<C::Signature as Signature>::Values>,
{
    let Started { future, accessor, holds_store } = started;
    // The future may have borrowed the accessor, which is dropped after it.
    let mut future = (future, accessor);
    let future = ValuesFuture::any(
        context,
        move |context| {
            let future = &mut future;
            Pin::new(&mut future.0).poll(context).map(Ret::into_values)
        },
        // SAFETY: the context belongs to the function; there is room for the results of any.
        |values, context, runtime, places| unsafe {
            let closure = &*context.data.cast::<ClosureOf<C>>();
            C::Signature::put(&closure.signature, values, context, runtime, places)
        },
    );
    // If the future does not hold the store, other calls run while it waits. Their references
    // come and go, so those of this call end here.
    let kept = if holds_store { Scope::beginning_at(scope) } else { Scope::NONE };
    let pending = PendingCall::polled(future, kept);
    let left = C::Signature::left_call(&closure.signature);
    // SAFETY: the caller's promise.
    let outcome = unsafe { runtime.leave_host_call(pending, left, context, values) };
    if !holds_store || outcome.ended == END {
        runtime.end_scope(scope);
    }
    outcome
}

/// The closure gets a [`Caller`] and returns a box.
pub(crate) struct WithCaller;
/// The function gets a [`Caller`], and its future is not boxed.
pub(crate) struct Unboxed;
/// The closure gets an [`Accessor`].
pub(crate) struct WithAccessor;
/// The closure gets a [`Caller`], and slices of values.
pub(crate) struct WithSlices;

impl<T, F, Params, Ret> Start<T, F, Params, Ret> for WithCaller
where
    T: Send + 'static,
    F: for<'a> Fn(Caller<'a, T>, Params) -> Box<dyn Future<Output = Ret> + Send + 'a>,
    Ret: 'static,
{
    type Future = BoxFuture<'static, Ret>;

    unsafe fn start(
        func: &'static F,
        store: *mut StoreInner<T>,
        context: &HostContext,
        params: Params,
        _: *const c_void,
    ) -> Started<T, Self::Future> {
        // SAFETY: the caller's promise.
        let caller = unsafe { Caller::new(store, context) };
        Started::with_store(Box::into_pin(func(caller, params)))
    }
}

impl<T, F, Params, Ret> Start<T, F, Params, Ret> for Unboxed
where
    T: Send + 'static,
    F: for<'a> AsyncFunc<'a, T, Params, Output = Ret> + 'static,
{
    type Future = StoredFuture<<F as AsyncFunc<'static, T, Params>>::Future>;

    #[inline]
    unsafe fn start(
        func: &'static F,
        store: *mut StoreInner<T>,
        context: &HostContext,
        params: Params,
        _: *const c_void,
    ) -> Started<T, Self::Future> {
        // SAFETY: the caller's promise. The memory is taken before the caller has the store.
        let (slot, caller) =
            unsafe { (FutureSlot::new(&mut (*store).future_memory), Caller::new(store, context)) };
        Started::with_store(slot.put(func.start(caller, params)))
    }
}

impl<T, F, Params, Ret> Start<T, F, Params, Ret> for WithAccessor
where
    T: Send + 'static,
    F: for<'a> Fn(&'a Accessor<T>, Params) -> Pin<Box<dyn Future<Output = Ret> + Send + 'a>>,
    Ret: 'static,
{
    type Future = BoxFuture<'static, Ret>;

    unsafe fn start(
        func: &'static F,
        store: *mut StoreInner<T>,
        context: &HostContext,
        params: Params,
        shared: *const c_void,
    ) -> Started<T, Self::Future> {
        // SAFETY: the caller's promise. A shared accessor outlives the calls that are polled with
        // it. An own one is dropped after the future.
        unsafe {
            let own = shared.is_null().then(|| Box::new(Accessor::new(store)));
            let accessor = own.as_deref().map_or(shared.cast(), ptr::from_ref);
            let _open = (*accessor).open(context);
            let future = func(&*accessor, params);
            Started { future, accessor: own, holds_store: false }
        }
    }
}

impl<T, F> Start<T, F, (Vec<Val>, Vec<Val>), Result<Vec<Val>>> for WithSlices
where
    T: Send + 'static,
    F: for<'a> Fn(
            Caller<'a, T>,
            &'a [Val],
            &'a mut [Val],
        ) -> Box<dyn Future<Output = Result<()>> + Send + 'a>
        + Sync,
{
    type Future = BoxFuture<'static, Result<Vec<Val>>>;

    unsafe fn start(
        func: &'static F,
        store: *mut StoreInner<T>,
        context: &HostContext,
        (arguments, mut results): (Vec<Val>, Vec<Val>),
        _: *const c_void,
    ) -> Started<T, Self::Future> {
        // SAFETY: the caller's promise.
        let caller = unsafe { Caller::new(store, context) };
        Started::with_store(Box::pin(async move {
            Box::into_pin(func(caller, &arguments, &mut results)).await?;
            Ok(results)
        }))
    }
}
