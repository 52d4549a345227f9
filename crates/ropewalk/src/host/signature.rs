//! The signatures of host functions: how arguments are read, and results written.

use crate::value::type_check::Fit;
use crate::value::val::Val;
use crate::value::wasm_values::{WasmParams, WasmResults, has_few_words};
use anyhow::{Context, Result};
use ropewalk_abi::signature::WORDS;
use ropewalk_abi::{FuncType, HostContext, LeftCall, RawVal, ValType};
use ropewalk_runtime::{SharedFuncType, Store as RuntimeStore, TypeRegistry};
use std::marker::PhantomData;

/// The parameters and results of a host function.
pub(crate) trait Signature {
    /// The part of the signature that is known only at run time.
    type Data: Send + Sync + 'static;
    type Params;
    type Values;

    fn ty(data: &Self::Data) -> FuncType;

    /// For a function whose values are in registers: how many parameters it has, and as bits,
    /// which of them are floats.
    fn words(data: &Self::Data) -> (usize, u64);

    /// Describes the results to a stack that was left in a call.
    fn left_call(data: &Self::Data) -> LeftCall;

    /// Reads the arguments of a function that was called with a context.
    ///
    /// # Safety
    ///
    /// `values` must hold arguments of the type that the context says.
    unsafe fn take(
        data: &Self::Data,
        runtime: &mut RuntimeStore,
        context: &HostContext,
        values: *const RawVal,
    ) -> Self::Params;

    /// Writes the results of a function that was called with a context. Checks those that may
    /// not have the types that the caller expects.
    ///
    /// # Safety
    ///
    /// There must be room for them.
    unsafe fn put(
        data: &Self::Data,
        values: Self::Values,
        context: &HostContext,
        runtime: &RuntimeStore,
        places: *mut RawVal,
    ) -> Result<()>;

    /// As [`HostFunction::results_fit`](ropewalk_runtime::HostFunction::results_fit).
    fn results_fit(types: &TypeRegistry, found: &[ValType], expected: &[ValType]) -> bool;
}

/// Rust's types.
pub(crate) struct Typed<Params, Values>(PhantomData<(Params, Values)>);

impl<Params: WasmResults, Values: WasmParams> Signature for Typed<Params, Values> {
    type Data = ();
    type Params = Params;
    type Values = Values;

    fn ty((): &()) -> FuncType {
        FuncType::new(Params::types(), Values::types())
    }

    #[inline(always)]
    fn words((): &()) -> (usize, u64) {
        (Params::COUNT, Params::FLOATS)
    }

    fn left_call((): &()) -> LeftCall {
        let in_registers = has_few_words::<Params, Values>();
        LeftCall::new(Params::COUNT, Values::COUNT, in_registers)
    }

    #[inline(always)]
    unsafe fn take(
        (): &(),
        runtime: &mut RuntimeStore,
        context: &HostContext,
        values: *const RawVal,
    ) -> Params {
        // SAFETY: the caller's promise. Linking has checked that the types fit.
        unsafe {
            match Params::NEED_TYPES {
                false => Params::load(runtime, values),
                true => Params::load_of(runtime, values, called_as(runtime, context).params()),
            }
        }
    }

    #[inline(always)]
    unsafe fn put(
        (): &(),
        values: Values,
        context: &HostContext,
        runtime: &RuntimeStore,
        places: *mut RawVal,
    ) -> Result<()> {
        // SAFETY: the caller's promise. Linking has checked that the types fit, or may fit.
        unsafe {
            match Values::MAY_BE_CHECKED {
                false => values.store(runtime, places),
                true => {
                    let ty = called_as(runtime, context);
                    values.store_of(runtime, places, ty.results(), "result")
                }
            }
        }
    }

    fn results_fit(types: &TypeRegistry, _: &[ValType], expected: &[ValType]) -> bool {
        Values::fit(types, expected) != Fit::Never
    }
}

/// A type that is known only at run time. The parameters are the arguments, and default values
/// for the results.
pub(crate) struct Dynamic;

impl Signature for Dynamic {
    type Data = FuncType;
    type Params = (Vec<Val>, Vec<Val>);
    type Values = Vec<Val>;

    fn ty(ty: &FuncType) -> FuncType {
        ty.clone()
    }

    fn words(ty: &FuncType) -> (usize, u64) {
        let bit = |(i, ty): (usize, &ValType)| u64::from(ty.is_float_class()) << i;
        let params = ty.params().iter().take(WORDS);
        (params.len(), params.enumerate().map(bit).sum())
    }

    fn left_call(ty: &FuncType) -> LeftCall {
        LeftCall::of(ty)
    }

    unsafe fn take(
        ty: &FuncType,
        runtime: &mut RuntimeStore,
        _: &HostContext,
        values: *const RawVal,
    ) -> (Vec<Val>, Vec<Val>) {
        let params = ty.params().iter().enumerate();
        // SAFETY: the caller's promise.
        let arguments =
            params.map(|(i, ty)| unsafe { Val::from_raw(runtime, &*values.add(i), *ty) });
        let results = ty.results().iter().map(|ty| Val::default_for(*ty));
        (arguments.collect(), results.collect())
    }

    unsafe fn put(
        ty: &FuncType,
        values: Vec<Val>,
        _: &HostContext,
        runtime: &RuntimeStore,
        places: *mut RawVal,
    ) -> Result<()> {
        for (i, (value, ty)) in values.into_iter().zip(ty.results()).enumerate() {
            let value = value.to_raw(runtime, *ty);
            let value = value.with_context(|| format!("in result {i}"))?;
            // SAFETY: the caller's promise.
            unsafe { places.add(i).write(value) };
        }
        Ok(())
    }

    fn results_fit(types: &TypeRegistry, found: &[ValType], expected: &[ValType]) -> bool {
        Fit::all(types, found, expected) == Fit::Always
    }
}

/// The type that a function is called as.
///
/// # Safety
///
/// The context must belong to a host function of the store.
pub(crate) unsafe fn called_as(runtime: &RuntimeStore, context: &HostContext) -> SharedFuncType {
    // SAFETY: types live as long as the engine.
    runtime.types().shared_func_type(unsafe { (*context.ty).id })
}
