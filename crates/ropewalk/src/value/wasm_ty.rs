//! The Rust types that stand for types of WebAssembly.

use crate::reference::{AnyRef, ArrayRef, ContRef, ExnRef, ExternRef, StructRef};
use crate::value::func::Func;
use crate::value::type_check::checked;
use crate::value::val::{Val, rooted};
use anyhow::Result;
use ropewalk_abi::{HeapType, RawVal, RefType, ValType};
use ropewalk_runtime::Store as RuntimeStore;

/// A Rust type that stands for a type of WebAssembly.
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
/// A function of a [`Linker`](crate::Linker) fits an import with defined types in the same way: its
/// results are checked at each call.
///
/// The engine trusts an implementation for another type, so implementing this is `unsafe`:
///
/// ```compile_fail,E0200
/// use ropewalk::*;
///
/// struct Address(u64);
///
/// impl WasmTy for Address {
///     fn ty() -> ValType {
///         ValType::Ref(RefType::ANYREF)
///     }
/// }
/// ```
///
/// # Safety
///
/// `from_raw` must accept every value of the type `ty()`, and `to_raw` must return only such
/// values.
pub unsafe trait WasmTy: Sized + Send {
    /// The type of WebAssembly.
    fn ty() -> ValType;

    #[doc(hidden)]
    fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal>;

    #[doc(hidden)]
    /// # Safety
    ///
    /// The value must belong to the store and have the type.
    unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal) -> Self;

    /// Whether values are passed in float registers.
    #[doc(hidden)]
    const IS_FLOAT: bool = false;

    /// Whether values are longer than a word.
    #[doc(hidden)]
    const IS_VECTOR: bool = false;

    /// Whether a value may or may not fit where a defined type is expected.
    #[doc(hidden)]
    const MAY_BE_CHECKED: bool = false;

    /// As `to_raw`, but checks that the value has this type.
    #[doc(hidden)]
    /// # Safety
    ///
    /// Some values of `ty()` must have that type.
    unsafe fn to_raw_of(self, runtime: &RuntimeStore, _: ValType) -> Result<RawVal> {
        self.to_raw(runtime)
    }

    /// Whether it keeps the exact type of a value.
    #[doc(hidden)]
    const NEEDS_TYPE: bool = false;

    /// As `from_raw`, for a value whose exact type is known.
    #[doc(hidden)]
    /// # Safety
    ///
    /// The value must belong to the store and have that type, which is a subtype of `ty()`.
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

/// Implements [`WasmTy`] for `Option`s of references, through the reference types.
macro_rules! nullable {
    ($(impl<$($generic:ident: $bound:path)?> Option<$ty:ty>;)*) => {
        $(
            // SAFETY: a nullable reference is null, or a reference as the type says.
            unsafe impl<$($generic: $bound)?> WasmTy for Option<$ty> {
                fn ty() -> ValType {
                    let ValType::Ref(ty) = <$ty as WasmTy>::ty() else { unreachable!("a reference") };
                    ValType::Ref(RefType { nullable: true, ..ty })
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
                    // SAFETY: the caller's promise, and the word is not null.
                    (raw.u64() != 0).then(|| unsafe { <$ty as WasmTy>::from_raw(runtime, raw) })
                }

                const NEEDS_TYPE: bool = <$ty as WasmTy>::NEEDS_TYPE;

                unsafe fn from_raw_of(
                    runtime: &mut RuntimeStore,
                    raw: &RawVal,
                    ty: ValType,
                ) -> Self {
                    // SAFETY: the caller's promise, and the word is not null.
                    (raw.u64() != 0).then(|| unsafe { <$ty as WasmTy>::from_raw_of(runtime, raw, ty) })
                }
            }
        )*
    };
}

pub(crate) use nullable;

nullable! {
    impl<> Option<Func>;
    impl<> Option<ExternRef>;
    impl<> Option<AnyRef>;
    impl<> Option<StructRef>;
    impl<> Option<ArrayRef>;
    impl<> Option<ExnRef>;
    impl<> Option<ContRef>;
}

// SAFETY: a function reference that is not null points to a function of its store.
unsafe impl WasmTy for Func {
    fn ty() -> ValType {
        ValType::Ref(RefType { nullable: false, heap: HeapType::Func })
    }

    fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
        Ok(RawVal::from_u64(self.to_word(runtime)?))
    }

    const MAY_BE_CHECKED: bool = true;

    unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
        // SAFETY: both are functions.
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
            // SAFETY: a reference of that type refers to a value of that kind.
            unsafe impl WasmTy for $ty {
                fn ty() -> ValType {
                    ValType::Ref(RefType { nullable: false, heap: HeapType::$heap })
                }

                fn to_raw(self, runtime: &RuntimeStore) -> Result<RawVal> {
                    Ok(RawVal::from_u64(self.0.word(runtime, HeapType::$heap)?))
                }

                const MAY_BE_CHECKED: bool = true;

                unsafe fn to_raw_of(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
                    // SAFETY: neither is a function.
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

// SAFETY: a reference of that type refers to a stack.
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
        let ValType::Ref(ty) = ty else { unreachable!("a reference") };
        ContRef::from_word(runtime, raw.u64(), ty.heap).expect("not null")
    }
}
