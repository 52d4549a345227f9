//! Relaxed vector instructions.
//!
//! The specification lets an engine choose among several results, if it always chooses the same. We
//! choose the result of [one machine instruction](relaxed) where there is one, otherwise that of
//! the instruction that is not relaxed.

use crate::arch::relaxed;
use crate::translate::Translator;
use cranelift_codegen::ir::{self, InstBuilder, Opcode, Value, types::*};
use wasmparser::Operator::{self, *};

impl Translator<'_> {
    pub(super) fn simd_relaxed(&mut self, op: &Operator<'_>) -> bool {
        match op {
            I8x16RelaxedSwizzle => self.vector_binary(I8X16, relaxed::SWIZZLE),
            F32x4RelaxedMin => self.pseudo_minimum(F32X4),
            F64x2RelaxedMin => self.pseudo_minimum(F64X2),
            F32x4RelaxedMax => self.pseudo_maximum(F32X4),
            F64x2RelaxedMax => self.pseudo_maximum(F64X2),
            I16x8RelaxedQ15mulrS => self.vector_binary(I16X8, relaxed::Q15_MULTIPLY),
            I16x8RelaxedDotI8x16I7x16S => self.vector_binary(I8X16, relaxed::DOT),
            I32x4RelaxedDotI8x16I7x16AddS => self.dot_add(),
            _ => return self.relaxed_truncation(op) || self.relaxed_ternary(op),
        }
        true
    }

    fn relaxed_truncation(&mut self, op: &Operator<'_>) -> bool {
        match op {
            I32x4RelaxedTruncF32x4S => self.vector_convert(F32X4, relaxed::TRUNCATE, I32X4),
            I32x4RelaxedTruncF32x4U => self.vector_convert(F32X4, Opcode::FcvtToUintSat, I32X4),
            I32x4RelaxedTruncF64x2SZero => self.truncate_zero(relaxed::TRUNCATE, Opcode::Snarrow),
            I32x4RelaxedTruncF64x2UZero => {
                self.truncate_zero(Opcode::FcvtToUintSat, Opcode::Uunarrow);
            }
            _ => return false,
        }
        true
    }

    fn relaxed_ternary(&mut self, op: &Operator<'_>) -> bool {
        match op {
            F32x4RelaxedMadd => self.multiply_add(F32X4),
            F64x2RelaxedMadd => self.multiply_add(F64X2),
            F32x4RelaxedNmadd => self.negative_multiply_add(F32X4),
            F64x2RelaxedNmadd => self.negative_multiply_add(F64X2),
            // There is no blend of 16-bit lanes; one of bytes is allowed.
            I8x16RelaxedLaneselect | I16x8RelaxedLaneselect => self.blend(I8X16),
            I32x4RelaxedLaneselect => self.blend(I32X4),
            I64x2RelaxedLaneselect => self.blend(I64X2),
            _ => return false,
        }
        true
    }

    fn multiply_add(&mut self, ty: ir::Type) {
        let (a, b, c) = self.pop3_vectors(ty);
        self.fused_if_native(a, b, c);
    }

    /// Negating a factor is exact, so only the fusion is relaxed.
    fn negative_multiply_add(&mut self, ty: ir::Type) {
        let (a, b, c) = self.pop3_vectors(ty);
        let negated = self.ins().fneg(a);
        self.fused_if_native(negated, b, c);
    }

    /// Without a fused instruction, Cranelift would call a library function.
    fn fused_if_native(&mut self, a: Value, b: Value, c: Value) {
        let value = if self.env.has_fma {
            self.ins().fma(a, b, c)
        } else {
            let product = self.ins().fmul(a, b);
            self.ins().fadd(product, c)
        };
        self.push_vector(value);
    }

    /// Selects lanes by the highest bits of the mask's lanes.
    fn blend(&mut self, ty: ir::Type) {
        let (a, b, mask) = self.pop3_vectors(ty);
        let value = self.ins().blendv(mask, a, b);
        self.push_vector(value);
    }

    /// Sums of four products, from the saturated sums of two products that the relaxed dot product
    /// gives.
    fn dot_add(&mut self) {
        let accumulator = self.pop_vector(I32X4);
        let (a, b) = self.pop2_vectors(I8X16);
        let pairs = self.apply2(relaxed::DOT, a, b);
        let sums = self.signed_pairs(pairs);
        let value = self.ins().iadd(sums, accumulator);
        self.push_vector(value);
    }

    fn pop3_vectors(&mut self, ty: ir::Type) -> (Value, Value, Value) {
        let c = self.pop_vector(ty);
        let (a, b) = self.pop2_vectors(ty);
        (a, b, c)
    }
}
