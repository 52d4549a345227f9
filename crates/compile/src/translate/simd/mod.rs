//! Vector instructions, in the order of the specification's chapters.
//!
//! A `v128` has no shape of its own. On the operand stack it is an `I8X16`, and each instruction
//! reads its operands in the shape it needs. Reshaping costs nothing in machine code.

/// Finds an operator in a table. Each row has a value, and the operators with that value, each with
/// the shape of its vectors.
macro_rules! lanes {
    ($op:expr, $($value:path: $($operator:ident $shape:ident),+;)+) => {
        match $op {
            $($($operator => Some(($shape, $value)),)+)+
            _ => None,
        }
    };
}

mod bitwise;
mod compare;
mod convert;
mod float;
mod integer;
mod lane;
mod load_store;
mod relaxed;
mod widen;

use super::Translator;
use cranelift_codegen::ir::{self, InstBuilder, InstructionData, Opcode, Value, ValueDef};
use wasmparser::Operator;

impl Translator<'_> {
    /// Translates `op` if it is a vector instruction.
    pub(in crate::translate) fn simd(&mut self, op: &Operator<'_>) -> bool {
        self.simd_load_store(op)
            || self.simd_lane(op)
            || self.simd_bitwise(op)
            || self.simd_compare(op)
            || self.simd_integer(op)
            || self.simd_float(op)
            || self.simd_widen(op)
            || self.simd_convert(op)
            || self.simd_relaxed(op)
    }

    // ---- the shapes of instructions

    fn vector_unary(&mut self, ty: ir::Type, opcode: Opcode) {
        let x = self.pop_vector(ty);
        let value = self.apply(opcode, x);
        self.push_vector(value);
    }

    fn vector_binary(&mut self, ty: ir::Type, opcode: Opcode) {
        let (a, b) = self.pop2_vectors(ty);
        let value = self.apply2(opcode, a, b);
        self.push_vector(value);
    }

    /// An instruction on vectors of shape `from` whose opcode does not imply the shape of the
    /// result.
    fn vector_convert(&mut self, from: ir::Type, opcode: Opcode, to: ir::Type) {
        let x = self.pop_vector(from);
        let value = self.apply_to(opcode, to, x);
        self.push_vector(value);
    }

    // ---- values

    fn vector_constant(&mut self, ty: ir::Type, bytes: &[u8; 16]) -> Value {
        let constant = self.builder.func.dfg.constants.insert(bytes[..].into());
        self.ins().vconst(ty, constant)
    }

    /// A popped vector in the integer shape in which it was computed, for bitwise instructions. The
    /// backend recognizes the mask of a comparison only without reshaping in between.
    fn as_computed(&self, value: Value) -> Value {
        let dfg = &self.builder.func.dfg;
        let ValueDef::Result(inst, _) = dfg.value_def(value) else { return value };
        match dfg.insts[inst] {
            InstructionData::LoadNoOffset { opcode: Opcode::Bitcast, arg, .. }
                if dfg.value_type(arg).lane_type().is_int() =>
            {
                arg
            }
            _ => value,
        }
    }
}
