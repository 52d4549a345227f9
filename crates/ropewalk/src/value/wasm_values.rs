//! Parameters and results with Rust's types.

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
/// The engine relies on what an implementation tells, so that is `unsafe`:
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
/// The values written must have the types that are told.
pub unsafe trait WasmParams: Send {
    #[doc(hidden)]
    const COUNT: usize;

    /// Room for as many values.
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

    /// Whether some value is longer than a word.
    #[doc(hidden)]
    const HAVE_VECTORS: bool;

    /// Whether some value may fit or not where a defined type is expected.
    #[doc(hidden)]
    const MAY_BE_CHECKED: bool;

    /// The same as `store`, where it must be checked that the values have types. An error
    /// calls them as it is told.
    #[doc(hidden)]
    /// # Safety
    ///
    /// There must be room for `COUNT` values, and these types be such that some values
    /// fit.
    unsafe fn store_of(
        self,
        runtime: &RuntimeStore,
        values: *mut RawVal,
        types: &[ValType],
        what: &str,
    ) -> Result<()>;

    /// Whether the values fit where these types are expected.
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
/// Values of the types that are told must be accepted.
pub unsafe trait WasmResults: WasmParams + Sized {
    #[doc(hidden)]
    /// # Safety
    ///
    /// There must be `COUNT` values of the right types.
    unsafe fn load(runtime: &mut RuntimeStore, values: *const RawVal) -> Self;

    /// Whether the very types of the values must be known.
    #[doc(hidden)]
    const NEED_TYPES: bool;

    /// The same, with the very types of the values.
    #[doc(hidden)]
    /// # Safety
    ///
    /// There must be values of these types, which are accepted.
    unsafe fn load_of(runtime: &mut RuntimeStore, values: *const RawVal, types: &[ValType])
    -> Self;

    /// Whether values of these types are accepted.
    #[doc(hidden)]
    fn accept(types: &TypeRegistry, found: &[ValType]) -> bool {
        let all = Self::types();
        let mut pairs = found.iter().zip(&all);
        found.len() == all.len() && pairs.all(|(a, b)| types.is_subtype(*a, *b))
    }
}

// SAFETY: it is as its type says.
unsafe impl<A: WasmTy> WasmParams for A {
    const COUNT: usize = 1;

    type Places = [MaybeUninit<RawVal>; 1];

    fn types() -> Vec<ValType> {
        vec![A::ty()]
    }

    #[inline]
    unsafe fn store(self, runtime: &RuntimeStore, values: *mut RawVal) -> Result<()> {
        // SAFETY: there is room for one value.
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
        // SAFETY: there is room for one value, and some fit.
        unsafe {
            let raw = self.to_raw_of(runtime, types[0]);
            values.write(raw.with_context(|| format!("in {what} 0"))?);
        }
        Ok(())
    }
}

// SAFETY: it is as its type says.
unsafe impl<A: WasmTy> WasmResults for A {
    #[inline]
    unsafe fn load(runtime: &mut RuntimeStore, values: *const RawVal) -> Self {
        // SAFETY: there is one value, of that type.
        unsafe { A::from_raw(runtime, &*values) }
    }

    const NEED_TYPES: bool = A::NEEDS_TYPE;

    unsafe fn load_of(
        runtime: &mut RuntimeStore,
        values: *const RawVal,
        types: &[ValType],
    ) -> Self {
        // SAFETY: as above.
        unsafe { A::from_raw_of(runtime, &*values, types[0]) }
    }
}

macro_rules! tuples {
    ($(($($name:ident $index:tt),*))*) => {
        $(
            // SAFETY: each is as its type says.
            #[allow(unused_variables, reason = "the empty tuple has no values")]
            unsafe impl<$($name: WasmTy),*> WasmParams for ($($name,)*) {
                const COUNT: usize = <[usize]>::len(&[$($index),*]);

                type Places = [MaybeUninit<RawVal>; <[usize]>::len(&[$($index),*])];

                fn types() -> Vec<ValType> {
                    vec![$($name::ty()),*]
                }

                #[inline]
                unsafe fn store(self, runtime: &RuntimeStore, values: *mut RawVal) -> Result<()> {
                    // SAFETY: there is room for as many values.
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
                    // SAFETY: there is room for as many values, and some of each fit.
                    $(unsafe {
                        let raw = self.$index.to_raw_of(runtime, types[$index]);
                        let raw = raw.with_context(|| format!("in {what} {}", $index))?;
                        values.add($index).write(raw);
                    })*
                    Ok(())
                }
            }

            // SAFETY: each is as its type says.
            #[allow(unused_variables, clippy::unused_unit, reason = "the empty tuple has no values")]
            unsafe impl<$($name: WasmTy),*> WasmResults for ($($name,)*) {
                #[inline]
                unsafe fn load(runtime: &mut RuntimeStore, values: *const RawVal) -> Self {
                    // SAFETY: there are as many values, of these types.
                    ($(unsafe { $name::from_raw(runtime, &*values.add($index)) },)*)
                }

                const NEED_TYPES: bool = false $(|| $name::NEEDS_TYPE)*;

                unsafe fn load_of(
                    runtime: &mut RuntimeStore,
                    values: *const RawVal,
                    types: &[ValType],
                ) -> Self {
                    // SAFETY: there are as many values, of these types.
                    ($(unsafe {
                        $name::from_raw_of(runtime, &*values.add($index), types[$index])
                    },)*)
                }
            }
        )*
    };
}

for_each_tuple!(tuples);

/// Whether functions of these types [take and give a few
/// words](ropewalk_abi::signature::in_registers).
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

    /// Room for all parameters, for all results, and for at least one value.
    pub fn as_mut_ptr(&mut self) -> *mut RawVal {
        std::ptr::from_mut(self).cast()
    }
}

/// Fails unless something of a type can be used with Rust's types; returns whether each
/// use must be checked.
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
