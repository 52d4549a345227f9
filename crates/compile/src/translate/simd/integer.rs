//! Lane-wise integer arithmetic that does not change the width of lanes.

use crate::translate::Translator;
use cranelift_codegen::ir::{self, Opcode, types::*};
use wasmparser::Operator::{self, *};

impl Translator<'_> {
    pub(super) fn simd_integer(&mut self, op: &Operator<'_>) -> bool {
        if let Some((ty, opcode)) = unary(op) {
            self.vector_unary(ty, opcode);
        } else if let Some((ty, opcode)) = binary(op).or_else(|| saturating(op)) {
            self.vector_binary(ty, opcode);
        } else if let Some((ty, opcode)) = shift(op) {
            self.shift(ty, opcode);
        } else {
            return false;
        }
        true
    }

    /// Shifts all lanes by one scalar. Cranelift takes it modulo the width of a lane, as
    /// WebAssembly does.
    fn shift(&mut self, ty: ir::Type, opcode: Opcode) {
        let amount = self.pop();
        let vector = self.pop_vector(ty);
        let value = self.apply2(opcode, vector, amount);
        self.push_vector(value);
    }
}

fn unary(op: &Operator<'_>) -> Option<(ir::Type, Opcode)> {
    lanes!(op,
        Opcode::Iabs: I8x16Abs I8X16, I16x8Abs I16X8, I32x4Abs I32X4, I64x2Abs I64X2;
        Opcode::Ineg: I8x16Neg I8X16, I16x8Neg I16X8, I32x4Neg I32X4, I64x2Neg I64X2;
        Opcode::Popcnt: I8x16Popcnt I8X16;
    )
}

fn binary(op: &Operator<'_>) -> Option<(ir::Type, Opcode)> {
    lanes!(op,
        Opcode::Iadd: I8x16Add I8X16, I16x8Add I16X8, I32x4Add I32X4, I64x2Add I64X2;
        Opcode::Isub: I8x16Sub I8X16, I16x8Sub I16X8, I32x4Sub I32X4, I64x2Sub I64X2;
        Opcode::Imul: I16x8Mul I16X8, I32x4Mul I32X4, I64x2Mul I64X2;
        Opcode::Smin: I8x16MinS I8X16, I16x8MinS I16X8, I32x4MinS I32X4;
        Opcode::Umin: I8x16MinU I8X16, I16x8MinU I16X8, I32x4MinU I32X4;
        Opcode::Smax: I8x16MaxS I8X16, I16x8MaxS I16X8, I32x4MaxS I32X4;
        Opcode::Umax: I8x16MaxU I8X16, I16x8MaxU I16X8, I32x4MaxU I32X4;
        Opcode::AvgRound: I8x16AvgrU I8X16, I16x8AvgrU I16X8;
    )
}

fn saturating(op: &Operator<'_>) -> Option<(ir::Type, Opcode)> {
    lanes!(op,
        Opcode::SaddSat: I8x16AddSatS I8X16, I16x8AddSatS I16X8;
        Opcode::UaddSat: I8x16AddSatU I8X16, I16x8AddSatU I16X8;
        Opcode::SsubSat: I8x16SubSatS I8X16, I16x8SubSatS I16X8;
        Opcode::UsubSat: I8x16SubSatU I8X16, I16x8SubSatU I16X8;
        Opcode::SqmulRoundSat: I16x8Q15MulrSatS I16X8;
    )
}

fn shift(op: &Operator<'_>) -> Option<(ir::Type, Opcode)> {
    lanes!(op,
        Opcode::Ishl: I8x16Shl I8X16, I16x8Shl I16X8, I32x4Shl I32X4, I64x2Shl I64X2;
        Opcode::Sshr: I8x16ShrS I8X16, I16x8ShrS I16X8, I32x4ShrS I32X4, I64x2ShrS I64X2;
        Opcode::Ushr: I8x16ShrU I8X16, I16x8ShrU I16X8, I32x4ShrU I32X4, I64x2ShrU I64X2;
    )
}
