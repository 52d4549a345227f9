//! Functions with Rust's types.

use crate::bag::BagStack;
use crate::call::public_error;
use crate::continuation::Continuation;
use crate::fiber::Fiber;
use crate::first_class::FirstClassStack;
use crate::fit::{Fit, checked};
use crate::func::Func;
use crate::misuse::WrongType;
use crate::reference::{AnyRef, ArrayRef, ContRef, ExnRef, ExternRef, StructRef};
use crate::store::{AsContextMut, StoreContext, StoreContextMut};
use crate::task::Task;
use crate::val::{Val, rooted};
use crate::waiting::WaitingCall;
use anyhow::{Context as _, Result};
use ropewalk_abi::signature::WORDS;
use ropewalk_abi::{FuncType, HeapType, RawVal, RefType, ValType};
use ropewalk_runtime::{
    NOBODY, Poller, Stop, Store as RuntimeStore, TypeRegistry, Words, call_by, call_with_words,
};
use std::ffi::c_void;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::mem::MaybeUninit;

/// A type of Rust that stands for a type of WebAssembly.
///
/// | in Rust | in WebAssembly |
/// | --- | --- |
/// | `i32`, `u32` | `i32` |
/// | `i64`, `u64` | `i64` |
/// | `f32`, `f64` | `f32`, `f64` |
/// | `u128` | `v128` |
/// | [`Func`](crate::Func) | `(ref func)`, and a parameter of a defined function type |
/// | [`StructRef`](crate::StructRef), [`ArrayRef`](crate::ArrayRef), [`AnyRef`](crate::AnyRef) | `(ref struct)`, `(ref array)`, `(ref any)`, and a parameter of a defined type |
/// | [`ExternRef`](crate::ExternRef), [`ExnRef`](crate::ExnRef) | `(ref extern)`, `(ref exn)` |
/// | [`ContRef`](crate::ContRef), [`Continuation`](crate::Continuation), [`BagStack`](crate::BagStack), [`FirstClassStack`](crate::FirstClassStack), [`Task`](crate::Task), [`Fiber`](crate::Fiber) | `(ref cont)`, and a parameter of a defined type |
/// | [`Owned<R>`](crate::Owned) | as `R` |
/// | `Option` of a reference | the same with null |
///
/// A result may have a subtype of its Rust type. A parameter of a defined type, such as
/// `(ref null $list)`, is checked at each call:
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (type $list (struct (field i32) (field (ref null $list))))
///       (func (export "cons") (param i32 (ref null $list)) (result (ref $list))
///         (struct.new $list (local.get 0) (local.get 1)))
///       (func (export "head") (param (ref $list)) (result i32)
///         (struct.get $list 0 (local.get 0))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// type Cons = TypedFunc<(i32, Option<StructRef>), StructRef>;
/// let cons: Cons = instance.get_typed_func(&mut store, "cons")?;
/// let head = instance.get_typed_func::<StructRef, i32>(&mut store, "head")?;
///
/// let list = cons.call(&mut store, (1, None))?;
/// let list = cons.call(&mut store, (2, Some(list)))?;
/// assert_eq!(head.call(&mut store, list)?, 2);
///
/// let other = StructType::new(&engine, [])?;
/// let other = StructRef::new(&mut store, &other, &[])?;
/// assert!(head.call(&mut store, other).unwrap_err().is::<WrongType>());
/// # Ok::<(), Error>(())
/// ```
///
/// # Safety
///
/// `from_raw` must accept every value of the type that `ty` says, and `to_raw`
/// return only such.
pub unsafe trait WasmTy: Sized + Send {
    /// The type of WebAssembly.
    fn ty() -> ValType;

    #[doc(hidden)]
    fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal>;

    #[doc(hidden)]
    /// # Safety
    ///
    /// The value must be of the store and of the type.
    unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self;

    /// Whether a value travels in a register for floats.
    #[doc(hidden)]
    const IS_FLOAT: bool = false;

    /// Whether it is longer than a word.
    #[doc(hidden)]
    const IS_VECTOR: bool = false;

    /// Whether values of it may fit or not where a defined type is expected.
    #[doc(hidden)]
    const MAY_BE_CHECKED: bool = false;

    /// The same as `to_raw`, where it must be checked that the value has a type.
    #[doc(hidden)]
    /// # Safety
    ///
    /// Some value of `ty()` must be one of that type.
    unsafe fn to_raw_of(self, runtime: &RuntimeStore, _: ValType) -> Result<RawVal> {
        self.to_raw(runtime)
    }

    /// Whether it must know the very type of a value that it is made of.
    #[doc(hidden)]
    const NEEDS_TYPE: bool = false;

    /// The value, of which the very type is known.
    #[doc(hidden)]
    /// # Safety
    ///
    /// The value must be of the store and of that type, which is a subtype of `ty`.
    unsafe fn from_raw_of(runtime: &mut RuntimeStore, raw: &RawVal, _: ValType) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Self::from_raw(runtime, raw) }
    }
}

macro_rules! numbers {
    ($($ty:ty: $val:ident, |$value:ident| $to:expr, |$raw:ident| $from:expr;)*) => {
        $(
            // SAFETY: every bit pattern is a value.
            unsafe impl WasmTy for $ty {
                fn ty() -> ValType {
                    ValType::$val
                }

                const IS_FLOAT: bool = ValType::$val.is_float_class();

                const IS_VECTOR: bool = matches!(ValType::$val, ValType::V128);

                #[inline]
                fn to_raw(self, _: &RuntimeStore) -> Result<RawVal> {
                    let $value = self;
                    Ok($to)
                }

                #[inline]
                unsafe fn from_raw(_: &mut RuntimeStore, $raw: &RawVal) -> $ty {
                    $from
                }
            }
        )*
    };
}

numbers! {
    i32: I32, |value| RawVal::from_u32(value as u32), |raw| raw.u32() as i32;
    u32: I32, |value| RawVal::from_u32(value), |raw| raw.u32();
    i64: I64, |value| RawVal::from_u64(value as u64), |raw| raw.u64() as i64;
    u64: I64, |value| RawVal::from_u64(value), |raw| raw.u64();
    f32: F32, |value| RawVal::from_u32(value.to_bits()), |raw| f32::from_bits(raw.u32());
    f64: F64, |value| RawVal::from_u64(value.to_bits()), |raw| f64::from_bits(raw.u64());
    u128: V128, |value| RawVal::from_u128(value), |raw| raw.u128();
}

// SAFETY: a function reference is null or points to a function of its store.
unsafe impl WasmTy for Option<Func> {
    fn ty() -> ValType {
        ValType::FUNCREF
    }

    fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
        self.map_or(Ok(RawVal::ZERO), |func| Ok(RawVal::from_u64(func.to_word(runtime)?)))
    }

    const MAY_BE_CHECKED: bool = true;

    unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
        // SAFETY: both are of functions.
        unsafe { checked(runtime, self.to_raw(runtime)?, ty) }
    }

    unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Func::from_word(runtime, raw.u64()) }
    }
}

// SAFETY: a function reference that is not null points to a function.
unsafe impl WasmTy for Func {
    fn ty() -> ValType {
        ValType::Ref(RefType { nullable: false, heap: HeapType::Func })
    }

    fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
        Ok(RawVal::from_u64(self.to_word(runtime)?))
    }

    const MAY_BE_CHECKED: bool = true;

    unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
        // SAFETY: both are of functions.
        unsafe { checked(runtime, self.to_raw(runtime)?, ty) }
    }

    unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Func::from_word(runtime, raw.u64()) }.expect("not null")
    }
}

macro_rules! references {
    ($($ty:ident: $heap:ident;)*) => {
        $(
            // SAFETY: a reference of that type is null or names what it says.
            unsafe impl WasmTy for Option<$ty> {
                fn ty() -> ValType {
                    ValType::Ref(RefType { nullable: true, heap: HeapType::$heap })
                }

                fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
                    self.map_or(Ok(RawVal::ZERO), |value| value.to_raw(runtime))
                }

                const MAY_BE_CHECKED: bool = true;

                unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
                    // SAFETY: neither is of functions.
                    unsafe { checked(runtime, self.to_raw(runtime)?, ty) }
                }

                unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
                    rooted(runtime, raw.u64())
                }
            }

            // SAFETY: a reference of that type names what it says.
            unsafe impl WasmTy for $ty {
                fn ty() -> ValType {
                    ValType::Ref(RefType { nullable: false, heap: HeapType::$heap })
                }

                fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
                    Ok(RawVal::from_u64(self.0.word(runtime, HeapType::$heap)?))
                }

                const MAY_BE_CHECKED: bool = true;

                unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
                    // SAFETY: neither is of functions.
                    unsafe { checked(runtime, self.to_raw(runtime)?, ty) }
                }

                unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
                    rooted(runtime, raw.u64()).expect("not null")
                }
            }
        )*
    };
}

references! {
    ExternRef: Extern;
    AnyRef: Any;
    StructRef: Struct;
    ArrayRef: Array;
    ExnRef: Exn;
}

// SAFETY: a reference of that type is null or names a continuation.
unsafe impl WasmTy for Option<ContRef> {
    fn ty() -> ValType {
        ValType::Ref(RefType::CONTREF)
    }

    fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
        self.map_or(Ok(RawVal::ZERO), |value| value.to_raw(runtime))
    }

    const MAY_BE_CHECKED: bool = true;

    unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
        // SAFETY: the caller's promise.
        self.map_or(Ok(RawVal::ZERO), |value| unsafe { value.to_raw_of(runtime, ty) })
    }

    unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
        ContRef::from_word(runtime, raw.u64(), HeapType::Cont)
    }

    const NEEDS_TYPE: bool = true;

    unsafe fn from_raw_of(runtime: &mut RuntimeStore, raw: &RawVal, ty: ValType) -> Self {
        let ValType::Ref(ty) = ty else { unreachable!("a reference") };
        ContRef::from_word(runtime, raw.u64(), ty.heap)
    }
}

// SAFETY: a reference of that type names a continuation.
unsafe impl WasmTy for ContRef {
    fn ty() -> ValType {
        ValType::Ref(RefType { nullable: false, heap: HeapType::Cont })
    }

    fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
        Ok(RawVal::from_u64(self.handle.word(runtime, HeapType::Cont)?))
    }

    const MAY_BE_CHECKED: bool = true;

    unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
        Val::from(self).to_raw(runtime, ty)
    }

    unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
        ContRef::from_word(runtime, raw.u64(), HeapType::Cont).expect("not null")
    }

    const NEEDS_TYPE: bool = true;

    unsafe fn from_raw_of(runtime: &mut RuntimeStore, raw: &RawVal, ty: ValType) -> Self {
        // SAFETY: the caller's promise.
        unsafe { Option::<ContRef>::from_raw_of(runtime, raw, ty) }.expect("not null")
    }
}

/// A function that returns one of these gives it to the host, and one that takes it gets
/// it.
macro_rules! of_designs {
    ($($ty:ident: $into_word:ident, $into_word_of:ident;)*) => {
        $(
            // SAFETY: a reference of that type is null or names a stack.
            unsafe impl WasmTy for Option<$ty> {
                fn ty() -> ValType {
                    ValType::Ref(RefType::CONTREF)
                }

                fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
                    self.map_or(Ok(RawVal::ZERO), |value| value.to_raw(runtime))
                }

                const MAY_BE_CHECKED: bool = true;

                unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
                    // SAFETY: the caller's promise.
                    self.map_or(Ok(RawVal::ZERO), |value| unsafe { value.to_raw_of(runtime, ty) })
                }

                unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
                    // SAFETY: the caller's promise.
                    unsafe { Self::from_raw_of(runtime, raw, Self::ty()) }
                }

                const NEEDS_TYPE: bool = true;

                unsafe fn from_raw_of(
                    runtime: &mut RuntimeStore,
                    raw: &RawVal,
                    ty: ValType,
                ) -> Self {
                    (raw.u64() != 0).then(|| $ty::from_word(runtime, raw.u64(), ty))
                }
            }

            // SAFETY: a reference of that type names a stack.
            unsafe impl WasmTy for $ty {
                fn ty() -> ValType {
                    ValType::Ref(RefType { nullable: false, heap: HeapType::Cont })
                }

                fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
                    Ok(RawVal::from_u64(self.$into_word(runtime)?))
                }

                const MAY_BE_CHECKED: bool = true;

                unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
                    let ValType::Ref(ty) = ty else { unreachable!("a reference") };
                    Ok(RawVal::from_u64(self.$into_word_of(runtime, ty)?))
                }

                unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self {
                    $ty::from_word(runtime, raw.u64(), <Self as WasmTy>::ty())
                }

                const NEEDS_TYPE: bool = true;

                unsafe fn from_raw_of(
                    runtime: &mut RuntimeStore,
                    raw: &RawVal,
                    ty: ValType,
                ) -> Self {
                    $ty::from_word(runtime, raw.u64(), ty)
                }
            }
        )*
    };
}

of_designs! {
    Continuation: into_word, into_word_of;
    BagStack: into_word, into_word_of;
    FirstClassStack: into_word, into_word_of;
    Task: word, word_of;
    Fiber: word, word_of;
}

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
/// # Safety
///
/// The values written must have the types that are told.
pub unsafe trait WasmParams: Send {
    #[doc(hidden)]
    const COUNT: usize;

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

    /// The same as `store`, where it must be checked that the values have types.
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
    ) -> Result<()> {
        // SAFETY: there is room for one value, and some fit.
        unsafe { values.write(self.to_raw_of(runtime, types[0]).context("in argument 0")?) };
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
                ) -> Result<()> {
                    // SAFETY: there is room for as many values, and some of each fit.
                    $(unsafe {
                        let raw = self.$index.to_raw_of(runtime, types[$index]);
                        let raw = raw.context(concat!("in argument ", $index))?;
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

/// The most values that a tuple has.
pub(crate) const MAX_VALUES: usize = 16;

/// Places for the values of a call.
pub(crate) struct Places(pub [MaybeUninit<RawVal>; MAX_VALUES]);

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

/// A function with Rust's types, checked once.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module (func (export "divmod") (param i32 i32) (result i32 i32)
///       (i32.div_s (local.get 0) (local.get 1))
///       (i32.rem_s (local.get 0) (local.get 1))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let divmod = instance.get_typed_func::<(i32, i32), (i32, i32)>(&mut store, "divmod")?;
/// assert_eq!(divmod.call(&mut store, (17, 5))?, (3, 2));
/// # Ok::<(), Error>(())
/// ```
pub struct TypedFunc<Params, Results> {
    func: Func,
    /// The entry trampoline, unless it is called with words.
    trampoline: *const c_void,
    /// Whether it must be checked that arguments have the types of its parameters.
    checked: bool,
    _types: PhantomData<fn(Params) -> Results>,
}

// SAFETY: the pointer is to code, which lives as long as the engine.
unsafe impl<Params, Results> Send for TypedFunc<Params, Results> {}
// SAFETY: as above.
unsafe impl<Params, Results> Sync for TypedFunc<Params, Results> {}

impl<Params, Results> Clone for TypedFunc<Params, Results> {
    fn clone(&self) -> Self {
        TypedFunc { _types: PhantomData, ..*self }
    }
}

impl<Params, Results> std::fmt::Debug for TypedFunc<Params, Results> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TypedFunc").field("func", &self.func).finish_non_exhaustive()
    }
}

impl<Params: WasmParams, Results: WasmResults> TypedFunc<Params, Results> {
    /// Whether it is called with [a few words](ropewalk_abi::signature::in_registers).
    const IN_REGISTERS: bool = {
        let have_vectors = Params::HAVE_VECTORS || Results::HAVE_VECTORS;
        Params::COUNT <= WORDS && Results::COUNT <= 1 && !have_vectors
    };

    pub(crate) fn new<T>(store: StoreContext<'_, T>, func: Func) -> Result<Self> {
        let type_id = func.type_id(store.runtime())?;
        let types = store.engine().types();
        let found = types.func_type(type_id);
        let checked = fit::<Params, Results>(types, "function", &found)?;
        let trampoline = match Self::IN_REGISTERS {
            true => std::ptr::null(),
            false => store.engine().entry_trampoline(type_id)?,
        };
        Ok(TypedFunc { func, trampoline, checked, _types: PhantomData })
    }

    pub(crate) fn is_checked(&self) -> bool {
        self.checked
    }

    /// Puts arguments into places.
    ///
    /// # Safety
    ///
    /// There must be room for them.
    #[inline]
    unsafe fn put(
        &self,
        params: Params,
        runtime: &RuntimeStore,
        values: *mut RawVal,
    ) -> Result<()> {
        // SAFETY: the caller's promise; in `new` it was found that they fit, or may.
        unsafe {
            if !Params::MAY_BE_CHECKED || !self.checked {
                return params.store(runtime, values);
            }
            let ty = runtime.types().func_type(self.func.type_id(runtime)?);
            params.store_of(runtime, values, ty.params())
        }
    }

    /// The function without Rust's types.
    pub fn func(&self) -> &Func {
        &self.func
    }

    /// Calls it.
    #[inline]
    pub fn call(&self, mut store: impl AsContextMut, params: Params) -> Result<Results> {
        let store = store.as_context_mut();
        let mut values = Places([MaybeUninit::uninit(); MAX_VALUES]);
        let values: *mut RawVal = values.0.as_mut_ptr().cast();
        // SAFETY: there is room for as many values as any function takes and gives.
        unsafe {
            match self.begin(StoreContextMut(&mut *store.0), params, values, NOBODY) {
                Ok(word) => Ok(self.results(&mut store.0.runtime, values, word)),
                Err(stop) => Err(public_error(stop.into_error())),
            }
        }
    }

    /// Calls it in a future, which waits for host functions that are not ready.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<()> {
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "sleep" (func $sleep (param i32) (result i32)))
    ///       (func (export "run") (result i32)
    ///         (i32.add (call $sleep (i32.const 20)) (call $sleep (i32.const 10)))))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_async("host", "sleep", |_: Caller<'_, ()>, (time,): (i32,)| {
    ///     Box::new(async move {
    ///         tokio::time::sleep(std::time::Duration::from_millis(time as u64)).await;
    ///         time * 2
    ///     })
    /// })?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = linker.instantiate_async(&mut store, &module).await?;
    /// let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
    /// assert_eq!(run.call_async(&mut store, ()).await?, 60);
    /// # Ok(()) }
    /// ```
    ///
    /// While it waits, its stacks are left as they are: nothing runs, and no thread is
    /// blocked. Dropping the future gives the call up: its stacks are freed, and the
    /// store can be used again.
    pub async fn call_async(
        &self,
        mut store: impl AsContextMut<Data: Send>,
        params: Params,
    ) -> Result<Results> {
        let mut store = store.as_context_mut();
        self.func.in_store(&store.0.runtime)?;
        let mut values = Places([MaybeUninit::uninit(); MAX_VALUES]);
        let mut params = Some(params);
        // SAFETY: this future has the store.
        let mut call = unsafe { WaitingCall::new(store.enter()) };
        poll_fn(|context| {
            // SAFETY: the places are pinned with the future.
            unsafe {
                call.poll(context, |_, poller| {
                    let params = params.take().expect("a call begins once");
                    let store = StoreContextMut(&mut *store.0);
                    self.begin(store, params, values.0.as_mut_ptr().cast(), poller)
                })
            }
        })
        .await
        .map(|word| {
            drop(call);
            // SAFETY: the results are in their places.
            unsafe { self.results(&mut store.0.runtime, values.0.as_mut_ptr().cast(), word) }
        })
    }

    /// Begins a call that may wait, if somebody polls it. When it has ended, what it
    /// returned is for [`results`](Self::results).
    ///
    /// # Safety
    ///
    /// There must be room for all values, in places that stay where they are as long as
    /// the call waits, and the poller be valid until this returns.
    #[inline]
    pub(crate) unsafe fn begin<T>(
        &self,
        mut store: StoreContextMut<'_, T>,
        params: Params,
        values: *mut RawVal,
        poller: Poller,
    ) -> Result<u64, Stop> {
        const { assert!(Params::COUNT <= MAX_VALUES && Results::COUNT <= MAX_VALUES) };
        let func_ref = self.func.in_store(&store.0.runtime)?;
        // SAFETY: the values have the types that were checked in `new`; the rest is the
        // caller's promise.
        unsafe {
            self.put(params, &store.0.runtime, values)?;
            match Self::IN_REGISTERS {
                true => call_with_words(store.enter(), func_ref, Self::words(values), poller),
                false => call_by(store.enter(), func_ref, self.trampoline, values, poller),
            }
        }
    }

    /// Arguments as words.
    ///
    /// # Safety
    ///
    /// They must be there.
    #[inline(always)]
    unsafe fn words(values: *const RawVal) -> Words {
        let mut words = Words::none(Results::FLOATS != 0);
        let (mut integers, mut floats) = (0, 0);
        for i in 0..Params::COUNT {
            // SAFETY: the caller's promise.
            let word = unsafe { (*values.add(i)).u64() };
            if Params::FLOATS >> i & 1 == 0 {
                words.integers[integers].write(word);
                integers += 1;
            } else {
                words.floats[floats].write(f64::from_bits(word));
                floats += 1;
            }
        }
        words
    }

    /// The results of a call, which has returned a word.
    ///
    /// # Safety
    ///
    /// They must be in the places, unless they are that word.
    #[inline]
    pub(crate) unsafe fn results(
        &self,
        runtime: &mut RuntimeStore,
        values: *mut RawVal,
        word: u64,
    ) -> Results {
        // SAFETY: the types were checked in `new`.
        unsafe {
            if Self::IN_REGISTERS {
                values.write(RawVal::from_u64(word));
            }
            if !Results::NEED_TYPES {
                return Results::load(runtime, values);
            }
            let number = self.func.type_id(runtime).expect("it was just called");
            let ty = runtime.types().func_type(number);
            Results::load_of(runtime, values, ty.results())
        }
    }
}
