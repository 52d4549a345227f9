//! Lane-wise floating-point arithmetic.

use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::FloatCC;
use cranelift_codegen::ir::{self, InstBuilder, Opcode, Value, types::*};
use wasmparser::Operator::{self, *};

impl Translator<'_> {
    pub(super) fn simd_float(&mut self, op: &Operator<'_>) -> bool {
        if let Some((ty, opcode)) = unary(op) {
            self.vector_unary(ty, opcode);
            return true;
        }
        if let Some((ty, opcode)) = binary(op) {
            self.vector_binary(ty, opcode);
            return true;
        }
        match op {
            F32x4PMin => self.pseudo_minimum(F32X4),
            F64x2PMin => self.pseudo_minimum(F64X2),
            F32x4PMax => self.pseudo_maximum(F32X4),
            F64x2PMax => self.pseudo_maximum(F64X2),
            _ => return false,
        }
        true
    }

    /// The second operand where it is less, otherwise the first. If either is a NaN, or both are
    /// zeros, that is the first.
    pub(super) fn pseudo_minimum(&mut self, ty: ir::Type) {
        let (a, b) = self.pop2_vectors(ty);
        let less = self.ins().fcmp(FloatCC::LessThan, b, a);
        self.select_lanes(less, b, a);
    }

    /// The second operand where the first is less, otherwise the first.
    pub(super) fn pseudo_maximum(&mut self, ty: ir::Type) {
        let (a, b) = self.pop2_vectors(ty);
        let less = self.ins().fcmp(FloatCC::LessThan, a, b);
        self.select_lanes(less, b, a);
    }

    /// The backend selects one `minps` or `maxps` for a comparison and a selection on the same
    /// operands, if the selection is between floats.
    fn select_lanes(&mut self, mask: Value, a: Value, b: Value) {
        let ty = self.builder.func.dfg.value_type(a);
        let mask = self.as_vector(mask, ty);
        let value = self.ins().bitselect(mask, a, b);
        self.push_vector(value);
    }
}

fn unary(op: &Operator<'_>) -> Option<(ir::Type, Opcode)> {
    lanes!(op,
        Opcode::Fabs: F32x4Abs F32X4, F64x2Abs F64X2;
        Opcode::Fneg: F32x4Neg F32X4, F64x2Neg F64X2;
        Opcode::Sqrt: F32x4Sqrt F32X4, F64x2Sqrt F64X2;
        Opcode::Ceil: F32x4Ceil F32X4, F64x2Ceil F64X2;
        Opcode::Floor: F32x4Floor F32X4, F64x2Floor F64X2;
        Opcode::Trunc: F32x4Trunc F32X4, F64x2Trunc F64X2;
        Opcode::Nearest: F32x4Nearest F32X4, F64x2Nearest F64X2;
    )
}

fn binary(op: &Operator<'_>) -> Option<(ir::Type, Opcode)> {
    lanes!(op,
        Opcode::Fadd: F32x4Add F32X4, F64x2Add F64X2;
        Opcode::Fsub: F32x4Sub F32X4, F64x2Sub F64X2;
        Opcode::Fmul: F32x4Mul F32X4, F64x2Mul F64X2;
        Opcode::Fdiv: F32x4Div F32X4, F64x2Div F64X2;
        Opcode::Fmin: F32x4Min F32X4, F64x2Min F64X2;
        Opcode::Fmax: F32x4Max F32X4, F64x2Max F64X2;
    )
}
