//! Loads and stores of vectors, of their halves, and of single lanes.

use crate::translate::Translator;
use cranelift_codegen::ir::{self, InstBuilder, Value, types::*};
use wasmparser::{
    MemArg,
    Operator::{self, *},
};

impl Translator<'_> {
    pub(super) fn simd_load_store(&mut self, op: &Operator<'_>) -> bool {
        match op {
            V128Load { memarg } => self.load(I8X16, memarg),
            V128Store { memarg } => self.store(memarg),
            V128Load8x8S { memarg } => self.load_widened(I8, true, memarg),
            V128Load8x8U { memarg } => self.load_widened(I8, false, memarg),
            V128Load16x4S { memarg } => self.load_widened(I16, true, memarg),
            V128Load16x4U { memarg } => self.load_widened(I16, false, memarg),
            V128Load32x2S { memarg } => self.load_widened(I32, true, memarg),
            V128Load32x2U { memarg } => self.load_widened(I32, false, memarg),
            V128Load8Splat { memarg } => self.load_splat(I8X16, memarg),
            V128Load16Splat { memarg } => self.load_splat(I16X8, memarg),
            V128Load32Splat { memarg } => self.load_splat(I32X4, memarg),
            V128Load64Splat { memarg } => self.load_splat(I64X2, memarg),
            V128Load32Zero { memarg } => self.load_zero(I32X4, memarg),
            V128Load64Zero { memarg } => self.load_zero(I64X2, memarg),
            V128Load8Lane { memarg, lane } => self.load_lane(I8X16, memarg, *lane),
            V128Load16Lane { memarg, lane } => self.load_lane(I16X8, memarg, *lane),
            V128Load32Lane { memarg, lane } => self.load_lane(I32X4, memarg, *lane),
            V128Load64Lane { memarg, lane } => self.load_lane(I64X2, memarg, *lane),
            V128Store8Lane { memarg, lane } => self.store_lane(I8X16, memarg, *lane),
            V128Store16Lane { memarg, lane } => self.store_lane(I16X8, memarg, *lane),
            V128Store32Lane { memarg, lane } => self.store_lane(I32X4, memarg, *lane),
            V128Store64Lane { memarg, lane } => self.store_lane(I64X2, memarg, *lane),
            _ => return false,
        }
        true
    }

    /// Loads half a vector of `narrow` lanes, each extended to twice its width.
    fn load_widened(&mut self, narrow: ir::Type, signed: bool, memarg: &MemArg) {
        let at = self.address(memarg, 8);
        let (flags, base, offset) = (at.flags, at.base, at.offset);
        let ins = self.ins();
        let value = match (narrow, signed) {
            (I8, false) => ins.uload8x8(flags, base, offset),
            (I8, true) => ins.sload8x8(flags, base, offset),
            (I16, false) => ins.uload16x4(flags, base, offset),
            (I16, true) => ins.sload16x4(flags, base, offset),
            (I32, false) => ins.uload32x2(flags, base, offset),
            (I32, true) => ins.sload32x2(flags, base, offset),
            _ => unreachable!("no load widens lanes of {narrow}"),
        };
        self.push_vector(value);
    }

    fn load_splat(&mut self, ty: ir::Type, memarg: &MemArg) {
        let element = self.load_element(ty.lane_type(), memarg);
        let value = self.ins().splat(ty, element);
        self.push_vector(value);
    }

    /// Loads the first lane; the others are zero.
    fn load_zero(&mut self, ty: ir::Type, memarg: &MemArg) {
        let element = self.load_element(ty.lane_type(), memarg);
        let value = self.ins().scalar_to_vector(ty, element);
        self.push_vector(value);
    }

    fn load_lane(&mut self, ty: ir::Type, memarg: &MemArg, lane: u8) {
        let vector = self.pop_vector(ty);
        let element = self.load_element(ty.lane_type(), memarg);
        let value = self.ins().insertlane(vector, element, lane);
        self.push_vector(value);
    }

    fn store_lane(&mut self, ty: ir::Type, memarg: &MemArg, lane: u8) {
        let vector = self.pop_vector(ty);
        let at = self.address(memarg, ty.lane_type().bytes());
        let element = self.ins().extractlane(vector, lane);
        self.ins().store(at.flags, element, at.base, at.offset);
    }

    fn load_element(&mut self, ty: ir::Type, memarg: &MemArg) -> Value {
        let at = self.address(memarg, ty.bytes());
        self.ins().load(ty, at.flags, at.base, at.offset)
    }
}
