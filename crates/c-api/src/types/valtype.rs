//! Types of values.

use crate::support::boundary::or_default;
use crate::support::owned::copied;
use anyhow::{Result, bail};
use ropewalk::{Engine, HeapType, RefType, ValType};

/// The kinds of values, as the headers number them.
pub(crate) mod kind {
    pub const I32: u8 = 0;
    pub const I64: u8 = 1;
    pub const F32: u8 = 2;
    pub const F64: u8 = 3;
    pub const EXTERNREF: u8 = 128;
    pub const FUNCREF: u8 = 129;
    pub const V128: u8 = 200;
    pub const ANYREF: u8 = 201;
    pub const EXNREF: u8 = 202;
    pub const CONTREF: u8 = 203;

    /// Whether values of a kind are pointers.
    pub fn has_pointer(kind: u8) -> bool {
        kind >= EXTERNREF
    }

    /// The name of a kind in messages.
    pub fn name(kind: u8) -> &'static str {
        match kind {
            I32 => "i32",
            I64 => "i64",
            F32 => "f32",
            F64 => "f64",
            EXTERNREF => "externref",
            FUNCREF => "funcref",
            V128 => "v128",
            ANYREF => "anyref",
            EXNREF => "exnref",
            CONTREF => "contref",
            _ => "a value of an unknown kind",
        }
    }
}

/// The type of a value with its kind, which depends on the engine for defined types.
#[derive(Clone)]
pub struct wasm_valtype_t {
    pub(crate) ty: ValType,
    kind: u8,
}

impl wasm_valtype_t {
    pub(crate) fn of(engine: &Engine, ty: ValType) -> wasm_valtype_t {
        wasm_valtype_t { ty, kind: kind_of(engine, ty) }
    }

    fn new(kind: u8) -> Result<wasm_valtype_t> {
        let nullable = |heap| ValType::Ref(RefType::new(true, heap));
        let ty = match kind {
            kind::I32 => ValType::I32,
            kind::I64 => ValType::I64,
            kind::F32 => ValType::F32,
            kind::F64 => ValType::F64,
            kind::V128 => ValType::V128,
            kind::EXTERNREF => ValType::EXTERNREF,
            kind::FUNCREF => ValType::FUNCREF,
            kind::ANYREF => nullable(HeapType::Any),
            kind::EXNREF => nullable(HeapType::Exn),
            kind::CONTREF => nullable(HeapType::Cont),
            _ => bail!("expected a kind of values such as WASM_I32, found {kind}"),
        };
        Ok(wasm_valtype_t { ty, kind })
    }
}

/// The kind of values of a type.
pub(crate) fn kind_of(engine: &Engine, ty: ValType) -> u8 {
    match ty {
        ValType::I32 => kind::I32,
        ValType::I64 => kind::I64,
        ValType::F32 => kind::F32,
        ValType::F64 => kind::F64,
        ValType::V128 => kind::V128,
        ValType::Ref(ty) => match engine.top_type(ty.heap) {
            HeapType::Func => kind::FUNCREF,
            HeapType::Extern => kind::EXTERNREF,
            HeapType::Exn => kind::EXNREF,
            HeapType::Cont => kind::CONTREF,
            _ => kind::ANYREF,
        },
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_valtype_new(kind: u8) -> Option<Box<wasm_valtype_t>> {
    or_default(|| Ok(Some(Box::new(wasm_valtype_t::new(kind)?))))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_valtype_kind(ty: Option<&wasm_valtype_t>) -> u8 {
    ty.map_or(kind::I32, |ty| ty.kind)
}

copied! {
    "wasm_valtype": wasm_valtype_t;
}
