//! Lane-wise comparisons. A lane of the result is all ones if the comparison holds, otherwise zero.

use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::{self, InstBuilder, types::*};
use wasmparser::Operator::{self, *};

impl Translator<'_> {
    pub(super) fn simd_compare(&mut self, op: &Operator<'_>) -> bool {
        if let Some((ty, condition)) = integer_comparison(op) {
            self.compare_lanes(ty, condition);
        } else if let Some((ty, condition)) = float_comparison(op) {
            self.compare_float_lanes(ty, condition);
        } else {
            return false;
        }
        true
    }

    fn compare_lanes(&mut self, ty: ir::Type, condition: IntCC) {
        let (a, b) = self.pop2_vectors(ty);
        let mask = self.ins().icmp(condition, a, b);
        self.push_vector(mask);
    }

    fn compare_float_lanes(&mut self, ty: ir::Type, condition: FloatCC) {
        let (a, b) = self.pop2_vectors(ty);
        let mask = self.ins().fcmp(condition, a, b);
        self.push_vector(mask);
    }
}

fn integer_comparison(op: &Operator<'_>) -> Option<(ir::Type, IntCC)> {
    lanes!(op,
        IntCC::Equal: I8x16Eq I8X16, I16x8Eq I16X8, I32x4Eq I32X4, I64x2Eq I64X2;
        IntCC::NotEqual: I8x16Ne I8X16, I16x8Ne I16X8, I32x4Ne I32X4, I64x2Ne I64X2;
        IntCC::SignedLessThan: I8x16LtS I8X16, I16x8LtS I16X8, I32x4LtS I32X4, I64x2LtS I64X2;
        IntCC::UnsignedLessThan: I8x16LtU I8X16, I16x8LtU I16X8, I32x4LtU I32X4;
        IntCC::SignedGreaterThan: I8x16GtS I8X16, I16x8GtS I16X8, I32x4GtS I32X4, I64x2GtS I64X2;
        IntCC::UnsignedGreaterThan: I8x16GtU I8X16, I16x8GtU I16X8, I32x4GtU I32X4;
        IntCC::SignedLessThanOrEqual: I8x16LeS I8X16, I16x8LeS I16X8,
            I32x4LeS I32X4, I64x2LeS I64X2;
        IntCC::UnsignedLessThanOrEqual: I8x16LeU I8X16, I16x8LeU I16X8, I32x4LeU I32X4;
        IntCC::SignedGreaterThanOrEqual: I8x16GeS I8X16, I16x8GeS I16X8,
            I32x4GeS I32X4, I64x2GeS I64X2;
        IntCC::UnsignedGreaterThanOrEqual: I8x16GeU I8X16, I16x8GeU I16X8, I32x4GeU I32X4;
    )
}

fn float_comparison(op: &Operator<'_>) -> Option<(ir::Type, FloatCC)> {
    lanes!(op,
        FloatCC::Equal: F32x4Eq F32X4, F64x2Eq F64X2;
        FloatCC::NotEqual: F32x4Ne F32X4, F64x2Ne F64X2;
        FloatCC::LessThan: F32x4Lt F32X4, F64x2Lt F64X2;
        FloatCC::GreaterThan: F32x4Gt F32X4, F64x2Gt F64X2;
        FloatCC::LessThanOrEqual: F32x4Le F32X4, F64x2Le F64X2;
        FloatCC::GreaterThanOrEqual: F32x4Ge F32X4, F64x2Ge F64X2;
    )
}
