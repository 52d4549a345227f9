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
    /// Its type; of a reference, the most general one of its kind.
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

    /// The null of a reference type. Of which kind a defined type is only the
    /// engine knows; its null is [`Val::AnyRef`], and is taken for every kind.
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

    /// The value, if it is an `i32`.
    pub fn i32(&self) -> Option<i32> {
        if let Val::I32(value) = self { Some(*value) } else { None }
    }

    /// The value, if it is an `i64`.
    pub fn i64(&self) -> Option<i64> {
        if let Val::I64(value) = self { Some(*value) } else { None }
    }

    /// The value, if it is an `f32`.
    pub fn f32(&self) -> Option<f32> {
        if let Val::F32(bits) = self { Some(f32::from_bits(*bits)) } else { None }
    }

    /// The value, if it is an `f64`.
    pub fn f64(&self) -> Option<f64> {
        if let Val::F64(bits) = self { Some(f64::from_bits(*bits)) } else { None }
    }

    /// The value, if it is a `v128`.
    pub fn v128(&self) -> Option<u128> {
        if let Val::V128(value) = self { Some(*value) } else { None }
    }

    /// The function, if it is one.
    pub fn func_ref(&self) -> Option<Func> {
        if let Val::FuncRef(value) = self { *value } else { None }
    }

    /// The host value, if it is one.
    pub fn extern_ref(&self) -> Option<ExternRef> {
        if let Val::ExternRef(value) = self { *value } else { None }
    }

    /// The internal value, if it is one.
    pub fn any_ref(&self) -> Option<AnyRef> {
        if let Val::AnyRef(value) = self { *value } else { None }
    }

    /// The exception, if it is one.
    pub fn exn_ref(&self) -> Option<ExnRef> {
        if let Val::ExnRef(value) = self { *value } else { None }
    }

    /// The continuation, if it is one.
    pub fn cont_ref(&self) -> Option<ContRef> {
        if let Val::ContRef(value) = self { *value } else { None }
    }

    /// The value as the text format would write it; of structs and arrays, what is in them, and of
    /// arrays of bytes their text.
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
        // SAFETY: it is a value of the store, and was found to have the type.
        Ok(unsafe { runtime.describe_value(self.ty(), &raw) })
    }

    /// The value as a store keeps it, checked to have the type. A reference is
    /// valid until the next allocation.
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
                // SAFETY: it is a reference of the store, and of that hierarchy
                // or null.
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

    /// Its type, as exactly as it is known, for an error.
    fn exact_type(&self, runtime: &RuntimeStore, raw: &RawVal) -> ValType {
        match (self, self.ty()) {
            (Val::ContRef(Some(reference)), _) => reference.ty(),
            // SAFETY: the reference is of the store, and of the kind of its type.
            (_, ValType::Ref(ty)) => ValType::Ref(unsafe { runtime.type_of(raw.u64(), ty) }),
            (_, number) => number,
        }
    }

    /// Whether it is a reference of the same kind as those of a type.
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
            // What `Val::null` returns for any defined type.
            Val::AnyRef(None) if kind.is_some() => true,
            Val::AnyRef(_) => !is_func && !is_cont && matches!(Val::null(ty), Val::AnyRef(_)),
            _ => false,
        }
    }

    /// The value that a store keeps as `raw`.
    ///
    /// # Safety
    ///
    /// `raw` must be a value of the store and of the type.
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
    /// The word must be a reference of the store and of the type.
    unsafe fn from_word(runtime: &mut RuntimeStore, word: u64, heap: HeapType) -> Val {
        match heap {
            // SAFETY: the caller says that it is a function or null.
            HeapType::Func => Val::FuncRef(unsafe { Func::from_word(runtime, word) }),
            HeapType::Extern => Val::ExternRef(rooted(runtime, word)),
            HeapType::Exn => Val::ExnRef(rooted(runtime, word)),
            HeapType::NoFunc => Val::FuncRef(None),
            HeapType::NoExtern => Val::ExternRef(None),
            HeapType::NoExn => Val::ExnRef(None),
            HeapType::Concrete(number) if runtime.types().kind(number) == TypeKind::Func => {
                // SAFETY: the caller says that it is a function or null.
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

/// The reference that a word is, unless it is null.
pub(crate) fn rooted<R: Reference<Detail = ()>>(
    runtime: &mut RuntimeStore,
    word: u64,
) -> Option<R> {
    (word != 0).then(|| R::from_handle(Handle::new(runtime, word), (), Inside(())))
}

macro_rules! unwraps {
    ($($name:ident: $get:ident -> $ty:ty;)*) => {
        impl Val {
            $(
                #[doc = concat!("The value, which must be an `", stringify!($get), "`.")]
                ///
                /// # Panics
                ///
                /// If it is another.
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
