//! Integer instructions that change the width of lanes.
//!
//! Cranelift has no opcodes for products and sums of widened lanes. Its backend recognizes the
//! compositions made here, and selects single instructions for them.

use crate::translate::Translator;
use cranelift_codegen::ir::{self, InstBuilder, Opcode, Value, types::*};
use wasmparser::Operator::{self, *};

/// The opcodes that widen the low and the high half of a vector's lanes.
type Widening = (Opcode, Opcode);

const SIGNED: Widening = (Opcode::SwidenLow, Opcode::SwidenHigh);
const UNSIGNED: Widening = (Opcode::UwidenLow, Opcode::UwidenHigh);

impl Translator<'_> {
    pub(super) fn simd_widen(&mut self, op: &Operator<'_>) -> bool {
        if let Some((ty, opcode)) = narrow(op) {
            self.vector_binary(ty, opcode);
        } else if let Some((ty, opcode)) = extend(op) {
            self.vector_unary(ty, opcode);
        } else if let Some((ty, widen)) = extended_product(op) {
            self.extended_product(ty, widen);
        } else {
            return self.simd_widen_pairs(op);
        }
        true
    }

    fn simd_widen_pairs(&mut self, op: &Operator<'_>) -> bool {
        match op {
            I16x8ExtAddPairwiseI8x16S => self.add_pairs(I8X16, SIGNED),
            I16x8ExtAddPairwiseI8x16U => self.add_pairs(I8X16, UNSIGNED),
            I32x4ExtAddPairwiseI16x8S => self.add_pairs(I16X8, SIGNED),
            I32x4ExtAddPairwiseI16x8U => self.add_pairs(I16X8, UNSIGNED),
            I32x4DotI16x8S => self.dot(),
            _ => return false,
        }
        true
    }

    fn extended_product(&mut self, ty: ir::Type, widen: Opcode) {
        let (a, b) = self.pop2_vectors(ty);
        let value = self.widened_product(widen, a, b);
        self.push_vector(value);
    }

    fn add_pairs(&mut self, ty: ir::Type, widening: Widening) {
        let x = self.pop_vector(ty);
        let value = self.widened_pairs(widening, x);
        self.push_vector(value);
    }

    fn dot(&mut self) {
        let (a, b) = self.pop2_vectors(I16X8);
        let low = self.widened_product(Opcode::SwidenLow, a, b);
        let high = self.widened_product(Opcode::SwidenHigh, a, b);
        let value = self.ins().iadd_pairwise(low, high);
        self.push_vector(value);
    }

    /// The products of one half of the lanes, which cannot overflow.
    fn widened_product(&mut self, widen: Opcode, a: Value, b: Value) -> Value {
        let a = self.apply(widen, a);
        let b = self.apply(widen, b);
        self.ins().imul(a, b)
    }

    /// The sums of neighboring lanes, which cannot overflow.
    fn widened_pairs(&mut self, (low, high): Widening, x: Value) -> Value {
        let low = self.apply(low, x);
        let high = self.apply(high, x);
        self.ins().iadd_pairwise(low, high)
    }

    /// The sums of neighboring signed lanes.
    pub(super) fn signed_pairs(&mut self, x: Value) -> Value {
        self.widened_pairs(SIGNED, x)
    }
}

fn narrow(op: &Operator<'_>) -> Option<(ir::Type, Opcode)> {
    lanes!(op,
        Opcode::Snarrow: I8x16NarrowI16x8S I16X8, I16x8NarrowI32x4S I32X4;
        Opcode::Unarrow: I8x16NarrowI16x8U I16X8, I16x8NarrowI32x4U I32X4;
    )
}

fn extend(op: &Operator<'_>) -> Option<(ir::Type, Opcode)> {
    lanes!(op,
        Opcode::SwidenLow: I16x8ExtendLowI8x16S I8X16, I32x4ExtendLowI16x8S I16X8,
            I64x2ExtendLowI32x4S I32X4;
        Opcode::SwidenHigh: I16x8ExtendHighI8x16S I8X16, I32x4ExtendHighI16x8S I16X8,
            I64x2ExtendHighI32x4S I32X4;
        Opcode::UwidenLow: I16x8ExtendLowI8x16U I8X16, I32x4ExtendLowI16x8U I16X8,
            I64x2ExtendLowI32x4U I32X4;
        Opcode::UwidenHigh: I16x8ExtendHighI8x16U I8X16, I32x4ExtendHighI16x8U I16X8,
            I64x2ExtendHighI32x4U I32X4;
    )
}

fn extended_product(op: &Operator<'_>) -> Option<(ir::Type, Opcode)> {
    lanes!(op,
        Opcode::SwidenLow: I16x8ExtMulLowI8x16S I8X16, I32x4ExtMulLowI16x8S I16X8,
            I64x2ExtMulLowI32x4S I32X4;
        Opcode::SwidenHigh: I16x8ExtMulHighI8x16S I8X16, I32x4ExtMulHighI16x8S I16X8,
            I64x2ExtMulHighI32x4S I32X4;
        Opcode::UwidenLow: I16x8ExtMulLowI8x16U I8X16, I32x4ExtMulLowI16x8U I16X8,
            I64x2ExtMulLowI32x4U I32X4;
        Opcode::UwidenHigh: I16x8ExtMulHighI8x16U I8X16, I32x4ExtMulHighI16x8U I16X8,
            I64x2ExtMulHighI32x4U I32X4;
    )
}
