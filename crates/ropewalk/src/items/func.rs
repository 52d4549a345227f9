//! Functions.

use crate::host::async_func::{self, AsyncFunc};
use crate::host::polled_call::AsyncCall;
use crate::host::{self, IntoFunc, WasmRet};
use crate::items::typed_func::TypedFunc;
use crate::misuse::WrongCount;
use crate::store::{self, AsContext, AsContextMut, StoreContextMut};
use crate::value::func::{Func, FuncId};
use crate::value::val::Val;
use crate::value::wasm_values::{WasmParams, WasmResults};
use anyhow::{Context, Result};
use ropewalk_abi::{FuncRef, FuncType, HostContext, RawVal, ValType};
use ropewalk_runtime::{HostFunction, Poller, Stop, Store as RuntimeStore, call_by};
use smallvec::SmallVec;
use std::future::{Future, poll_fn};
use std::ptr::NonNull;
use std::sync::Arc;

impl Func {
    /// A function that calls a closure, whose type says that of the function.
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
        mut store: impl AsContextMut<Data = T>,
        func: impl IntoFunc<T, Params, Results>,
    ) -> Func {
        let store = store.as_context_mut();
        let host = host::wrap(store.engine(), func);
        Func::of_host(store, host)
    }

    /// A function of a type that is known only at run time. The closure gets
    /// the arguments and fills in the results.
    pub fn new<T: 'static>(
        mut store: impl AsContextMut<Data = T>,
        ty: FuncType,
        func: impl Fn(crate::Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<Func> {
        let store = store.as_context_mut();
        let host = host::new(store.engine(), ty, func)?;
        host::ready(store.engine(), &host)?;
        let func_ref = store.0.runtime.add_host_function(host);
        Ok(Func::from_ref(&store.0.runtime, func_ref))
    }

    /// A function that calls a closure which returns a future, as
    /// [`Linker::func_wrap_async`](crate::Linker::func_wrap_async).
    pub fn wrap_async<T, F, Params, Ret>(mut store: impl AsContextMut<Data = T>, func: F) -> Func
    where
        T: Send + 'static,
        F: for<'a> Fn(crate::Caller<'a, T>, Params) -> Box<dyn Future<Output = Ret> + Send + 'a>,
        F: Send + Sync + 'static,
        Params: WasmResults + 'static,
        Ret: WasmRet + 'static,
        Ret::Values: 'static,
    {
        let store = store.as_context_mut();
        let host = async_func::wrap(store.engine(), func);
        Func::of_host(store, host)
    }

    /// A function that is an `async` function, or an `async` closure that captures nothing, as
    /// [`Linker::func_wrap_async_fn`](crate::Linker::func_wrap_async_fn).
    pub fn wrap_async_fn<T, F, Params, Ret>(mut store: impl AsContextMut<Data = T>, func: F) -> Func
    where
        T: Send + 'static,
        F: for<'a> AsyncFunc<'a, T, Params, Output = Ret> + 'static,
        Params: WasmResults + 'static,
        Ret: WasmRet + 'static,
        Ret::Values: 'static,
    {
        let store = store.as_context_mut();
        let host = async_func::wrap_unboxed(store.engine(), func);
        Func::of_host(store, host)
    }

    /// A function of the host with Rust's types, in a store.
    fn of_host<T>(store: StoreContextMut<'_, T>, host: Result<Arc<HostFunction>>) -> Func {
        let host = host.and_then(|host| {
            host::ready(store.engine(), &host)?;
            Ok(host)
        });
        let host = host.expect("a trampoline for a type that Rust can write compiles");
        let func_ref = store.0.runtime.add_host_function(host);
        Func::from_ref(&store.0.runtime, func_ref)
    }

    /// A function of a type that is known only at run time, as
    /// [`Linker::func_new_async`](crate::Linker::func_new_async).
    pub fn new_async<T, F>(
        mut store: impl AsContextMut<Data = T>,
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
        let store = store.as_context_mut();
        let host = async_func::new(store.engine(), ty, func)?;
        host::ready(store.engine(), &host)?;
        let func_ref = store.0.runtime.add_host_function(host);
        Ok(Func::from_ref(&store.0.runtime, func_ref))
    }

    pub(crate) fn from_ref(runtime: &RuntimeStore, func_ref: NonNull<FuncRef>) -> Func {
        Func { store: runtime.id(), func_ref }
    }

    /// The function that a word of the store stands for, unless it is null.
    ///
    /// # Safety
    ///
    /// The word must be a function reference of the store.
    pub(crate) unsafe fn from_word(runtime: &RuntimeStore, word: u64) -> Option<Func> {
        Some(Func::from_ref(runtime, NonNull::new(word as *mut FuncRef)?))
    }

    pub(crate) fn to_word(self, runtime: &RuntimeStore) -> Result<u64> {
        Ok(self.in_store(runtime)?.as_ptr() as u64)
    }

    #[inline]
    pub(crate) fn in_store(&self, runtime: &RuntimeStore) -> Result<NonNull<FuncRef>> {
        store::check(runtime, self.store, "function")?;
        Ok(self.func_ref)
    }

    pub(crate) fn type_id(&self, runtime: &RuntimeStore) -> Result<u32> {
        let func_ref = self.in_store(runtime)?;
        // SAFETY: it belongs to the store, which is alive, and so is its type.
        Ok(unsafe { (*func_ref.as_ref().ty).id })
    }

    /// Which function it is: the same however it was reached, by an export, an import or
    /// a reference. Functions of the host that close over nothing may have the same if they
    /// do the same.
    pub fn id(&self, store: impl AsContext) -> Result<FuncId> {
        let func_ref = self.in_store(store.as_context().runtime())?;
        // SAFETY: it belongs to the store, which is alive.
        let FuncRef { code, context, is_host, .. } = unsafe { func_ref.read() };
        let (code, closes_over) = match is_host {
            // Each instance that imports it has a context of its own.
            // SAFETY: that is what `is_host` says.
            true => unsafe {
                let context = &*context.cast::<HostContext>();
                (context.function, context.data)
            },
            false => (code, context.cast_const()),
        };
        Ok(FuncId { store: self.store, code: code.addr(), closes_over: closes_over.addr() })
    }

    /// Its type.
    pub fn ty(&self, store: impl AsContext) -> Result<FuncType> {
        let store = store.as_context();
        let id = self.type_id(store.runtime())?;
        Ok(store.engine().types().func_type(id))
    }

    /// This function, to be called with Rust's types.
    pub fn typed<Params: WasmParams, Results: WasmResults>(
        &self,
        store: impl AsContext,
    ) -> Result<TypedFunc<Params, Results>> {
        TypedFunc::new(store.as_context(), *self)
    }

    /// Calls it. The arguments must have the types of its parameters, and
    /// there must be as many places as it has results.
    pub fn call(
        &self,
        mut store: impl AsContextMut,
        arguments: &[Val],
        results: &mut [Val],
    ) -> Result<()> {
        let mut store = store.as_context_mut();
        let number = self.type_id(&store.0.runtime)?;
        let ty = store.engine().types().shared_func_type(number);
        let mut values = places(&store.0.runtime, &ty, arguments, results)?;
        let trampoline = store.engine().entry_trampoline(number)?;
        let runtime = store.enter();
        // SAFETY: the function belongs to the store, the trampoline to its
        // type, and the values are its arguments with room for its results.
        unsafe {
            crate::items::call::call(runtime, self.func_ref, trampoline, values.as_mut_ptr())?;
        }
        take_results(&mut store, &ty, &values, results);
        Ok(())
    }

    /// Calls it in a future, which waits for host functions that are not ready.
    ///
    /// Dropping the future gives the call up: its stacks are freed, and the store can be
    /// used again. [`TypedFunc::call_async`] has an example.
    pub async fn call_async(
        &self,
        mut store: impl AsContextMut<Data: Send>,
        arguments: &[Val],
        results: &mut [Val],
    ) -> Result<()> {
        let mut store = store.as_context_mut();
        let mut values = self.places(&mut store, arguments, results)?;
        // SAFETY: this future has the store.
        let mut call = unsafe { AsyncCall::new(store.enter()) };
        poll_fn(|context| {
            // SAFETY: the places are on the heap, and live as long as the call.
            unsafe {
                call.poll(context, |_, poller| {
                    self.begin(StoreContextMut(&mut *store.0), &mut values, poller)
                })
            }
        })
        .await?;
        drop(call);
        self.take_results(store, &values, results)
    }

    /// Places for arguments and results of a call, with the arguments in them. They stay where
    /// they are.
    pub(crate) fn places<T>(
        &self,
        store: &mut StoreContextMut<'_, T>,
        arguments: &[Val],
        results: &[Val],
    ) -> Result<Vec<RawVal>> {
        let ty = store.engine().types().shared_func_type(self.type_id(&store.0.runtime)?);
        Ok(places(&store.0.runtime, &ty, arguments, results)?.into_vec())
    }

    /// Begins a call that may wait.
    ///
    /// # Safety
    ///
    /// The values must be places of this function, which stay where they are as long as
    /// the call waits, and the poller be valid until this returns.
    pub(crate) unsafe fn begin<T>(
        &self,
        mut store: StoreContextMut<'_, T>,
        values: &mut [RawVal],
        poller: Poller,
    ) -> Result<u64, Stop> {
        let trampoline = store.engine().entry_trampoline(self.type_id(&store.0.runtime)?)?;
        let runtime = store.enter();
        // SAFETY: the function belongs to the store; the rest is the caller's promise.
        unsafe { call_by(runtime, self.func_ref, trampoline, values.as_mut_ptr(), poller) }
    }

    /// Takes the results of a call out of their places.
    pub(crate) fn take_results<T>(
        &self,
        mut store: StoreContextMut<'_, T>,
        values: &[RawVal],
        results: &mut [Val],
    ) -> Result<()> {
        let ty = store.engine().types().shared_func_type(self.type_id(&store.0.runtime)?);
        take_results(&mut store, &ty, values, results);
        Ok(())
    }
}

/// Places for arguments and results of a function of a type, with the arguments in them.
fn places(
    runtime: &RuntimeStore,
    ty: &FuncType,
    arguments: &[Val],
    results: &[Val],
) -> Result<SmallVec<[RawVal; FEW]>> {
    check_count(ty.params(), arguments)?;
    let count = ty.results().len();
    WrongCount::check(("place for results", "places for results"), count, results.len())?;
    let mut values = SmallVec::with_capacity(arguments.len().max(count));
    for (i, argument) in arguments.iter().enumerate() {
        values.push(raw_value(runtime, ty.params(), i, argument)?);
    }
    values.resize(values.len().max(count), RawVal::ZERO);
    Ok(values)
}

/// How many values need no memory of the heap in a call.
const FEW: usize = 8;

/// Takes the results of a function of a type out of their places.
fn take_results<T>(
    store: &mut StoreContextMut<'_, T>,
    ty: &FuncType,
    values: &[RawVal],
    results: &mut [Val],
) {
    for ((result, value), ty) in results.iter_mut().zip(values).zip(ty.results()) {
        // SAFETY: the function has put values of these types there.
        *result = unsafe { Val::from_raw(&mut store.0.runtime, value, *ty) };
    }
}

/// Arguments as a store keeps them, checked to have the types of the parameters.
pub(crate) fn raw_values(
    runtime: &RuntimeStore,
    params: &[ValType],
    arguments: &[Val],
) -> Result<Vec<RawVal>> {
    check_count(params, arguments)?;
    let arguments = arguments.iter().enumerate();
    arguments.map(|(i, value)| raw_value(runtime, params, i, value)).collect()
}

/// Fails unless there are as many arguments as parameters.
pub(crate) fn check_count(params: &[ValType], arguments: &[Val]) -> Result<(), WrongCount> {
    WrongCount::check(("argument", "arguments"), params.len(), arguments.len())
}

/// An argument as a store keeps it, checked to have the type of the parameter with its number.
pub(crate) fn raw_value(
    runtime: &RuntimeStore,
    params: &[ValType],
    i: usize,
    argument: &Val,
) -> Result<RawVal> {
    argument.to_raw(runtime, params[i]).with_context(|| format!("in argument {i}"))
}
