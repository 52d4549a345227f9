//! The machine instructions for relaxed vector instructions.

use cranelift_codegen::ir::Opcode;

/// `i8x16.relaxed_swizzle`.
pub(crate) const SWIZZLE: Opcode = Opcode::X86Pshufb;
/// `i16x8.relaxed_q15mulr_s`.
pub(crate) const Q15_MULTIPLY: Opcode = Opcode::X86Pmulhrsw;
/// `i16x8.relaxed_dot_i8x16_i7x16_s`.
pub(crate) const DOT: Opcode = Opcode::X86Pmaddubsw;
/// `i32x4.relaxed_trunc_f32x4_s` and `i32x4.relaxed_trunc_f64x2_s_zero`.
pub(crate) const TRUNCATE: Opcode = Opcode::X86Cvtt2dq;
