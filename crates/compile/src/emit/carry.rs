//! The values that travel in registers when stacks are switched.
//!
//! The first few travel in vector registers, each in the lowest bits of its own, because the
//! general registers are taken. The others travel through the transfer area, each in the place with
//! its number. The sender and the receiver are different functions, so the place of a value does
//! not depend on the number of values.

use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Value, types::*};
use cranelift_frontend::FunctionBuilder;

pub(crate) use ropewalk_abi::transfer::CARRIED;

/// The type in which a value of a type travels.
pub(crate) fn carrier_type(ty: ir::Type) -> ir::Type {
    match ty {
        I32 => F32,
        I64 => F64,
        other => other,
    }
}

/// Converts a value to the type in which it travels.
pub(crate) fn to_carrier(builder: &mut FunctionBuilder<'_>, value: Value) -> Value {
    let ty = builder.func.dfg.value_type(value);
    cast(builder, carrier_type(ty), value)
}

/// Puts a value in the lowest bits of a vector.
pub(crate) fn to_vector(builder: &mut FunctionBuilder<'_>, value: Value) -> Value {
    let lanes = match builder.func.dfg.value_type(value) {
        I32 => I32X4,
        I64 => I64X2,
        F32 => F32X4,
        F64 => F64X2,
        _ => return value,
    };
    let vector = builder.ins().scalar_to_vector(lanes, value);
    cast(builder, I8X16, vector)
}

/// Converts a carried value back. It is a vector, or has the type in which the value travels.
pub(crate) fn from_carrier(
    builder: &mut FunctionBuilder<'_>,
    carrier: Value,
    ty: ir::Type,
) -> Value {
    let lanes = match carrier_type(ty) {
        _ if builder.func.dfg.value_type(carrier) != I8X16 => return cast(builder, ty, carrier),
        F32 => F32X4,
        F64 => F64X2,
        _ => return carrier,
    };
    let vector = cast(builder, lanes, carrier);
    let lowest = builder.ins().extractlane(vector, 0);
    cast(builder, ty, lowest)
}

fn cast(builder: &mut FunctionBuilder<'_>, ty: ir::Type, value: Value) -> Value {
    if builder.func.dfg.value_type(value) == ty {
        return value;
    }
    let flags = MemFlagsData::new().with_endianness(ir::Endianness::Little);
    builder.ins().bitcast(ty, flags, value)
}
