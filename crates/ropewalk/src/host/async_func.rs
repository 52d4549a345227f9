//! Functions of the host that are futures.
//!
//! The future is polled at once, in the host function. If it is ready, all is as for
//! any other function. If not, the call is left, and whoever polls the call of
//! WebAssembly polls the future.

use crate::engine::Engine;
use crate::host::caller::{Called, Caller};
use crate::host::concurrent::Accessor;
use crate::host::later::cannot_wait;
use crate::host::pending::ValuesFuture;
use crate::host::{
    self, HostClosure, HostEntry, RegisterEntry, Registers, WasmRet, fail, importer,
};
use crate::store::future_memory::{Going, Nested, Room};
use crate::store::{StoreContextMut, StoreInner};
use crate::value::val::Val;
use crate::value::wasm_values::{WasmParams, WasmResults, has_few_words};
use anyhow::{Result, anyhow};
use ropewalk_abi::builtin::{END, Outcome};
use ropewalk_abi::signature::{WORDS, in_registers};
use ropewalk_abi::{FuncType, HostContext, LeftCall, RawVal, ValType};
use ropewalk_runtime::embedder::guarded;
use ropewalk_runtime::{
    HostFunction, PendingCall, Polling, Scope, Store as RuntimeStore, TypeRegistry,
};
use std::ffi::c_void;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::ptr;
use std::sync::Arc;
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

/// A future of a host function, and what to do with its output.
struct Started<T, F> {
    future: F,
    /// What the future may have borrowed, which is dropped after it.
    accessor: Option<Box<Accessor<T>>>,
    /// Whether it has the store borrowed as long as it lives.
    holds_store: bool,
}

/// What a kind of functions does.
trait AsyncClosure<T>: Send + Sync + 'static {
    type Output: 'static;
    type Future: Going<Output = Self::Output>;
    /// What becomes of the output: values that are put into places.
    type Values: Send + 'static;

    fn ty(&self) -> FuncType;

    /// How many parameters there are.
    fn count(&self) -> usize;

    /// Which of them are floats, as bits.
    fn floats(&self) -> u64;

    /// Its results, if a call waits for them.
    fn left_call(&self) -> LeftCall;

    /// Begins a call.
    ///
    /// # Safety
    ///
    /// The values must be arguments of its type, and the context be its own. The store must
    /// outlive the future, and nobody else use it while that is polled.
    unsafe fn start(
        &'static self,
        store: StoreContextMut<'static, T>,
        context: &HostContext,
        values: *const RawVal,
        shared: *const c_void,
    ) -> Started<T, Self::Future>;

    fn values(output: Self::Output) -> Result<Self::Values>;

    /// Puts values into places.
    ///
    /// # Safety
    ///
    /// There must be room for them.
    unsafe fn put(
        &self,
        values: Self::Values,
        context: &HostContext,
        runtime: &RuntimeStore,
        places: *mut RawVal,
    ) -> Result<()>;

    /// As [`HostFunction::results_fit`].
    fn results_fit() -> fn(&TypeRegistry, &[ValType], &[ValType]) -> bool;
}

/// Code that calls a closure, with values in an array.
unsafe extern "C" fn entry<T: Send + 'static, C: AsyncClosure<T>>(
    context: *const HostContext,
    values: *mut RawVal,
) -> Outcome {
    // SAFETY: the trampoline passes the context of this function, and values of its
    // type; nothing else uses the store while its host function runs. The closure lives
    // as long as the store, and so longer than what is started.
    unsafe {
        let context = &*context;
        let closure: &'static C = &*context.data.cast::<C>();
        let runtime = RuntimeStore::from_context(context.store);
        let owner = runtime.owner().cast::<StoreInner<T>>();
        let scope = runtime.begin_scope();
        let polled = guarded(|| first_poll(closure, context, values, scope));
        let runtime = &mut *(*owner).runtime;
        let outcome = match polled {
            Ok(Ok(None)) => Outcome::returned(0),
            Ok(Ok(Some(left))) => return left,
            failed => fail(runtime, context, failed.map(|polled| polled.map(|_| ()))),
        };
        runtime.end_scope(scope);
        outcome
    }
}

/// The same, with values in registers.
unsafe extern "C" fn entry_in_registers<T: Send + 'static, C: AsyncClosure<T>>(
    context: *const HostContext,
    a: u64,
    b: u64,
    c: u64,
    d: u64,
    w: f64,
    x: f64,
    y: f64,
    z: f64,
) -> Outcome {
    let registers = Registers { integers: [a, b, c, d], floats: [w, x, y, z] };
    // SAFETY: as there, and the type takes and gives few enough words.
    unsafe {
        let closure = &*(*context).data.cast::<C>();
        let (count, floats) = (closure.count().min(WORDS), closure.floats());
        registers.with_array(count, floats, |values| entry::<T, C>(context, values))
    }
}

/// Starts a call, and polls it once. If it is ready, its results are in `values`, and
/// nothing is returned; else what becomes of the call, whose scope began somewhere.
///
/// # Safety
///
/// As for `entry`.
unsafe fn first_poll<T: Send + 'static, C: AsyncClosure<T>>(
    closure: &'static C,
    context: &HostContext,
    values: *mut RawVal,
    scope: usize,
) -> Result<Option<Outcome>> {
    // SAFETY: the caller's promise.
    unsafe {
        let runtime = RuntimeStore::from_context(context.store);
        let owner = runtime.owner().cast::<StoreInner<T>>();
        let poller = runtime.poller();
        let shared = poller.as_ref().map_or(ptr::null(), |polling| polling.accessor);
        let store = StoreContextMut(&mut *owner);
        // What is dropped first stands last: the future may use the store by its accessor until
        // it is gone, and who has opened an accessor has it borrowed.
        let Started { future: started, accessor, holds_store } =
            closure.start(store, context, values, shared);
        // What does not have the store may use it, as others may that run on this thread.
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
                future.end(&raw mut (*owner).nest);
                let output = C::values(output);
                drop(open);
                drop(accessor);
                closure.put(output?, context, &(*owner).runtime, values)?;
                Ok(None)
            }
            Poll::Pending if poller.is_null() => Err(cannot_wait()),
            Poll::Pending if holds_store && !shared.is_null() => Err(anyhow!(
                "a host function that is not ready has the store, which other calls use \
                 meanwhile: define it with `func_wrap_concurrent`"
            )),
            Poll::Pending => {
                drop(open);
                let runtime = &mut *(*owner).runtime;
                let started = Started { future, accessor, holds_store };
                Ok(Some(wait::<T, C>(runtime, closure, context, values, started, scope)))
            }
        }
    }
}

/// Leaves a call whose future is not ready.
///
/// # Safety
///
/// The context must be that of the function, and the values be its arguments.
#[cold]
unsafe fn wait<T: Send + 'static, C: AsyncClosure<T>>(
    runtime: &mut RuntimeStore,
    closure: &'static C,
    context: &HostContext,
    values: *const RawVal,
    started: Started<T, C::Future>,
    scope: usize,
) -> Outcome {
    let Started { future, accessor, holds_store } = started;
    // What the future has borrowed goes along, and is dropped after it.
    let mut going = (future, accessor);
    let rest = ValuesFuture::any(
        context,
        move |context| {
            let going = &mut going;
            Pin::new(&mut going.0).poll(context).map(C::values)
        },
        // SAFETY: the context is that of the function; there is room for the results of any.
        |values, context, runtime, places| unsafe {
            (*context.data.cast::<C>()).put(values, context, runtime, places)
        },
    );
    // References of a function that does not have the store end where it returns, as
    // those of other calls may come and go while it waits.
    let kept = if holds_store { Scope::beginning_at(scope) } else { Scope::NONE };
    let waiting = PendingCall::polled(rest, kept);
    // SAFETY: the caller's promise.
    let outcome = unsafe { runtime.wait_for_host(waiting, closure.left_call(), context, values) };
    if !holds_store || outcome.ended == END {
        runtime.end_scope(scope);
    }
    outcome
}

fn host_function<T: Send + 'static, C: AsyncClosure<T>>(
    engine: &Engine,
    closure: C,
) -> Result<Arc<HostFunction>> {
    let ty = closure.ty();
    let entry = match in_registers(&ty) {
        true => entry_in_registers::<T, C> as RegisterEntry as *const c_void,
        false => entry::<T, C> as HostEntry as *const c_void,
    };
    let results_fit = C::results_fit();
    host::host_function(engine, HostClosure { ty, entry, results_fit, data: Box::new(closure) })
}

// ---- functions with Rust's types

struct Wrapped<F, Kind, Params, Ret>(F, PhantomData<fn(Kind, Params) -> Ret>);

/// The function gets a [`Caller`].
struct WithCaller;
/// The function gets a [`Caller`], and its future is not boxed.
struct Unboxed;
/// The function gets an [`Accessor`].
struct WithAccessor;

fn typed<Params: WasmResults, Ret: WasmRet>() -> FuncType {
    FuncType::new(Params::types(), <Ret::Values as WasmParams>::types())
}

fn left_call<Params: WasmParams, Results: WasmParams>() -> LeftCall {
    let in_registers = has_few_words::<Params, Results>();
    LeftCall::new(Params::COUNT, Results::COUNT, in_registers)
}

macro_rules! typed_closure {
    () => {
        type Output = Ret;
        type Values = Ret::Values;

        fn ty(&self) -> FuncType {
            typed::<Params, Ret>()
        }

        fn count(&self) -> usize {
            Params::COUNT
        }

        fn floats(&self) -> u64 {
            Params::FLOATS
        }

        fn left_call(&self) -> LeftCall {
            left_call::<Params, Ret::Values>()
        }

        fn values(output: Ret) -> Result<Ret::Values> {
            output.into_values()
        }

        unsafe fn put(
            &self,
            values: Ret::Values,
            context: &HostContext,
            runtime: &RuntimeStore,
            places: *mut RawVal,
        ) -> Result<()> {
            // SAFETY: the caller's promise.
            unsafe { host::put(values, context, runtime, places) }
        }

        fn results_fit() -> fn(&TypeRegistry, &[ValType], &[ValType]) -> bool {
            host::results_fit::<Ret::Values>
        }
    };
}

impl<T, F, Params, Ret> AsyncClosure<T> for Wrapped<F, WithCaller, Params, Ret>
where
    T: Send + 'static,
    F: for<'a> Fn(Caller<'a, T>, Params) -> Box<dyn Future<Output = Ret> + Send + 'a>,
    F: Send + Sync + 'static,
    Params: WasmResults + 'static,
    Ret: WasmRet + 'static,
    Ret::Values: 'static,
{
    typed_closure!();
    type Future = BoxFuture<'static, Ret>;

    unsafe fn start(
        &'static self,
        store: StoreContextMut<'static, T>,
        context: &HostContext,
        values: *const RawVal,
        _: *const c_void,
    ) -> Started<T, BoxFuture<'static, Ret>> {
        // SAFETY: the caller's promise.
        let (params, importer) =
            unsafe { (host::take_all(&mut store.0.runtime, context, values), importer(context)) };
        let called = Called::with(context, &store.0.runtime);
        let future = Box::into_pin((self.0)(Caller { store, importer, called }, params));
        Started { future, accessor: None, holds_store: true }
    }
}

impl<T, F, Params, Ret> AsyncClosure<T> for Wrapped<F, Unboxed, Params, Ret>
where
    T: Send + 'static,
    F: for<'a> AsyncFunc<'a, T, Params, Output = Ret> + 'static,
    Params: WasmResults + 'static,
    Ret: WasmRet + 'static,
    Ret::Values: 'static,
{
    typed_closure!();
    type Future = Nested<<F as AsyncFunc<'static, T, Params>>::Future>;

    #[inline]
    unsafe fn start(
        &'static self,
        store: StoreContextMut<'static, T>,
        context: &HostContext,
        values: *const RawVal,
        _: *const c_void,
    ) -> Started<T, Self::Future> {
        // SAFETY: the caller's promise.
        let (params, importer) =
            unsafe { (host::take_all(&mut store.0.runtime, context, values), importer(context)) };
        let called = Called::with(context, &store.0.runtime);
        // The future has the store, and what lies there, once it is made.
        let room = Room::new(&mut store.0.nest);
        let future = room.put(self.0.start(Caller { store, importer, called }, params));
        Started { future, accessor: None, holds_store: true }
    }
}

impl<T, F, Params, Ret> AsyncClosure<T> for Wrapped<F, WithAccessor, Params, Ret>
where
    T: Send + 'static,
    F: for<'a> Fn(&'a Accessor<T>, Params) -> Pin<Box<dyn Future<Output = Ret> + Send + 'a>>,
    F: Send + Sync + 'static,
    Params: WasmResults + 'static,
    Ret: WasmRet + 'static,
    Ret::Values: 'static,
{
    typed_closure!();
    type Future = BoxFuture<'static, Ret>;

    unsafe fn start(
        &'static self,
        store: StoreContextMut<'static, T>,
        context: &HostContext,
        values: *const RawVal,
        shared: *const c_void,
    ) -> Started<T, BoxFuture<'static, Ret>> {
        // SAFETY: the caller's promise. The accessor lives longer than the calls that
        // are polled with it, or goes along with the future.
        unsafe {
            let params = host::take_all(&mut store.0.runtime, context, values);
            let own = shared.is_null().then(|| Box::new(Accessor::new(store.0)));
            let accessor: *const Accessor<T> = match &own {
                Some(own) => &**own,
                None => shared.cast(),
            };
            let _open = (*accessor).open(context);
            let future = (self.0)(&*accessor, params);
            Started { future, accessor: own, holds_store: false }
        }
    }
}

/// A closure that gets a [`Caller`] and returns a future, as a function.
pub(crate) fn wrap<T, F, Params, Ret>(engine: &Engine, func: F) -> Result<Arc<HostFunction>>
where
    T: Send + 'static,
    F: for<'a> Fn(Caller<'a, T>, Params) -> Box<dyn Future<Output = Ret> + Send + 'a>,
    F: Send + Sync + 'static,
    Params: WasmResults + 'static,
    Ret: WasmRet + 'static,
    Ret::Values: 'static,
{
    host_function::<T, _>(engine, Wrapped::<_, WithCaller, Params, Ret>(func, PhantomData))
}

/// An `async` function that gets a [`Caller`], as a function.
pub(crate) fn wrap_unboxed<T, F, Params, Ret>(engine: &Engine, func: F) -> Result<Arc<HostFunction>>
where
    T: Send + 'static,
    F: for<'a> AsyncFunc<'a, T, Params, Output = Ret> + 'static,
    Params: WasmResults + 'static,
    Ret: WasmRet + 'static,
    Ret::Values: 'static,
{
    host_function::<T, _>(engine, Wrapped::<_, Unboxed, Params, Ret>(func, PhantomData))
}

/// A closure that gets an [`Accessor`] and returns a future, as a function.
pub(crate) fn wrap_concurrent<T, F, Params, Ret>(
    engine: &Engine,
    func: F,
) -> Result<Arc<HostFunction>>
where
    T: Send + 'static,
    F: for<'a> Fn(&'a Accessor<T>, Params) -> Pin<Box<dyn Future<Output = Ret> + Send + 'a>>,
    F: Send + Sync + 'static,
    Params: WasmResults + 'static,
    Ret: WasmRet + 'static,
    Ret::Values: 'static,
{
    host_function::<T, _>(engine, Wrapped::<_, WithAccessor, Params, Ret>(func, PhantomData))
}

// ---- functions of types that are known only at run time

struct Dynamic<F> {
    ty: FuncType,
    func: F,
}

impl<T, F> AsyncClosure<T> for Dynamic<F>
where
    T: Send + 'static,
    F: for<'a> Fn(
        Caller<'a, T>,
        &'a [Val],
        &'a mut [Val],
    ) -> Box<dyn Future<Output = Result<()>> + Send + 'a>,
    F: Send + Sync + 'static,
{
    type Output = Result<Vec<Val>>;
    type Future = BoxFuture<'static, Result<Vec<Val>>>;
    type Values = Vec<Val>;

    fn ty(&self) -> FuncType {
        self.ty.clone()
    }

    fn count(&self) -> usize {
        self.ty.params().len()
    }

    fn floats(&self) -> u64 {
        host::floats(&self.ty)
    }

    fn left_call(&self) -> LeftCall {
        LeftCall::of(&self.ty)
    }

    unsafe fn start(
        &'static self,
        store: StoreContextMut<'static, T>,
        context: &HostContext,
        values: *const RawVal,
        _: *const c_void,
    ) -> Started<T, BoxFuture<'static, Result<Vec<Val>>>> {
        // SAFETY: the caller's promise.
        let importer = unsafe { importer(context) };
        let runtime = &mut *store.0.runtime;
        let argument = |(i, ty): (usize, &ValType)| {
            // SAFETY: the caller's promise.
            unsafe { Val::from_raw(runtime, &*values.add(i), *ty) }
        };
        let arguments: Vec<Val> = self.ty.params().iter().enumerate().map(argument).collect();
        let results = self.ty.results().iter();
        let mut results: Vec<Val> = results.map(|ty| Val::default_for(*ty)).collect();
        let called = Called::with(context, &store.0.runtime);
        let future: BoxFuture<'static, _> = Box::pin(async move {
            let caller = Caller { store, importer, called };
            Box::into_pin((self.func)(caller, &arguments, &mut results)).await?;
            Ok(results)
        });
        Started { future, accessor: None, holds_store: true }
    }

    fn values(output: Result<Vec<Val>>) -> Result<Vec<Val>> {
        output
    }

    unsafe fn put(
        &self,
        values: Vec<Val>,
        _: &HostContext,
        runtime: &RuntimeStore,
        places: *mut RawVal,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { host::put_results(&self.ty, values, runtime, places) }
    }

    fn results_fit() -> fn(&TypeRegistry, &[ValType], &[ValType]) -> bool {
        host::checked_results_fit
    }
}

/// A closure that returns a future, as a function of a type that is known only at run
/// time.
pub(crate) fn new<T, F>(engine: &Engine, ty: FuncType, func: F) -> Result<Arc<HostFunction>>
where
    T: Send + 'static,
    F: for<'a> Fn(
        Caller<'a, T>,
        &'a [Val],
        &'a mut [Val],
    ) -> Box<dyn Future<Output = Result<()>> + Send + 'a>,
    F: Send + Sync + 'static,
{
    host_function::<T, _>(engine, Dynamic { ty, func })
}
