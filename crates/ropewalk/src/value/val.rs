//! Values of any type.

use crate::misuse::WrongType;
use crate::reference::{
    AnyRef, ArrayRef, ContRef, ExnRef, ExternRef, Handle, Inside, Reference, StructRef,
};
use crate::store::AsContext;
use crate::value::func::Func;
use anyhow::Result;
use ropewalk_abi::{HeapType, RawVal, RefType, TypeKind, ValType};
use ropewalk_runtime::Store as RuntimeStore;

/// A value of WebAssembly.
///
/// ```
/// use ropewalk::*;
///
/// let value = Val::from(2.5);
/// assert_eq!((value.ty(), value.f64(), value.i32()), (ValType::F64, Some(2.5), None));
///
/// let mut store = Store::new(&Engine::default(), ());
/// let reference = ExternRef::new(&mut store, "a value of the host")?;
/// let value = Val::from(reference);
/// assert_eq!(value.extern_ref(), Some(reference));
/// assert!(Val::null(RefType::EXTERNREF).is_null());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Val {
    /// A 32-bit integer.
    I32(i32),
    /// A 64-bit integer.
    I64(i64),
    /// The bits of a 32-bit float.
    F32(u32),
    /// The bits of a 64-bit float.
    F64(u64),
    /// A 128-bit vector; lane 0 is in the lowest bits.
    V128(u128),
    /// A function or null.
    FuncRef(Option<Func>),
    /// A host value or null.
    ExternRef(Option<ExternRef>),
    /// An internal value or null.
    AnyRef(Option<AnyRef>),
    /// An exception or null.
    ExnRef(Option<ExnRef>),
    /// A continuation or null.
    ContRef(Option<ContRef>),
}

impl Val {
    /// Its type. For a reference, the most general type of its kind.
    pub fn ty(&self) -> ValType {
        match self {
            Val::I32(_) => ValType::I32,
            Val::I64(_) => ValType::I64,
            Val::F32(_) => ValType::F32,
            Val::F64(_) => ValType::F64,
            Val::V128(_) => ValType::V128,
            Val::FuncRef(_) => ValType::FUNCREF,
            Val::ExternRef(_) => ValType::EXTERNREF,
            Val::AnyRef(_) => ValType::Ref(RefType::ANYREF),
            Val::ExnRef(_) => ValType::Ref(RefType::EXNREF),
            Val::ContRef(_) => ValType::Ref(RefType { nullable: true, heap: HeapType::Cont }),
        }
    }

    /// The null of a reference type. Only the engine knows the kind of a defined type, so its null
    /// is a [`Val::AnyRef`], which is accepted for every kind.
    pub fn null(ty: RefType) -> Val {
        match ty.heap {
            HeapType::Func | HeapType::NoFunc => Val::FuncRef(None),
            HeapType::Extern | HeapType::NoExtern => Val::ExternRef(None),
            HeapType::Exn | HeapType::NoExn => Val::ExnRef(None),
            HeapType::Cont | HeapType::NoCont => Val::ContRef(None),
            _ => Val::AnyRef(None),
        }
    }

    /// Whether it is a null.
    pub fn is_null(&self) -> bool {
        matches!(
            self,
            Val::FuncRef(None)
                | Val::ExternRef(None)
                | Val::AnyRef(None)
                | Val::ExnRef(None)
                | Val::ContRef(None)
        )
    }

    /// The default value of a type: zero or null.
    pub fn default_for(ty: ValType) -> Val {
        match ty {
            ValType::I32 => Val::I32(0),
            ValType::I64 => Val::I64(0),
            ValType::F32 => Val::F32(0),
            ValType::F64 => Val::F64(0),
            ValType::V128 => Val::V128(0),
            ValType::Ref(ty) => Val::null(ty),
        }
    }

    /// The value as the text format writes it, with the contents of structs and arrays. Arrays of
    /// bytes are written as text.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let mut store = Store::new(&engine, ());
    /// let ty = StructType::new(&engine, [
    ///     FieldType::new(ValType::I64, false),
    ///     FieldType::new(ValType::Ref(RefType::ANYREF), false),
    /// ])?;
    /// let seven = AnyRef::i31(&mut store, 7);
    /// let pair = StructRef::new(&mut store, &ty, &[Val::I64(-1), seven.into()])?;
    /// assert_eq!(Val::from(pair).describe(&store)?, "(struct (i64.const -1) (ref.i31 7))");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn describe(&self, store: impl AsContext) -> Result<String> {
        let store = store.as_context();
        let runtime = store.runtime();
        let raw = self.to_raw(runtime, self.ty())?;
        // SAFETY: the value belongs to the store and has the type, as `to_raw` has checked.
        Ok(unsafe { runtime.describe_value(self.ty(), &raw) })
    }

    /// The value as a store keeps it. Checks that it has the type. A reference is valid until the
    /// next allocation.
    pub(crate) fn to_raw(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
        let raw = match self {
            Val::I32(value) => RawVal::from_u32(value as u32),
            Val::I64(value) => RawVal::from_u64(value as u64),
            Val::F32(bits) => RawVal::from_u32(bits),
            Val::F64(bits) => RawVal::from_u64(bits),
            Val::V128(value) => RawVal::from_u128(value),
            Val::FuncRef(Some(func)) => RawVal::from_u64(func.to_word(runtime)?),
            Val::ExternRef(Some(value)) => {
                RawVal::from_u64(value.0.word(runtime, HeapType::Extern)?)
            }
            Val::AnyRef(Some(value)) => RawVal::from_u64(value.0.word(runtime, HeapType::Any)?),
            Val::ExnRef(Some(value)) => RawVal::from_u64(value.0.word(runtime, HeapType::Exn)?),
            Val::ContRef(Some(value)) => {
                RawVal::from_u64(value.handle.word(runtime, HeapType::Cont)?)
            }
            Val::FuncRef(None) | Val::ExternRef(None) => RawVal::ZERO,
            Val::AnyRef(None) | Val::ExnRef(None) | Val::ContRef(None) => RawVal::ZERO,
        };
        let fits = match ty {
            ValType::Ref(ty) => {
                // SAFETY: the reference belongs to the store, and is null or of that hierarchy.
                self.same_hierarchy(runtime, ty) && unsafe { runtime.has_type(raw.u64(), ty) }
            }
            number => self.ty() == number,
        };
        if fits {
            return Ok(raw);
        }
        let types = runtime.types();
        let found = types.describe(self.exact_type(runtime, &raw));
        Err(WrongType::new("value", types.describe(ty), found).into())
    }

    /// Its exact type, as far as it is known, for an error.
    fn exact_type(&self, runtime: &RuntimeStore, raw: &RawVal) -> ValType {
        match (self, self.ty()) {
            (Val::ContRef(Some(reference)), _) => reference.ty(),
            // SAFETY: the reference belongs to the store, and has the kind of its type.
            (_, ValType::Ref(ty)) => ValType::Ref(unsafe { runtime.type_of(raw.u64(), ty) }),
            (_, number) => number,
        }
    }

    /// Whether it is a reference of the same kind as a type.
    fn same_hierarchy(&self, runtime: &RuntimeStore, ty: RefType) -> bool {
        let kind = match ty.heap {
            HeapType::Concrete(number) => Some(runtime.types().kind(number)),
            _ => None,
        };
        let is_func = match kind {
            Some(kind) => kind == TypeKind::Func,
            None => matches!(ty.heap, HeapType::Func | HeapType::NoFunc),
        };
        let is_cont = match kind {
            Some(kind) => kind == TypeKind::Cont,
            None => matches!(ty.heap, HeapType::Cont | HeapType::NoCont),
        };
        match self {
            Val::FuncRef(_) => is_func,
            Val::ExternRef(_) => matches!(ty.heap, HeapType::Extern | HeapType::NoExtern),
            Val::ExnRef(_) => matches!(ty.heap, HeapType::Exn | HeapType::NoExn),
            Val::ContRef(None) => is_cont,
            Val::ContRef(Some(value)) => is_cont && value.fits(runtime, ty),
            // `Val::null` returns this for every defined type.
            Val::AnyRef(None) if kind.is_some() => true,
            Val::AnyRef(_) => !is_func && !is_cont && matches!(Val::null(ty), Val::AnyRef(_)),
            _ => false,
        }
    }

    /// The value that a store keeps as `raw`.
    ///
    /// # Safety
    ///
    /// `raw` must belong to the store and have the type.
    pub(crate) unsafe fn from_raw(runtime: &mut RuntimeStore, raw: &RawVal, ty: ValType) -> Val {
        match ty {
            ValType::I32 => Val::I32(raw.u32() as i32),
            ValType::I64 => Val::I64(raw.u64() as i64),
            ValType::F32 => Val::F32(raw.u32()),
            ValType::F64 => Val::F64(raw.u64()),
            ValType::V128 => Val::V128(raw.u128()),
            // SAFETY: the caller's promise.
            ValType::Ref(ty) => unsafe { Val::from_word(runtime, raw.u64(), ty.heap) },
        }
    }

    /// # Safety
    ///
    /// The word must be a reference of the store and have the type.
    unsafe fn from_word(runtime: &mut RuntimeStore, word: u64, heap: HeapType) -> Val {
        match heap {
            // SAFETY: the caller promises that it is a function or null.
            HeapType::Func => Val::FuncRef(unsafe { Func::from_word(runtime, word) }),
            HeapType::Extern => Val::ExternRef(rooted(runtime, word)),
            HeapType::Exn => Val::ExnRef(rooted(runtime, word)),
            HeapType::NoFunc => Val::FuncRef(None),
            HeapType::NoExtern => Val::ExternRef(None),
            HeapType::NoExn => Val::ExnRef(None),
            HeapType::Concrete(number) if runtime.types().kind(number) == TypeKind::Func => {
                // SAFETY: the caller promises that it is a function or null.
                Val::FuncRef(unsafe { Func::from_word(runtime, word) })
            }
            HeapType::Concrete(number) if runtime.types().kind(number) == TypeKind::Cont => {
                Val::ContRef(ContRef::from_word(runtime, word, heap))
            }
            HeapType::Cont => Val::ContRef(ContRef::from_word(runtime, word, heap)),
            HeapType::NoCont => Val::ContRef(None),
            _ => Val::AnyRef(rooted(runtime, word)),
        }
    }
}

/// The reference in a word, unless it is null.
pub(crate) fn rooted<R: Reference<Detail = ()>>(
    runtime: &mut RuntimeStore,
    word: u64,
) -> Option<R> {
    (word != 0).then(|| R::from_handle(Handle::new(runtime, word), (), Inside(())))
}

macro_rules! getters {
    ($($what:literal $get:ident: $variant:ident(|$value:ident| $got:expr) -> Option<$ty:ty>;)*) => {
        impl Val {
            $(
                #[doc = concat!("The ", $what, ", if it is one.")]
                pub fn $get(&self) -> Option<$ty> {
                    if let Val::$variant($value) = *self { $got } else { None }
                }
            )*
        }
    };
}

getters! {
    "`i32`" i32: I32(|value| Some(value)) -> Option<i32>;
    "`i64`" i64: I64(|value| Some(value)) -> Option<i64>;
    "`f32`" f32: F32(|bits| Some(f32::from_bits(bits))) -> Option<f32>;
    "`f64`" f64: F64(|bits| Some(f64::from_bits(bits))) -> Option<f64>;
    "`v128`" v128: V128(|value| Some(value)) -> Option<u128>;
    "function" func_ref: FuncRef(|value| value) -> Option<Func>;
    "host value" extern_ref: ExternRef(|value| value) -> Option<ExternRef>;
    "internal value" any_ref: AnyRef(|value| value) -> Option<AnyRef>;
    "exception" exn_ref: ExnRef(|value| value) -> Option<ExnRef>;
    "continuation" cont_ref: ContRef(|value| value) -> Option<ContRef>;
}

macro_rules! unwraps {
    ($($name:ident: $get:ident -> $ty:ty;)*) => {
        impl Val {
            $(
                #[doc = concat!("The `", stringify!($get), "`.")]
                ///
                /// # Panics
                ///
                /// If the value has another type.
                #[track_caller]
                pub fn $name(&self) -> $ty {
                    match self.$get() {
                        Some(value) => value,
                        None => panic!(concat!("expected an ", stringify!($get), ", found {:?}"), self),
                    }
                }
            )*
        }
    };
}

unwraps! {
    unwrap_i32: i32 -> i32;
    unwrap_i64: i64 -> i64;
    unwrap_f32: f32 -> f32;
    unwrap_f64: f64 -> f64;
    unwrap_v128: v128 -> u128;
}

macro_rules! from {
    ($($ty:ty => |$value:ident| $val:expr;)*) => {
        $(impl From<$ty> for Val {
            fn from($value: $ty) -> Val {
                $val
            }
        })*
    };
}

from! {
    i32 => |value| Val::I32(value);
    i64 => |value| Val::I64(value);
    f32 => |value| Val::F32(value.to_bits());
    f64 => |value| Val::F64(value.to_bits());
    u128 => |value| Val::V128(value);
    u32 => |value| Val::I32(value as i32);
    u64 => |value| Val::I64(value as i64);
    StructRef => |value| Val::AnyRef(Some(value.into()));
    ArrayRef => |value| Val::AnyRef(Some(value.into()));
    Option<Func> => |value| Val::FuncRef(value);
    Option<ExternRef> => |value| Val::ExternRef(value);
    Option<AnyRef> => |value| Val::AnyRef(value);
    Option<StructRef> => |value| Val::AnyRef(value.map(AnyRef::from));
    Option<ArrayRef> => |value| Val::AnyRef(value.map(AnyRef::from));
    Option<ExnRef> => |value| Val::ExnRef(value);
    Option<ContRef> => |value| Val::ContRef(value);
    Func => |value| Val::FuncRef(Some(value));
    ExternRef => |value| Val::ExternRef(Some(value));
    AnyRef => |value| Val::AnyRef(Some(value));
    ExnRef => |value| Val::ExnRef(Some(value));
    ContRef => |value| Val::ContRef(Some(value));
}
