//! Values of any type.

use crate::externref::ExternRef;
use crate::func::Func;
use anyhow::{Result, ensure};
use ropewalk_abi::{HeapType, RawVal, RefType, ValType};
use ropewalk_runtime::Store as RuntimeStore;

/// A value of WebAssembly.
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
}

impl Val {
    /// Its type.
    pub fn ty(&self) -> ValType {
        match self {
            Val::I32(_) => ValType::I32,
            Val::I64(_) => ValType::I64,
            Val::F32(_) => ValType::F32,
            Val::F64(_) => ValType::F64,
            Val::V128(_) => ValType::V128,
            Val::FuncRef(_) => ValType::FUNCREF,
            Val::ExternRef(_) => ValType::EXTERNREF,
        }
    }

    /// The null of a reference type.
    pub fn null(ty: RefType) -> Val {
        match ty.heap {
            HeapType::Func => Val::FuncRef(None),
            HeapType::Extern => Val::ExternRef(None),
        }
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

    /// The value as a store keeps it, checked to have the type.
    pub(crate) fn to_raw(self, runtime: &RuntimeStore, ty: ValType) -> Result<RawVal> {
        ensure!(self.ty() == ty, "expected a value of type {ty}, found one of type {}", self.ty());
        Ok(match self {
            Val::I32(value) => RawVal::from_u32(value as u32),
            Val::I64(value) => RawVal::from_u64(value as u64),
            Val::F32(bits) => RawVal::from_u32(bits),
            Val::F64(bits) => RawVal::from_u64(bits),
            Val::V128(value) => RawVal::from_u128(value),
            Val::FuncRef(None) | Val::ExternRef(None) => RawVal::ZERO,
            Val::FuncRef(Some(func)) => RawVal::from_u64(func.to_word(runtime)?),
            Val::ExternRef(Some(value)) => RawVal::from_u64(value.to_word(runtime)?),
        })
    }

    /// The value that a store keeps as `raw`.
    ///
    /// # Safety
    ///
    /// `raw` must be a value of the store and of the type.
    pub(crate) unsafe fn from_raw(runtime: &RuntimeStore, raw: &RawVal, ty: ValType) -> Val {
        match ty {
            ValType::I32 => Val::I32(raw.u32() as i32),
            ValType::I64 => Val::I64(raw.u64() as i64),
            ValType::F32 => Val::F32(raw.u32()),
            ValType::F64 => Val::F64(raw.u64()),
            ValType::V128 => Val::V128(raw.u128()),
            ValType::Ref(ty) => match ty.heap {
                // SAFETY: the caller says that it is a function or null.
                HeapType::Func => Val::FuncRef(unsafe { Func::from_word(runtime, raw.u64()) }),
                HeapType::Extern => Val::ExternRef(ExternRef::from_word(runtime, raw.u64())),
            },
        }
    }
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
    Func => |value| Val::FuncRef(Some(value));
    ExternRef => |value| Val::ExternRef(Some(value));
}
