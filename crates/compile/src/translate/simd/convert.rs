//! Conversions between vectors of integers and vectors of floats.
//!
//! The backend has no general conversion between 64-bit integers and doubles, only these
//! compositions with a widening or a narrowing.

use crate::translate::Translator;
use cranelift_codegen::ir::{Opcode, types::*};
use wasmparser::Operator::{self, *};

impl Translator<'_> {
    pub(super) fn simd_convert(&mut self, op: &Operator<'_>) -> bool {
        match op {
            F32x4ConvertI32x4S => self.vector_convert(I32X4, Opcode::FcvtFromSint, F32X4),
            F32x4ConvertI32x4U => self.vector_convert(I32X4, Opcode::FcvtFromUint, F32X4),
            F64x2ConvertLowI32x4S => self.convert_low(Opcode::SwidenLow, Opcode::FcvtFromSint),
            F64x2ConvertLowI32x4U => self.convert_low(Opcode::UwidenLow, Opcode::FcvtFromUint),
            F32x4DemoteF64x2Zero => self.vector_unary(F64X2, Opcode::Fvdemote),
            F64x2PromoteLowF32x4 => self.vector_unary(F32X4, Opcode::FvpromoteLow),
            I32x4TruncSatF32x4S => self.vector_convert(F32X4, Opcode::FcvtToSintSat, I32X4),
            I32x4TruncSatF32x4U => self.vector_convert(F32X4, Opcode::FcvtToUintSat, I32X4),
            I32x4TruncSatF64x2SZero => self.truncate_zero(Opcode::FcvtToSintSat, Opcode::Snarrow),
            I32x4TruncSatF64x2UZero => self.truncate_zero(Opcode::FcvtToUintSat, Opcode::Uunarrow),
            _ => return false,
        }
        true
    }

    /// Converts the two low lanes to doubles.
    fn convert_low(&mut self, widen: Opcode, convert: Opcode) {
        let x = self.pop_vector(I32X4);
        let wide = self.apply(widen, x);
        let value = self.apply_to(convert, F64X2, wide);
        self.push_vector(value);
    }

    /// Converts two doubles to the two low lanes; the high lanes are zero.
    pub(super) fn truncate_zero(&mut self, convert: Opcode, narrow: Opcode) {
        let x = self.pop_vector(F64X2);
        let wide = self.apply_to(convert, I64X2, x);
        let zero = self.vector_constant(I64X2, &[0; 16]);
        let value = self.apply2(narrow, wide, zero);
        self.push_vector(value);
    }
}
