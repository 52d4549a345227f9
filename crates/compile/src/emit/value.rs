//! Types, traps and load flags in Cranelift's terms.

use cranelift_codegen::ir::{self, Endianness, InstBuilder, MemFlagsData, Value, types::*};
use cranelift_frontend::FunctionBuilder;
use ropewalk_abi::transfer::transfer_offset;
use ropewalk_abi::{TrapCode, ValType};

/// The type in which values of a type are computed.
pub(crate) fn clif_type(ty: ValType) -> ir::Type {
    match ty {
        ValType::I32 => I32,
        ValType::I64 | ValType::Ref(_) => I64,
        ValType::F32 => F32,
        ValType::F64 => F64,
        ValType::V128 => I8X16,
    }
}

/// Cranelift's code for one of our traps.
pub(crate) fn trap(code: TrapCode) -> ir::TrapCode {
    ir::TrapCode::unwrap_user(code as u8)
}

/// The flags of a load that always succeeds and always gives the same word.
pub(crate) fn constant_flags() -> MemFlagsData {
    MemFlagsData::trusted().with_readonly().with_can_move()
}

/// The flags of a load that gives a value of the program, and not a pointer of the engine. Marking
/// it little-endian is how [`pointers`](crate::codegen::pointers) tells the two apart.
pub(crate) fn program_value(flags: MemFlagsData) -> MemFlagsData {
    flags.with_endianness(Endianness::Little)
}

/// Loads values from an array of places.
pub(crate) fn load_values(
    builder: &mut FunctionBuilder<'_>,
    array: Value,
    types: &[ValType],
) -> Vec<Value> {
    let flags = program_value(MemFlagsData::trusted());
    let load = |(i, ty): (u32, &ValType)| {
        builder.ins().load(clif_type(*ty), flags, array, transfer_offset(i))
    };
    (0..).zip(types).map(load).collect()
}

pub(crate) fn store_values(builder: &mut FunctionBuilder<'_>, array: Value, values: &[Value]) {
    for (i, value) in (0..).zip(values) {
        builder.ins().store(MemFlagsData::trusted(), *value, array, transfer_offset(i));
    }
}
