//! Host functions: closures of the embedder that WebAssembly calls.
//!
//! | | |
//! | --- | --- |
//! | [`entry`] | the entry points that trampolines call |
//! | [`signature`] | parameters and results: Rust's types, or types known only at run time |
//! | [`async_func`], [`pending_call`] | functions that wait, and their pending calls |
//! | [`failure`] | functions that fail: exceptions, suspensions, errors, panics |
//! | [`async_call`], [`concurrent`] | calls into WebAssembly that are futures |
//!
//! A host function runs on the host's stack, so a panic unwinds only Rust frames. It is caught
//! there, and continues where WebAssembly was called.

pub(crate) mod async_call;
pub(crate) mod async_func;
pub(crate) mod call_limit;
pub(crate) mod caller;
pub(crate) mod concurrent;
pub(crate) mod deadlock;
pub(crate) mod entry;
mod failure;
pub(crate) mod interrupt;
pub(crate) mod pending_call;
pub(crate) mod signature;
pub(crate) mod store_lock;

use crate::engine::Engine;
use crate::host::caller::Caller;
use crate::host::entry::Direct;
use crate::host::signature::{Dynamic, Typed};
use crate::value::val::Val;
use crate::value::wasm_ty::WasmTy;
use crate::value::wasm_values::WasmResults;
use anyhow::Result;
use ropewalk_abi::{FuncType, ValType};
use ropewalk_runtime::{HostFunction, Trampoline, TypeRegistry};
use std::any::Any;
use std::ffi::c_void;
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

/// A closure that can be a host function: it takes up to 16 [`WasmTy`]s, optionally preceded by
/// a [`Caller`], and returns a [`WasmRet`].
///
/// This crate implements it for all such closures:
///
/// ```
/// use ropewalk::*;
///
/// /// Instantiates a module that imports one function.
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
/// Other crates cannot implement it, since they cannot name the type that its method returns.
/// Otherwise a closure for stores with other data could be smuggled in:
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

/// A closure with its type, and its entry point.
#[doc(hidden)]
pub struct HostClosure {
    ty: FuncType,
    /// As [`HostFunction::function`].
    entry: *const c_void,
    results_fit: ResultsFit,
    data: Box<dyn Any + Send + Sync>,
}

/// As [`HostFunction::results_fit`].
type ResultsFit = fn(&TypeRegistry, &[ValType], &[ValType]) -> bool;

macro_rules! into_func {
    ($(($($name:ident $index:tt),*))*) => {
        $(
            #[allow(non_snake_case, reason = "values are named after their types")]
            impl<T, Fun, $($name,)* Ret> IntoFunc<T, ($($name,)*), Ret> for Fun
            where
                Fun: Fn($($name),*) -> Ret + Send + Sync + 'static,
                $($name: WasmTy,)*
                Ret: WasmRet,
            {
                fn into_closure(self) -> HostClosure {
                    let func = move |_: Caller<'_, T>, $($name: $name),*| self($($name),*);
                    <_ as IntoFunc<T, (Caller<'_, T>, $($name,)*), Ret>>::into_closure(func)
                }
            }

            #[allow(non_snake_case, reason = "values are named after their types")]
            impl<T, Fun, $($name,)* Ret> IntoFunc<T, (Caller<'_, T>, $($name,)*), Ret> for Fun
            where
                Fun: Fn(Caller<'_, T>, $($name),*) -> Ret + Send + Sync + 'static,
                $($name: WasmTy,)*
                Ret: WasmRet,
            {
                fn into_closure(self) -> HostClosure {
                    let func = move |caller: Caller<'_, T>, ($($name,)*): ($($name,)*)| {
                        self(caller, $($name),*).into_values()
                    };
                    HostClosure::new::<Direct<T, Typed<_, Ret::Values>, _>>((), func)
                }
            }
        )*
    };
}

for_each_tuple!(into_func);

type DynamicClosure<T> =
    dyn Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static;

impl HostClosure {
    /// A function of a type that is known only at run time.
    pub(crate) fn dynamic<T: 'static>(ty: FuncType, func: Box<DynamicClosure<T>>) -> HostClosure {
        let func = move |caller: Caller<'_, T>, (arguments, mut results): (Vec<Val>, Vec<Val>)| {
            func(caller, &arguments, &mut results)?;
            Ok(results)
        };
        HostClosure::new::<Direct<T, Dynamic, _>>(ty, func)
    }

    /// A function without its trampoline: many functions of a linker are never imported.
    pub(crate) fn into_function(self, engine: &Engine) -> Result<Arc<HostFunction>> {
        let HostClosure { ty, entry: function, results_fit, data } = self;
        let type_id = engine.register_func(&ty)?;
        let ty = engine.types().get(type_id).info();
        let trampoline = OnceLock::new();
        Ok(Arc::new(HostFunction { ty, type_id, trampoline, function, results_fit, data }))
    }
}

/// Compiles the trampoline of a function, so that a store can use it.
pub(crate) fn ready(engine: &Engine, function: &HostFunction) -> Result<()> {
    if function.trampoline.get().is_none() {
        let trampoline = Trampoline(engine.host_trampoline(function.type_id)?);
        // Another thread may have set the same one.
        let _ = function.trampoline.set(trampoline);
    }
    Ok(())
}
