//! Functions of a store: making them from closures, and calling them.

use crate::host::async_call::entered;
use crate::host::async_func::{Async, AsyncFunc, AsyncTyped, Unboxed, WithCaller, WithSlices};
use crate::host::signature::Dynamic;
use crate::host::{self, HostClosure, IntoFunc, WasmRet};
use crate::items::call_error::ended;
use crate::items::typed_func::TypedFunc;
use crate::misuse::WrongCount;
use crate::store::{AsContext, AsContextMut, StoreContextMut};
use crate::value::func::Func;
use crate::value::val::Val;
use crate::value::wasm_values::{WasmParams, WasmResults};
use anyhow::{Context, Result};
use ropewalk_abi::{FuncType, RawVal, ValType};
use ropewalk_runtime::{NO_POLLER, Poller, SharedFuncType, Stop, Store as RuntimeStore, call_by};
use smallvec::SmallVec;
use std::future::Future;

impl Func {
    /// A function that calls a closure, with the type of the closure.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let mut store = Store::new(&Engine::default(), 40);
    /// let add = Func::wrap(&mut store, |caller: Caller<'_, i32>, x: i32| caller.data() + x);
    /// assert_eq!(add.typed::<i32, i32>(&store)?.call(&mut store, 2)?, 42);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn wrap<T, Params, Results>(
        store: impl AsContextMut<Data = T>,
        func: impl IntoFunc<T, Params, Results>,
    ) -> Func {
        Func::of_closure(store, func.into_closure()).expect(TYPED)
    }

    /// A function of a type that is known only at run time. The closure gets the arguments and
    /// fills in the results.
    pub fn new<T: 'static>(
        store: impl AsContextMut<Data = T>,
        ty: FuncType,
        func: impl Fn(crate::Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Func> {
        Func::of_closure(store, HostClosure::dynamic(ty, Box::new(func)))
    }

    /// A function that calls a closure which returns a future, as
    /// [`Linker::func_wrap_async`](crate::Linker::func_wrap_async).
    pub fn wrap_async<T, F, Params, Ret>(store: impl AsContextMut<Data = T>, func: F) -> Func
    where
        T: Send + 'static,
        F: for<'a> Fn(crate::Caller<'a, T>, Params) -> Box<dyn Future<Output = Ret> + Send + 'a>,
        F: Send + Sync + 'static,
        Params: WasmResults + 'static,
        Ret: WasmRet + 'static,
        Ret::Values: 'static,
    {
        let closure = HostClosure::new::<AsyncTyped<T, WithCaller, F, Params, Ret>>((), func);
        Func::of_closure(store, closure).expect(TYPED)
    }

    /// A function that is an `async` function, or an `async` closure that captures nothing, as
    /// [`Linker::func_wrap_async_fn`](crate::Linker::func_wrap_async_fn).
    pub fn wrap_async_fn<T, F, Params, Ret>(store: impl AsContextMut<Data = T>, func: F) -> Func
    where
        T: Send + 'static,
        F: for<'a> AsyncFunc<'a, T, Params, Output = Ret> + 'static,
        Params: WasmResults + 'static,
        Ret: WasmRet + 'static,
        Ret::Values: 'static,
    {
        let closure = HostClosure::new::<AsyncTyped<T, Unboxed, F, Params, Ret>>((), func);
        Func::of_closure(store, closure).expect(TYPED)
    }

    /// A function of a type that is known only at run time, as
    /// [`Linker::func_new_async`](crate::Linker::func_new_async).
    pub fn new_async<T, F>(
        store: impl AsContextMut<Data = T>,
        ty: FuncType,
        func: F,
    ) -> Result<Func>
    where
        T: Send + 'static,
        F: for<'a> Fn(
            crate::Caller<'a, T>,
            &'a [Val],
            &'a mut [Val],
        ) -> Box<dyn Future<Output = Result<()>> + Send + 'a>,
        F: Send + Sync + 'static,
    {
        Func::of_closure(store, HostClosure::new::<Async<T, WithSlices, F, Dynamic, _>>(ty, func))
    }

    /// A host function in a store whose data the closure expects.
    fn of_closure(mut store: impl AsContextMut, closure: HostClosure) -> Result<Func> {
        let store = store.as_context_mut();
        let host = closure.into_function(store.engine())?;
        host::ready(store.engine(), &host)?;
        let func_ref = store.0.runtime.add_host_function(host);
        Ok(Func::from_ref(&store.0.runtime, func_ref))
    }

    /// This function, to be called with Rust's types.
    pub fn typed<Params: WasmParams, Results: WasmResults>(
        &self,
        store: impl AsContext,
    ) -> Result<TypedFunc<Params, Results>> {
        TypedFunc::new(store.as_context(), *self)
    }

    /// Calls the function. The arguments must have the types of its parameters, and `results` must
    /// have as many places as it has results.
    pub fn call(
        &self,
        mut store: impl AsContextMut,
        arguments: &[Val],
        results: &mut [Val],
    ) -> Result<()> {
        let mut store = store.as_context_mut();
        let (ty, mut values) = self.places(&store, arguments, results)?;
        // SAFETY: the places live as long as the call.
        ended(unsafe { self.begin(StoreContextMut(&mut *store.0), &mut values, NO_POLLER) })?;
        take_results(&mut store, &ty, &values, results);
        Ok(())
    }

    /// Calls the function in a future, which waits for pending host calls.
    ///
    /// Dropping the future cancels the call: its stacks are freed, and the store can be used
    /// again. [`TypedFunc::call_async`] has an example.
    pub async fn call_async(
        &self,
        mut store: impl AsContextMut<Data: Send>,
        arguments: &[Val],
        results: &mut [Val],
    ) -> Result<()> {
        let mut store = store.as_context_mut();
        let (ty, mut values) = self.places(&store, arguments, results)?;
        // SAFETY: the places are pinned with the future.
        let begin = |store: StoreContextMut<'_, _>, poller| unsafe {
            self.begin(store, &mut values, poller)
        };
        // SAFETY: as above.
        unsafe { entered(&mut store, begin) }.await?;
        take_results(&mut store, &ty, &values, results);
        Ok(())
    }

    /// The type of the function, and places for arguments and results, which hold the arguments.
    #[inline]
    pub(crate) fn places<T>(
        &self,
        store: &StoreContextMut<'_, T>,
        arguments: &[Val],
        results: &[Val],
    ) -> Result<(SharedFuncType, SmallVec<[RawVal; FEW]>)> {
        let runtime = &store.0.runtime;
        let ty = runtime.types().shared_func_type(self.type_id(runtime)?);
        check_count(ty.params(), arguments)?;
        let count = ty.results().len();
        WrongCount::check(("place for results", "places for results"), count, results.len())?;
        let mut values = SmallVec::with_capacity(arguments.len().max(count));
        for (i, argument) in arguments.iter().enumerate() {
            values.push(raw_value(runtime, ty.params(), i, argument)?);
        }
        values.resize(values.len().max(count), RawVal::ZERO);
        Ok((ty, values))
    }

    /// Begins a call that may wait.
    ///
    /// # Safety
    ///
    /// The values must be places of this function, which do not move as long as the call waits.
    /// The poller must be valid until this returns.
    pub(crate) unsafe fn begin<T>(
        &self,
        mut store: StoreContextMut<'_, T>,
        values: &mut [RawVal],
        poller: Poller,
    ) -> Result<u64, Stop> {
        let trampoline = store.engine().entry_trampoline(self.type_id(&store.0.runtime)?)?;
        let runtime = store.enter();
        // SAFETY: the function belongs to the store. The caller promises the rest.
        unsafe { call_by(runtime, self.func_ref, trampoline, values.as_mut_ptr(), poller) }
    }
}

/// A call of this many values allocates nothing.
const FEW: usize = 8;

/// Why making a function with Rust's types does not fail.
const TYPED: &str = "a trampoline for a type that Rust can write compiles";

/// Reads the results of a function from their places.
pub(crate) fn take_results<T>(
    store: &mut StoreContextMut<'_, T>,
    ty: &FuncType,
    values: &[RawVal],
    results: &mut [Val],
) {
    for ((result, value), ty) in results.iter_mut().zip(values).zip(ty.results()) {
        // SAFETY: the function has written values of these types.
        *result = unsafe { Val::from_raw(&mut store.0.runtime, value, *ty) };
    }
}

/// Arguments as a store keeps them. Checks that they have the types of the parameters.
pub(crate) fn raw_values(
    runtime: &RuntimeStore,
    params: &[ValType],
    arguments: &[Val],
) -> Result<Vec<RawVal>> {
    check_count(params, arguments)?;
    let arguments = arguments.iter().enumerate();
    arguments.map(|(i, value)| raw_value(runtime, params, i, value)).collect()
}

pub(crate) fn check_count(params: &[ValType], arguments: &[Val]) -> Result<(), WrongCount> {
    WrongCount::check(("argument", "arguments"), params.len(), arguments.len())
}

/// Argument `i` as a store keeps it. Checks that it has the type of its parameter.
pub(crate) fn raw_value(
    runtime: &RuntimeStore,
    params: &[ValType],
    i: usize,
    argument: &Val,
) -> Result<RawVal> {
    argument.to_raw(runtime, params[i]).with_context(|| format!("in argument {i}"))
}
