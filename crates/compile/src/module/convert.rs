//! Converts wasmparser's types and constant expressions to those of `abi`.

use ropewalk_abi::module::{ConstExpr, ConstOp};
use ropewalk_abi::{
    ArrayType, CompositeType, FieldType, FuncType, GlobalType, HeapType, MemoryType, RefType,
    StorageType, StructType, SubType, TableType, ValType,
};
use wasmparser::{AbstractHeapType, CompositeInnerType, Operator, UnpackedIndex};

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

pub(crate) fn heap_type(ty: wasmparser::HeapType) -> HeapType {
    match ty {
        wasmparser::HeapType::Abstract { shared: false, ty } => abstract_heap_type(ty),
        wasmparser::HeapType::Concrete(UnpackedIndex::Module(index)) => HeapType::Concrete(index),
        other => unreachable!("the engine's features exclude {other:?}"),
    }
}

fn abstract_heap_type(ty: AbstractHeapType) -> HeapType {
    match ty {
        AbstractHeapType::Func => HeapType::Func,
        AbstractHeapType::NoFunc => HeapType::NoFunc,
        AbstractHeapType::Extern => HeapType::Extern,
        AbstractHeapType::NoExtern => HeapType::NoExtern,
        AbstractHeapType::Any => HeapType::Any,
        AbstractHeapType::Eq => HeapType::Eq,
        AbstractHeapType::I31 => HeapType::I31,
        AbstractHeapType::Struct => HeapType::Struct,
        AbstractHeapType::Array => HeapType::Array,
        AbstractHeapType::None => HeapType::None,
        AbstractHeapType::Exn => HeapType::Exn,
        AbstractHeapType::NoExn => HeapType::NoExn,
        AbstractHeapType::Cont => HeapType::Cont,
        AbstractHeapType::NoCont => HeapType::NoCont,
    }
}

pub(crate) fn sub_type(ty: &wasmparser::SubType) -> SubType {
    let supertype = ty.supertype_idxs.first().map(|index| match index.unpack() {
        UnpackedIndex::Module(index) => index,
        other => unreachable!("a module's own types are named by index, not {other:?}"),
    });
    SubType {
        is_final: ty.is_final,
        supertype,
        composite: composite_type(&ty.composite_type.inner),
    }
}

fn composite_type(ty: &CompositeInnerType) -> CompositeType {
    match ty {
        CompositeInnerType::Func(ty) => CompositeType::Func(func_type(ty)),
        CompositeInnerType::Struct(ty) => CompositeType::Struct(StructType {
            fields: ty.fields.iter().map(|field| field_type(*field)).collect(),
        }),
        CompositeInnerType::Array(ty) => {
            CompositeType::Array(ArrayType { element: field_type(ty.0) })
        }
        CompositeInnerType::Cont(ty) => match ty.0.unpack() {
            UnpackedIndex::Module(function) => CompositeType::Cont(HeapType::Concrete(function)),
            other => unreachable!("a module's own types are named by index, not {other:?}"),
        },
    }
}

fn field_type(ty: wasmparser::FieldType) -> FieldType {
    let storage = match ty.element_type {
        wasmparser::StorageType::I8 => StorageType::I8,
        wasmparser::StorageType::I16 => StorageType::I16,
        wasmparser::StorageType::Val(ty) => StorageType::Val(val_type(ty)),
    };
    FieldType { storage, mutable: ty.mutable }
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

/// Converts a valid constant expression.
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
            Operator::StructNew { struct_type_index } => ConstOp::StructNew(struct_type_index),
            Operator::StructNewDefault { struct_type_index } => {
                ConstOp::StructNewDefault(struct_type_index)
            }
            Operator::ArrayNew { array_type_index } => ConstOp::ArrayNew(array_type_index),
            Operator::ArrayNewDefault { array_type_index } => {
                ConstOp::ArrayNewDefault(array_type_index)
            }
            Operator::ArrayNewFixed { array_type_index, array_size } => {
                ConstOp::ArrayNewFixed(array_type_index, array_size)
            }
            Operator::RefI31 => ConstOp::RefI31,
            // These do not change the word.
            Operator::AnyConvertExtern | Operator::ExternConvertAny => continue,
            Operator::End => break,
            other => unreachable!("{other:?} is not constant"),
        });
    }
    Ok(ConstExpr(ops))
}
