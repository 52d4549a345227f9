//! Instructions on vectors as 128 bits, and the tests of whole vectors.

use crate::translate::Translator;
use cranelift_codegen::ir::{self, InstBuilder, Opcode, types::*};
use wasmparser::Operator::{self, *};

impl Translator<'_> {
    pub(super) fn simd_bitwise(&mut self, op: &Operator<'_>) -> bool {
        match op {
            V128Not => self.vector_unary(I8X16, Opcode::Bnot),
            V128And => self.vector_binary(I8X16, Opcode::Band),
            V128Or => self.vector_binary(I8X16, Opcode::Bor),
            V128Xor => self.vector_binary(I8X16, Opcode::Bxor),
            V128AndNot => self.and_not(),
            V128Bitselect => self.bitselect(),
            V128AnyTrue => self.any_true(),
            I8x16AllTrue => self.all_true(I8X16),
            I16x8AllTrue => self.all_true(I16X8),
            I32x4AllTrue => self.all_true(I32X4),
            I64x2AllTrue => self.all_true(I64X2),
            I8x16Bitmask => self.bitmask(I8X16),
            I16x8Bitmask => self.bitmask(I16X8),
            I32x4Bitmask => self.bitmask(I32X4),
            I64x2Bitmask => self.bitmask(I64X2),
            _ => return false,
        }
        true
    }

    fn and_not(&mut self) {
        let (a, b) = self.pop2();
        let value = self.ins().band_not(a, b);
        self.push(value);
    }

    fn bitselect(&mut self) {
        let (a, b, mask) = self.pop3();
        let mask = self.as_computed(mask);
        let ty = self.builder.func.dfg.value_type(mask);
        let (a, b) = (self.as_vector(a, ty), self.as_vector(b, ty));
        let value = self.ins().bitselect(mask, a, b);
        self.push_vector(value);
    }

    fn any_true(&mut self) {
        let vector = self.pop();
        let vector = self.as_computed(vector);
        let truth = self.ins().vany_true(vector);
        self.push_truth(truth);
    }

    fn all_true(&mut self, ty: ir::Type) {
        let vector = self.pop_vector(ty);
        let truth = self.ins().vall_true(vector);
        self.push_truth(truth);
    }

    fn bitmask(&mut self, ty: ir::Type) {
        let vector = self.pop_vector(ty);
        let value = self.ins().vhigh_bits(I32, vector);
        self.push(value);
    }
}
