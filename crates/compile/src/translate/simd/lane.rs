//! Construction of vectors, access to lanes, and shuffles.

use crate::translate::Translator;
use cranelift_codegen::ir::{self, InstBuilder, Opcode, Value, types::*};
use wasmparser::Operator::{self, *};

impl Translator<'_> {
    pub(super) fn simd_lane(&mut self, op: &Operator<'_>) -> bool {
        match op {
            V128Const { value } => self.v128_const(value.bytes()),
            I8x16Shuffle { lanes } => self.shuffle(lanes),
            I8x16Swizzle => self.vector_binary(I8X16, Opcode::Swizzle),
            I8x16Splat => self.splat(I8X16),
            I16x8Splat => self.splat(I16X8),
            I32x4Splat => self.splat(I32X4),
            I64x2Splat => self.splat(I64X2),
            F32x4Splat => self.splat(F32X4),
            F64x2Splat => self.splat(F64X2),
            I8x16ExtractLaneS { lane } => self.extract_extended(I8X16, *lane, Opcode::Sextend),
            I8x16ExtractLaneU { lane } => self.extract_extended(I8X16, *lane, Opcode::Uextend),
            I16x8ExtractLaneS { lane } => self.extract_extended(I16X8, *lane, Opcode::Sextend),
            I16x8ExtractLaneU { lane } => self.extract_extended(I16X8, *lane, Opcode::Uextend),
            I32x4ExtractLane { lane } => self.extract_lane(I32X4, *lane),
            I64x2ExtractLane { lane } => self.extract_lane(I64X2, *lane),
            F32x4ExtractLane { lane } => self.extract_lane(F32X4, *lane),
            F64x2ExtractLane { lane } => self.extract_lane(F64X2, *lane),
            I8x16ReplaceLane { lane } => self.replace_lane(I8X16, *lane),
            I16x8ReplaceLane { lane } => self.replace_lane(I16X8, *lane),
            I32x4ReplaceLane { lane } => self.replace_lane(I32X4, *lane),
            I64x2ReplaceLane { lane } => self.replace_lane(I64X2, *lane),
            F32x4ReplaceLane { lane } => self.replace_lane(F32X4, *lane),
            F64x2ReplaceLane { lane } => self.replace_lane(F64X2, *lane),
            _ => return false,
        }
        true
    }

    fn v128_const(&mut self, bytes: &[u8; 16]) {
        let value = self.vector_constant(I8X16, bytes);
        self.push(value);
    }

    fn shuffle(&mut self, lanes: &[u8; 16]) {
        let (a, b) = self.pop2();
        let lanes = self.builder.func.dfg.immediates.push(lanes[..].into());
        let value = self.ins().shuffle(a, b, lanes);
        self.push(value);
    }

    fn splat(&mut self, ty: ir::Type) {
        let element = self.pop_element(ty);
        let value = self.ins().splat(ty, element);
        self.push_vector(value);
    }

    fn extract_lane(&mut self, ty: ir::Type, lane: u8) {
        let vector = self.pop_vector(ty);
        let element = self.ins().extractlane(vector, lane);
        self.push(element);
    }

    /// Extracts a lane narrower than any scalar type.
    fn extract_extended(&mut self, ty: ir::Type, lane: u8, extend: Opcode) {
        let vector = self.pop_vector(ty);
        let element = self.ins().extractlane(vector, lane);
        let value = self.apply_to(extend, I32, element);
        self.push(value);
    }

    fn replace_lane(&mut self, ty: ir::Type, lane: u8) {
        let element = self.pop_element(ty);
        let vector = self.pop_vector(ty);
        let value = self.ins().insertlane(vector, element, lane);
        self.push_vector(value);
    }

    /// Pops a scalar as a lane of `ty`. Small lanes are the low bits of an `i32`.
    fn pop_element(&mut self, ty: ir::Type) -> Value {
        let value = self.pop();
        match ty.lane_type() {
            small @ (I8 | I16) => self.ins().ireduce(small, value),
            _ => value,
        }
    }
}
