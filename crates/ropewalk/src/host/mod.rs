//! Functions of the host.
//!
//! A host function is an `extern "C"` function, instantiated for each closure,
//! that takes its arguments out of registers or an array, calls the closure and
//! puts its results there. It runs on the host's stack, so a panic unwinds
//! only frames of Rust; it is caught there and continues where WebAssembly was
//! called from.

pub(crate) mod admission;
pub(crate) mod async_func;
pub(crate) mod caller;
pub(crate) mod concurrent;
pub(crate) mod deadlock;
pub(crate) mod interrupt;
pub(crate) mod later;
pub(crate) mod pending;
pub(crate) mod polled_call;
pub(crate) mod store_lock;

use crate::engine::Engine;
use crate::host::caller::{Called, Caller};
use crate::host::later::Later;
use crate::items::exception::Exception;
use crate::items::instance::Instance;
use crate::stacks::suspension::Suspension;
use crate::store::{AsContextMut, StoreContextMut, StoreInner};
use crate::value::type_check::Fit;
use crate::value::val::Val;
use crate::value::wasm_ty::WasmTy;
use crate::value::wasm_values::{WasmParams, WasmResults};
use anyhow::{Context, Result};
use ropewalk_abi::builtin::{GO_ON, Outcome};
use ropewalk_abi::signature::{WORDS, in_registers};
use ropewalk_abi::{FuncType, HostContext, RawVal, ValType};
use ropewalk_runtime::embedder::guarded;
use ropewalk_runtime::{
    Backtrace, Ending, HostFunction, SharedFuncType, Store as RuntimeStore, Trampoline,
    TypeRegistry,
};
use std::any::Any;
use std::ffi::c_void;
use std::mem::MaybeUninit;
use std::sync::{Arc, OnceLock};

/// What a closure may return: nothing, a [`WasmTy`], a tuple of them, or a
/// `Result` of these.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let root = Func::wrap(&mut store, |x: f64| -> Result<f64> {
///     if x < 0.0 { Err(Error::msg("the number is negative")) } else { Ok(x.sqrt()) }
/// });
/// let root = root.typed::<f64, f64>(&store)?;
/// assert_eq!(root.call(&mut store, 9.0)?, 3.0);
/// assert_eq!(root.call(&mut store, -9.0).unwrap_err().to_string(), "the number is negative");
/// # Ok::<(), Error>(())
/// ```
pub trait WasmRet {
    #[doc(hidden)]
    type Values: WasmResults;

    #[doc(hidden)]
    fn into_values(self) -> Result<Self::Values>;
}

impl<R: WasmResults> WasmRet for R {
    type Values = R;

    #[inline]
    fn into_values(self) -> Result<R> {
        Ok(self)
    }
}

impl<R: WasmResults, E: Into<anyhow::Error>> WasmRet for Result<R, E> {
    type Values = R;

    #[inline]
    fn into_values(self) -> Result<R> {
        self.map_err(Into::into)
    }
}

/// A closure that can be a function: it takes up to 16 [`WasmTy`]s, after a
/// [`Caller`] if it wants one, and returns a [`WasmRet`].
///
/// All such closures are functions already, so there is no need to implement
/// this for anything else.
///
/// ```
/// use ropewalk::*;
///
/// /// An instance of a module that imports one function.
/// fn with<P, R>(text: &str, func: impl IntoFunc<(), P, R>) -> Result<(Store<()>, Instance)> {
///     let module = Module::new(&Engine::default(), text)?;
///     let mut store = Store::new(module.engine(), ());
///     let func = Func::wrap(&mut store, func);
///     let instance = Instance::new(&mut store, &module, &[func.into()])?;
///     Ok((store, instance))
/// }
///
/// with(r#"(module (import "a" "b" (func (param i32) (result i64))))"#, |x: i32| i64::from(x))?;
/// # Ok::<(), Error>(())
/// ```
///
/// Only this crate implements it, as the type of what it returns has no name outside. A closure
/// for stores with other data would get that for its own:
///
/// ```compile_fail,E0603
/// use ropewalk::*;
///
/// struct Liar;
///
/// impl IntoFunc<String, (), ()> for Liar {
///     fn into_closure(self) -> ropewalk::host::HostClosure {
///         IntoFunc::<u64, _, _>::into_closure(|mut caller: Caller<'_, u64>| {
///             *caller.data_mut() = 1;
///         })
///     }
/// }
/// ```
pub trait IntoFunc<T, Params, Results>: Send + Sync + 'static {
    #[doc(hidden)]
    fn into_closure(self) -> HostClosure;
}

/// A closure with its type, and the code that calls it.
#[doc(hidden)]
pub struct HostClosure {
    pub(crate) ty: FuncType,
    /// Takes a context whose data is the closure, and values of the type.
    pub(crate) entry: *const c_void,
    /// As [`HostFunction::results_fit`].
    pub(crate) results_fit: fn(&TypeRegistry, &[ValType], &[ValType]) -> bool,
    pub(crate) data: Box<dyn Any + Send + Sync>,
}

/// The shape of [`HostContext::function`].
pub(crate) type HostEntry = unsafe extern "C" fn(*const HostContext, *mut RawVal) -> Outcome;

/// The same, for functions that take and give few words.
pub(crate) type RegisterEntry =
    unsafe extern "C" fn(*const HostContext, u64, u64, u64, u64, f64, f64, f64, f64) -> Outcome;

/// The registers in which a host function gets few words.
pub(crate) struct Registers {
    pub integers: [u64; WORDS],
    pub floats: [f64; WORDS],
}

impl Registers {
    /// Calls a function that takes its words, of which there are so many, and leaves its
    /// result, in an array. Bit `i` of `floats` says that parameter `i` is a float.
    #[inline(always)]
    pub fn with_array(
        self,
        count: usize,
        floats: u64,
        call: impl FnOnce(*mut RawVal) -> Outcome,
    ) -> Outcome {
        let (mut integer, mut float) = (0, 0);
        let mut values = [const { MaybeUninit::uninit() }; WORDS];
        // The first is there also if only a result may be.
        for (i, value) in values.iter_mut().enumerate().take(count.max(1)) {
            value.write(RawVal::from_u64(match floats >> i & 1 {
                0 => next(&self.integers, &mut integer),
                _ => next(&self.floats, &mut float).to_bits(),
            }));
        }
        match call(values.as_mut_ptr().cast()) {
            Outcome { ended: GO_ON, .. } => {
                // SAFETY: it was written above.
                Outcome::returned(unsafe { values[0].assume_init_ref() }.u64())
            }
            outcome => outcome,
        }
    }
}

#[inline(always)]
fn next<V: Copy>(values: &[V], taken: &mut usize) -> V {
    *taken += 1;
    values[*taken - 1]
}

/// Which parameters of a type are floats, as bits.
pub(crate) fn floats(ty: &FuncType) -> u64 {
    let bit = |(i, ty): (usize, &ValType)| u64::from(ty.is_float_class()) << i;
    ty.params().iter().take(WORDS).enumerate().map(bit).sum()
}

macro_rules! into_func {
    ($(($($name:ident $index:tt),*))*) => {
        $(
            impl<T, Fun, $($name,)* Ret> IntoFunc<T, ($($name,)*), Ret> for Fun
            where
                Fun: Fn($($name),*) -> Ret + Send + Sync + 'static,
                $($name: WasmTy,)*
                Ret: WasmRet,
            {
                #[allow(non_snake_case, reason = "values are named after their types")]
                fn into_closure(self) -> HostClosure {
                    let func = move |_: Caller<'_, T>, $($name: $name),*| self($($name),*);
                    <_ as IntoFunc<T, (Caller<'_, T>, $($name,)*), Ret>>::into_closure(func)
                }
            }

            impl<T, Fun, $($name,)* Ret> IntoFunc<T, (Caller<'_, T>, $($name,)*), Ret> for Fun
            where
                Fun: Fn(Caller<'_, T>, $($name),*) -> Ret + Send + Sync + 'static,
                $($name: WasmTy,)*
                Ret: WasmRet,
            {
                fn into_closure(self) -> HostClosure {
                    unsafe extern "C" fn entry<T, Fun, $($name,)* Ret>(
                        context: *const HostContext,
                        values: *mut RawVal,
                    ) -> Outcome
                    where
                        Fun: Fn(Caller<'_, T>, $($name),*) -> Ret + Send + Sync + 'static,
                        $($name: WasmTy,)*
                        Ret: WasmRet,
                    {
                        // SAFETY: the trampoline passes the context of this
                        // function, and values of its type.
                        #[allow(non_snake_case, reason = "values are named after their types")]
                        unsafe {
                            run::<T, Fun, Ret>(context, values, |func, store, importer| {
                                $(let $name = take::<$name>(
                                    &mut store.0.runtime, context, values, $index,
                                );)*
                                let called = Called::with(context, &store.0.runtime);
                                func(Caller { store, importer, called }, $($name),*)
                            })
                        }
                    }
                    unsafe extern "C" fn entry_in_registers<T, Fun, $($name,)* Ret>(
                        context: *const HostContext,
                        a: u64,
                        b: u64,
                        c: u64,
                        d: u64,
                        w: f64,
                        x: f64,
                        y: f64,
                        z: f64,
                    ) -> Outcome
                    where
                        Fun: Fn(Caller<'_, T>, $($name),*) -> Ret + Send + Sync + 'static,
                        $($name: WasmTy,)*
                        Ret: WasmRet,
                    {
                        let registers =
                            Registers { integers: [a, b, c, d], floats: [w, x, y, z] };
                        let (count, floats) = (
                            <($($name,)*) as WasmParams>::COUNT,
                            <($($name,)*) as WasmParams>::FLOATS,
                        );
                        // SAFETY: the stub passes the context of this function, which
                        // takes and gives few enough words.
                        registers.with_array(count, floats, |values| unsafe {
                            entry::<T, Fun, $($name,)* Ret>(context, values)
                        })
                    }
                    let ty = function_type::<Ret>(vec![$($name::ty()),*]);
                    let entry = match in_registers(&ty) {
                        true => {
                            entry_in_registers::<T, Fun, $($name,)* Ret> as RegisterEntry
                                as *const c_void
                        }
                        false => entry::<T, Fun, $($name,)* Ret> as HostEntry as *const c_void,
                    };
                    let results_fit = results_fit::<Ret::Values>;
                    HostClosure { ty, entry, results_fit, data: Box::new(self) }
                }
            }
        )*
    };
}

for_each_tuple!(into_func);

fn function_type<Ret: WasmRet>(params: Vec<ValType>) -> FuncType {
    FuncType::new(params, <Ret::Values as WasmParams>::types())
}

/// Whether results of Rust's types can be those of another type.
pub(crate) fn results_fit<R: WasmParams>(
    types: &TypeRegistry,
    _: &[ValType],
    expected: &[ValType],
) -> bool {
    R::fit(types, expected) != Fit::Never
}

/// Whether results that were checked to have their types can be those of another type.
pub(crate) fn checked_results_fit(
    types: &TypeRegistry,
    found: &[ValType],
    expected: &[ValType],
) -> bool {
    Fit::all(types, found, expected) == Fit::Always
}

/// The type that a function is called as.
///
/// # Safety
///
/// The context must be that of a host function of the store.
pub(crate) unsafe fn called_as(runtime: &RuntimeStore, context: &HostContext) -> SharedFuncType {
    // SAFETY: types live as long as the engine.
    runtime.types().shared_func_type(unsafe { (*context.ty).id })
}

/// An argument of a function with this context.
///
/// # Safety
///
/// It must be there, and the context be that of a host function that takes it.
#[inline]
unsafe fn take<A: WasmTy>(
    runtime: &mut RuntimeStore,
    context: *const HostContext,
    values: *const RawVal,
    index: usize,
) -> A {
    // SAFETY: the caller's promise; it was found that it fits.
    unsafe {
        match A::NEEDS_TYPE {
            false => A::from_raw(runtime, &*values.add(index)),
            true => {
                let ty = called_as(runtime, &*context).params()[index];
                A::from_raw_of(runtime, &*values.add(index), ty)
            }
        }
    }
}

/// Arguments of a function with this context.
///
/// # Safety
///
/// They must be there, and the context be that of a host function that takes them.
pub(crate) unsafe fn take_all<Params: WasmResults>(
    runtime: &mut RuntimeStore,
    context: &HostContext,
    values: *const RawVal,
) -> Params {
    // SAFETY: the caller's promise; it was found that they fit.
    unsafe {
        match Params::NEED_TYPES {
            false => Params::load(runtime, values),
            true => {
                let ty = called_as(runtime, context);
                Params::load_of(runtime, values, ty.params())
            }
        }
    }
}

/// Puts the results of a function with this context into places, and checks those that
/// may not have the types of their places.
///
/// # Safety
///
/// There must be room for them, and the context be that of a host function that gives
/// them.
#[inline]
pub(crate) unsafe fn put<R: WasmParams>(
    results: R,
    context: &HostContext,
    runtime: &RuntimeStore,
    places: *mut RawVal,
) -> Result<()> {
    // SAFETY: the caller's promise; it was found that they fit, or may.
    unsafe {
        match R::MAY_BE_CHECKED {
            false => results.store(runtime, places),
            true => {
                let ty = called_as(runtime, context);
                results.store_of(runtime, places, ty.results(), "result")
            }
        }
    }
}

/// Calls a closure and puts its results where the trampoline expects them.
///
/// # Safety
///
/// The context must be that of a host function which closes over a `Fun`, in a
/// store with data of type `T`, and `values` have room for the results.
#[inline]
unsafe fn run<T, Fun, Ret: WasmRet>(
    context: *const HostContext,
    values: *mut RawVal,
    call: impl FnOnce(&Fun, StoreContextMut<'_, T>, Option<Instance>) -> Ret,
) -> Outcome {
    // SAFETY: the caller's promise; nothing else uses the store while its
    // host function runs.
    let (context, runtime) = unsafe { (&*context, RuntimeStore::from_context((*context).store)) };
    let owner = runtime.owner().cast::<StoreInner<T>>();
    let scope = runtime.begin_scope();
    let result = guarded(|| {
        // SAFETY: as above; `owner` was set when WebAssembly was entered.
        unsafe {
            let importer = importer(context);
            let func = &*context.data.cast::<Fun>();
            let results = call(func, StoreContextMut(&mut *owner), importer).into_values()?;
            put(results, context, &(*owner).runtime, values)
        }
    });
    // SAFETY: as above; the closure's borrow has ended.
    let runtime = unsafe { &mut *(*owner).runtime };
    let outcome = match result {
        Ok(Ok(())) => Outcome::returned(0),
        // SAFETY: as above.
        failed => unsafe { leave_or_fail(runtime, context, values, failed) },
    };
    // The results are words by now, which nothing moves before they are read.
    runtime.end_scope(scope);
    outcome
}

/// The instance that imported the function with this context.
pub(crate) unsafe fn importer(context: &HostContext) -> Option<Instance> {
    if context.importer.is_null() {
        return None;
    }
    // SAFETY: the instance is alive, it belongs to the store.
    unsafe {
        let runtime = RuntimeStore::from_context(context.store);
        Some(Instance::from_index(runtime, (*context.importer).index))
    }
}

/// Leaves the call if the function has to wait.
///
/// # Safety
///
/// As for [`fail`]; the values must be the arguments of the function.
#[cold]
unsafe fn leave_or_fail(
    runtime: &mut RuntimeStore,
    context: &HostContext,
    values: *const RawVal,
    result: std::thread::Result<Result<()>>,
) -> Outcome {
    // Errors, and what they have as their context, are values of the embedder, which may panic
    // when they are dropped.
    // SAFETY: the caller's promise.
    let left = guarded(|| unsafe {
        match result {
            Ok(Err(error)) => match error.downcast::<Later>() {
                Ok(later) => later::leave(runtime, context, values, later),
                Err(error) => fail(runtime, context, Ok(Err(error))),
            },
            failed => fail(runtime, context, failed),
        }
    });
    left.unwrap_or_else(|panic| end(runtime, Ending::Panic(panic)))
}

/// Throws an exception, suspends, or ends the activation, when a function has failed.
///
/// # Safety
///
/// The context must be that of a host function of the store, which runs.
#[cold]
pub(crate) unsafe fn fail(
    runtime: &mut RuntimeStore,
    context: &HostContext,
    result: std::thread::Result<Result<()>>,
) -> Outcome {
    let failure = match result {
        Ok(Ok(())) => unreachable!("it did not fail"),
        Ok(Err(error)) => guarded(|| Failure::of(runtime, error)),
        Err(panic) => Err(panic),
    };
    match failure {
        Ok(Failure::Throws(exception, backtrace)) => runtime.throw_from(exception, backtrace),
        Ok(Failure::Suspends(suspension)) => {
            // SAFETY: the caller's promise.
            let ty = unsafe { called_as(runtime, context) };
            let begun = suspension.begin(runtime, &ty);
            begun.unwrap_or_else(|error| end(runtime, Ending::Error(error)))
        }
        Ok(Failure::Ends(error)) => end(runtime, Ending::Error(error)),
        Err(panic) => end(runtime, Ending::Panic(panic)),
    }
}

/// Ends the newest activation.
fn end(runtime: &mut RuntimeStore, ending: Ending) -> Outcome {
    runtime.set_ending(ending);
    Outcome::END
}

/// What the error of a host function means. Nothing of the embedder is left in it that would be
/// dropped while the engine throws or suspends.
enum Failure {
    /// It throws an exception, which was thrown there if that is known.
    Throws(u64, Backtrace),
    Suspends(Suspension),
    /// It ends the activation.
    Ends(anyhow::Error),
}

impl Failure {
    fn of(runtime: &RuntimeStore, error: anyhow::Error) -> Failure {
        // What has called the function is not continued.
        if runtime.check_usable().is_err() {
            return Failure::Ends(error);
        }
        match thrown(runtime, &error) {
            Some((exception, backtrace)) => Failure::Throws(exception, backtrace),
            None => error.downcast().map_or_else(Failure::Ends, Failure::Suspends),
        }
    }
}

/// The exception that an error is, if it is one of this store, and where it was
/// thrown.
fn thrown(runtime: &RuntimeStore, error: &anyhow::Error) -> Option<(u64, Backtrace)> {
    let exception = error.downcast_ref::<Exception>()?;
    let word = exception.owned().word(runtime).ok()?;
    Some((word, exception.backtrace().clone()))
}

/// A closure as a function for any store with data of type `T`.
pub(crate) fn wrap<T, Params, Results, F: IntoFunc<T, Params, Results>>(
    engine: &Engine,
    func: F,
) -> Result<Arc<HostFunction>> {
    host_function(engine, func.into_closure())
}

/// A function of a type that is known only at run time.
pub(crate) fn new<T: 'static>(
    engine: &Engine,
    ty: FuncType,
    func: impl Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
) -> Result<Arc<HostFunction>> {
    let dynamic = Dynamic::<T> { ty: ty.clone(), func: Box::new(func) };
    let entry = match in_registers(&ty) {
        true => call_dynamic_in_registers::<T> as RegisterEntry as *const c_void,
        false => call_dynamic::<T> as HostEntry as *const c_void,
    };
    let results_fit = checked_results_fit;
    host_function(engine, HostClosure { ty, entry, results_fit, data: Box::new(dynamic) })
}

/// A function without its trampoline: many of those that a linker has are never
/// imported.
pub(crate) fn host_function(engine: &Engine, closure: HostClosure) -> Result<Arc<HostFunction>> {
    let number = engine.register_func(&closure.ty)?;
    let ty = engine.types().get(number).info();
    let HostClosure { entry: function, results_fit, data, .. } = closure;
    let trampoline = OnceLock::new();
    let host = HostFunction { ty, type_id: number, trampoline, function, results_fit, data };
    Ok(Arc::new(host))
}

/// Readies a function to be used in a store.
pub(crate) fn ready(engine: &Engine, function: &HostFunction) -> Result<()> {
    if function.trampoline.get().is_none() {
        let trampoline = Trampoline(engine.host_trampoline(function.type_id)?);
        // Another thread may have been faster, with the same.
        let _ = function.trampoline.set(trampoline);
    }
    Ok(())
}

type DynamicClosure<T> =
    dyn Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static;

/// A closure with its type.
struct Dynamic<T> {
    ty: FuncType,
    func: Box<DynamicClosure<T>>,
}

unsafe extern "C" fn call_dynamic<T: 'static>(
    context: *const HostContext,
    values: *mut RawVal,
) -> Outcome {
    // SAFETY: the trampoline passes the context of this function, and values
    // of its type.
    unsafe {
        run::<T, Dynamic<T>, Result<()>>(context, values, |dynamic, store, importer| {
            let called = Called::with(context, &store.0.runtime);
            dynamic.call(store, importer, called, values)
        })
    }
}

unsafe extern "C" fn call_dynamic_in_registers<T: 'static>(
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
    // SAFETY: as for `call_dynamic`, and the type takes and gives few enough.
    unsafe {
        let floats = floats(&(*(*context).data.cast::<Dynamic<T>>()).ty);
        registers.with_array(WORDS, floats, |values| call_dynamic::<T>(context, values))
    }
}

impl<T> Dynamic<T> {
    /// # Safety
    ///
    /// `values` must be arguments of the function's type, with room for the
    /// results.
    unsafe fn call(
        &self,
        mut store: StoreContextMut<'_, T>,
        importer: Option<Instance>,
        called: Called,
        values: *mut RawVal,
    ) -> Result<()> {
        let runtime = &mut *store.0.runtime;
        // SAFETY: the caller's promise.
        let argument =
            |(i, ty): (usize, &ValType)| unsafe { Val::from_raw(runtime, &*values.add(i), *ty) };
        let arguments: Vec<Val> = self.ty.params().iter().enumerate().map(argument).collect();
        let results = self.ty.results().iter();
        let mut results: Vec<Val> = results.map(|ty| Val::default_for(*ty)).collect();
        let caller = Caller { store: store.as_context_mut(), importer, called };
        (self.func)(caller, &arguments, &mut results)?;
        // SAFETY: there is room for the results.
        unsafe { put_results(&self.ty, results, &store.0.runtime, values) }
    }
}

/// Puts the results of a function of a type into places.
///
/// # Safety
///
/// There must be room for them.
pub(crate) unsafe fn put_results(
    ty: &FuncType,
    results: Vec<Val>,
    runtime: &RuntimeStore,
    places: *mut RawVal,
) -> Result<()> {
    for (i, (result, ty)) in results.into_iter().zip(ty.results()).enumerate() {
        let value = result.to_raw(runtime, *ty);
        let value = value.with_context(|| format!("in result {i}"))?;
        // SAFETY: the caller's promise.
        unsafe { places.add(i).write(value) };
    }
    Ok(())
}
