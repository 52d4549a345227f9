//! From wasmparser's types to ours.

use ropewalk_abi::module::{ConstExpr, ConstOp};
use ropewalk_abi::{FuncType, GlobalType, HeapType, MemoryType, RefType, TableType, ValType};
use wasmparser::{AbstractHeapType, Operator};

pub(crate) fn val_type(ty: wasmparser::ValType) -> ValType {
    match ty {
        wasmparser::ValType::I32 => ValType::I32,
        wasmparser::ValType::I64 => ValType::I64,
        wasmparser::ValType::F32 => ValType::F32,
        wasmparser::ValType::F64 => ValType::F64,
        wasmparser::ValType::V128 => ValType::V128,
        wasmparser::ValType::Ref(ty) => ValType::Ref(ref_type(ty)),
    }
}

pub(crate) fn ref_type(ty: wasmparser::RefType) -> RefType {
    RefType { nullable: ty.is_nullable(), heap: heap_type(ty.heap_type()) }
}

fn heap_type(ty: wasmparser::HeapType) -> HeapType {
    match ty {
        wasmparser::HeapType::Abstract { shared: false, ty: AbstractHeapType::Func } => {
            HeapType::Func
        }
        wasmparser::HeapType::Abstract { shared: false, ty: AbstractHeapType::Extern } => {
            HeapType::Extern
        }
        other => unreachable!("the engine's features do not admit {other:?}"),
    }
}

pub(crate) fn func_type(ty: &wasmparser::FuncType) -> FuncType {
    FuncType::new(
        ty.params().iter().copied().map(val_type),
        ty.results().iter().copied().map(val_type),
    )
}

pub(crate) fn memory_type(ty: wasmparser::MemoryType) -> MemoryType {
    MemoryType { memory64: ty.memory64, minimum: ty.initial, maximum: ty.maximum }
}

pub(crate) fn table_type(ty: wasmparser::TableType) -> TableType {
    TableType {
        table64: ty.table64,
        element: ref_type(ty.element_type),
        minimum: ty.initial,
        maximum: ty.maximum,
    }
}

pub(crate) fn global_type(ty: wasmparser::GlobalType) -> GlobalType {
    GlobalType { content: val_type(ty.content_type), mutable: ty.mutable }
}

/// A constant expression, which validation has accepted already.
pub(crate) fn const_expr(expr: &wasmparser::ConstExpr<'_>) -> wasmparser::Result<ConstExpr> {
    let mut ops = Vec::new();
    for op in expr.get_operators_reader() {
        ops.push(match op? {
            Operator::I32Const { value } => ConstOp::I32(value),
            Operator::I64Const { value } => ConstOp::I64(value),
            Operator::F32Const { value } => ConstOp::F32(value.bits()),
            Operator::F64Const { value } => ConstOp::F64(value.bits()),
            Operator::V128Const { value } => ConstOp::V128(*value.bytes()),
            Operator::RefNull { .. } => ConstOp::RefNull,
            Operator::RefFunc { function_index } => ConstOp::RefFunc(function_index),
            Operator::GlobalGet { global_index } => ConstOp::GlobalGet(global_index),
            Operator::I32Add => ConstOp::I32Add,
            Operator::I32Sub => ConstOp::I32Sub,
            Operator::I32Mul => ConstOp::I32Mul,
            Operator::I64Add => ConstOp::I64Add,
            Operator::I64Sub => ConstOp::I64Sub,
            Operator::I64Mul => ConstOp::I64Mul,
            Operator::End => break,
            other => unreachable!("{other:?} is not constant"),
        });
    }
    Ok(ConstExpr(ops))
}
