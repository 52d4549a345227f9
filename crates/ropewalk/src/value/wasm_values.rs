//! Parameters and results of functions, with Rust's types.

use crate::misuse::WrongType;
use crate::value::type_check::Fit;
use crate::value::wasm_ty::WasmTy;
use anyhow::{Context as _, Result};
use ropewalk_abi::signature::WORDS;
use ropewalk_abi::{FuncType, RawVal, ValType};
use ropewalk_runtime::{Store as RuntimeStore, TypeRegistry};
use std::mem::MaybeUninit;

/// The parameters of a function: one [`WasmTy`], or a tuple of them.
///
/// ```
/// use ropewalk::*;
///
/// fn call<P: WasmParams>(store: &mut Store<()>, func: Func, params: P) -> Result<i32> {
///     func.typed::<P, i32>(&*store)?.call(store, params)
/// }
///
/// let mut store = Store::new(&Engine::default(), ());
/// let sum = Func::wrap(&mut store, |a: i32, b: i32| a + b);
/// assert_eq!(call(&mut store, sum, (2, 3))?, 5);
/// # Ok::<(), Error>(())
/// ```
///
/// The engine trusts an implementation, so implementing this is `unsafe`:
///
/// ```compile_fail,E0200
/// use ropewalk::*;
///
/// struct Nothing;
///
/// impl WasmParams for Nothing {}
/// ```
///
/// # Safety
///
/// `store` must write values of the types that `types` returns.
pub unsafe trait WasmParams: Send {
    #[doc(hidden)]
    const COUNT: usize;

    /// Room for `COUNT` values.
    #[doc(hidden)]
    type Places: Copy + Send;

    #[doc(hidden)]
    fn types() -> Vec<ValType>;

    #[doc(hidden)]
    /// # Safety
    ///
    /// There must be room for `COUNT` values.
    unsafe fn store(self, runtime: &RuntimeStore, values: *mut RawVal) -> Result<()>;

    /// Which values are floats, as bits.
    #[doc(hidden)]
    const FLOATS: u64;

    /// Whether a value is longer than a word.
    #[doc(hidden)]
    const HAVE_VECTORS: bool;

    /// Whether values can fail to fit a defined type, so that each must be checked.
    #[doc(hidden)]
    const MAY_BE_CHECKED: bool;

    /// As `store`, but checks that the values have these types. Errors call a value `what`.
    #[doc(hidden)]
    /// # Safety
    ///
    /// There must be room for `COUNT` values. Some values must fit these types.
    unsafe fn store_of(
        self,
        runtime: &RuntimeStore,
        values: *mut RawVal,
        types: &[ValType],
        what: &str,
    ) -> Result<()>;

    #[doc(hidden)]
    fn fit(types: &TypeRegistry, expected: &[ValType]) -> Fit {
        Fit::all(types, &Self::types(), expected)
    }
}

/// The results of a function: one [`WasmTy`], or a tuple of them.
///
/// ```
/// use ropewalk::*;
///
/// fn call<R: WasmResults>(store: &mut Store<()>, func: Func) -> Result<R> {
///     func.typed::<(), R>(&*store)?.call(store, ())
/// }
///
/// let mut store = Store::new(&Engine::default(), ());
/// let both = Func::wrap(&mut store, || (2, 0.5));
/// assert_eq!(call::<(i32, f64)>(&mut store, both)?, (2, 0.5));
/// # Ok::<(), Error>(())
/// ```
///
/// # Safety
///
/// `load` must accept all values of the types that `types` returns.
pub unsafe trait WasmResults: WasmParams + Sized {
    #[doc(hidden)]
    /// # Safety
    ///
    /// There must be `COUNT` values of the types that `types` returns.
    unsafe fn load(runtime: &mut RuntimeStore, values: *const RawVal) -> Self;

    /// Whether the exact types of the values must be known.
    #[doc(hidden)]
    const NEED_TYPES: bool;

    /// As `load`, with the exact types of the values.
    #[doc(hidden)]
    /// # Safety
    ///
    /// There must be values of these types, which must be accepted.
    unsafe fn load_of(runtime: &mut RuntimeStore, values: *const RawVal, types: &[ValType])
    -> Self;

    #[doc(hidden)]
    fn accept(types: &TypeRegistry, found: &[ValType]) -> bool {
        let all = Self::types();
        let mut pairs = found.iter().zip(&all);
        found.len() == all.len() && pairs.all(|(a, b)| types.is_subtype(*a, *b))
    }
}

// SAFETY: as for the type.
unsafe impl<A: WasmTy> WasmParams for A {
    const COUNT: usize = 1;

    type Places = [MaybeUninit<RawVal>; 1];

    fn types() -> Vec<ValType> {
        vec![A::ty()]
    }

    #[inline]
    unsafe fn store(self, runtime: &RuntimeStore, values: *mut RawVal) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { values.write(self.to_raw(runtime)?) };
        Ok(())
    }

    const FLOATS: u64 = A::IS_FLOAT as u64;

    const HAVE_VECTORS: bool = A::IS_VECTOR;

    const MAY_BE_CHECKED: bool = A::MAY_BE_CHECKED;

    unsafe fn store_of(
        self,
        runtime: &RuntimeStore,
        values: *mut RawVal,
        types: &[ValType],
        what: &str,
    ) -> Result<()> {
        // SAFETY: the caller's promise.
        unsafe { (self,).store_of(runtime, values, types, what) }
    }
}

// SAFETY: as for the type.
unsafe impl<A: WasmTy> WasmResults for A {
    #[inline]
    unsafe fn load(runtime: &mut RuntimeStore, values: *const RawVal) -> Self {
        // SAFETY: the caller's promise.
        unsafe { A::from_raw(runtime, &*values) }
    }

    const NEED_TYPES: bool = A::NEEDS_TYPE;

    unsafe fn load_of(
        runtime: &mut RuntimeStore,
        values: *const RawVal,
        types: &[ValType],
    ) -> Self {
        // SAFETY: the caller's promise.
        unsafe { A::from_raw_of(runtime, &*values, types[0]) }
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),*))*) => {
        $(
            // SAFETY: as for each type.
            #[allow(unused_variables, reason = "the empty tuple has no values")]
            unsafe impl<$($name: WasmTy),*> WasmParams for ($($name,)*) {
                const COUNT: usize = <[usize]>::len(&[$($index),*]);

                type Places = [MaybeUninit<RawVal>; <[usize]>::len(&[$($index),*])];

                fn types() -> Vec<ValType> {
                    vec![$($name::ty()),*]
                }

                #[inline]
                unsafe fn store(self, runtime: &RuntimeStore, values: *mut RawVal) -> Result<()> {
                    // SAFETY: the caller's promise.
                    $(unsafe { values.add($index).write(self.$index.to_raw(runtime)?) };)*
                    Ok(())
                }

                const FLOATS: u64 = 0 $(| ($name::IS_FLOAT as u64) << $index)*;

                const HAVE_VECTORS: bool = false $(|| $name::IS_VECTOR)*;

                const MAY_BE_CHECKED: bool = false $(|| $name::MAY_BE_CHECKED)*;

                unsafe fn store_of(
                    self,
                    runtime: &RuntimeStore,
                    values: *mut RawVal,
                    types: &[ValType],
                    what: &str,
                ) -> Result<()> {
                    // SAFETY: the caller's promise.
                    $(unsafe {
                        let raw = self.$index.to_raw_of(runtime, types[$index]);
                        let raw = raw.with_context(|| format!("in {what} {}", $index))?;
                        values.add($index).write(raw);
                    })*
                    Ok(())
                }
            }

            // SAFETY: as for each type.
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no values")]
            unsafe impl<$($name: WasmTy),*> WasmResults for ($($name,)*) {
                #[inline]
                unsafe fn load(runtime: &mut RuntimeStore, values: *const RawVal) -> Self {
                    // SAFETY: the caller's promise.
                    ($(unsafe { $name::from_raw(runtime, &*values.add($index)) },)*)
                }

                const NEED_TYPES: bool = false $(|| $name::NEEDS_TYPE)*;

                unsafe fn load_of(
                    runtime: &mut RuntimeStore,
                    values: *const RawVal,
                    types: &[ValType],
                ) -> Self {
                    // SAFETY: the caller's promise.
                    ($(unsafe {
                        $name::from_raw_of(runtime, &*values.add($index), types[$index])
                    },)*)
                }
            }
        )*
    };
}

for_each_tuple!(tuples);

/// Whether functions of these types pass all values in
/// [registers](ropewalk_abi::signature::in_registers).
pub(crate) const fn has_few_words<Params: WasmParams, Results: WasmParams>() -> bool {
    let have_vectors = Params::HAVE_VECTORS || Results::HAVE_VECTORS;
    Params::COUNT <= WORDS && Results::COUNT <= 1 && !have_vectors
}

/// Places for the values of a call.
pub(crate) union Places<Params: WasmParams, Results: WasmParams> {
    empty: (),
    _params: Params::Places,
    _results: Results::Places,
    _word: MaybeUninit<RawVal>,
}

impl<Params: WasmParams, Results: WasmParams> Places<Params, Results> {
    pub const EMPTY: Places<Params, Results> = Places { empty: () };

    /// Room for all parameters, or for all results, and for at least one value.
    pub fn as_mut_ptr(&mut self) -> *mut RawVal {
        std::ptr::from_mut(self).cast()
    }
}

/// Fails unless a function, or the like, can be used with Rust's types. Returns whether each use
/// must be checked.
pub(crate) fn fit<Params: WasmParams, Results: WasmResults>(
    types: &TypeRegistry,
    what: &'static str,
    found: &FuncType,
) -> Result<bool, WrongType> {
    let fit = Params::fit(types, found.params());
    if fit == Fit::Never || !Results::accept(types, found.results()) {
        let expected = FuncType::new(Params::types(), Results::types());
        return Err(WrongType::new(what, expected, types.describe_func(found)));
    }
    Ok(fit == Fit::Checked)
}
