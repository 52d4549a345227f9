//! Numeric instructions on the scalar types.
//!
//! Nearly every operator here has a Cranelift opcode with the same meaning, including traps and
//! NaNs. So this file is a table from operators to opcodes, with a function for each shape of
//! instruction.

use super::Translator;
use cranelift_codegen::ir::condcodes::{FloatCC, IntCC};
use cranelift_codegen::ir::immediates::{Ieee32, Ieee64};
use cranelift_codegen::ir::{self, InstBuilder, MemFlagsData, Opcode, Value, types::*};
use wasmparser::Operator::{self, *};

impl Translator<'_> {
    /// Translates `op` if it is a scalar numeric instruction.
    pub(super) fn numeric(&mut self, op: &Operator<'_>) -> bool {
        self.numeric_constant(op)
            || self.numeric_comparison(op)
            || self.numeric_integer(op)
            || self.numeric_float(op)
            || self.numeric_conversion(op)
            || self.numeric_truncation(op)
            || self.numeric_wide(op)
    }

    fn numeric_constant(&mut self, op: &Operator<'_>) -> bool {
        let ins = self.ins();
        let value = match op {
            I32Const { value } => ins.iconst(I32, i64::from(*value)),
            I64Const { value } => ins.iconst(I64, *value),
            F32Const { value } => ins.f32const(Ieee32::with_bits(value.bits())),
            F64Const { value } => ins.f64const(Ieee64::with_bits(value.bits())),
            _ => return false,
        };
        self.push(value);
        true
    }

    fn numeric_comparison(&mut self, op: &Operator<'_>) -> bool {
        match op {
            I32Eqz | I64Eqz => self.equals_zero(),
            I32Eq | I64Eq => self.compare(IntCC::Equal),
            I32Ne | I64Ne => self.compare(IntCC::NotEqual),
            I32LtS | I64LtS => self.compare(IntCC::SignedLessThan),
            I32LtU | I64LtU => self.compare(IntCC::UnsignedLessThan),
            I32GtS | I64GtS => self.compare(IntCC::SignedGreaterThan),
            I32GtU | I64GtU => self.compare(IntCC::UnsignedGreaterThan),
            I32LeS | I64LeS => self.compare(IntCC::SignedLessThanOrEqual),
            I32LeU | I64LeU => self.compare(IntCC::UnsignedLessThanOrEqual),
            I32GeS | I64GeS => self.compare(IntCC::SignedGreaterThanOrEqual),
            I32GeU | I64GeU => self.compare(IntCC::UnsignedGreaterThanOrEqual),
            F32Eq | F64Eq => self.compare_floats(FloatCC::Equal),
            F32Ne | F64Ne => self.compare_floats(FloatCC::NotEqual),
            F32Lt | F64Lt => self.compare_floats(FloatCC::LessThan),
            F32Gt | F64Gt => self.compare_floats(FloatCC::GreaterThan),
            F32Le | F64Le => self.compare_floats(FloatCC::LessThanOrEqual),
            F32Ge | F64Ge => self.compare_floats(FloatCC::GreaterThanOrEqual),
            _ => return false,
        }
        true
    }

    fn numeric_integer(&mut self, op: &Operator<'_>) -> bool {
        match op {
            I32Clz | I64Clz => self.unary(Opcode::Clz),
            I32Ctz | I64Ctz => self.unary(Opcode::Ctz),
            I32Popcnt | I64Popcnt => self.unary(Opcode::Popcnt),
            I32Add | I64Add => self.binary(Opcode::Iadd),
            I32Sub | I64Sub => self.binary(Opcode::Isub),
            I32Mul | I64Mul => self.binary(Opcode::Imul),
            I32DivS | I64DivS => self.binary(Opcode::Sdiv),
            I32DivU | I64DivU => self.binary(Opcode::Udiv),
            I32RemS | I64RemS => self.binary(Opcode::Srem),
            I32RemU | I64RemU => self.binary(Opcode::Urem),
            I32And | I64And => self.binary(Opcode::Band),
            I32Or | I64Or => self.binary(Opcode::Bor),
            I32Xor | I64Xor => self.binary(Opcode::Bxor),
            I32Shl | I64Shl => self.binary(Opcode::Ishl),
            I32ShrS | I64ShrS => self.binary(Opcode::Sshr),
            I32ShrU | I64ShrU => self.binary(Opcode::Ushr),
            I32Rotl | I64Rotl => self.binary(Opcode::Rotl),
            I32Rotr | I64Rotr => self.binary(Opcode::Rotr),
            _ => return false,
        }
        true
    }

    fn numeric_float(&mut self, op: &Operator<'_>) -> bool {
        match op {
            F32Abs | F64Abs => self.unary(Opcode::Fabs),
            F32Neg | F64Neg => self.unary(Opcode::Fneg),
            F32Ceil | F64Ceil => self.unary(Opcode::Ceil),
            F32Floor | F64Floor => self.unary(Opcode::Floor),
            F32Trunc | F64Trunc => self.unary(Opcode::Trunc),
            F32Nearest | F64Nearest => self.unary(Opcode::Nearest),
            F32Sqrt | F64Sqrt => self.unary(Opcode::Sqrt),
            F32Add | F64Add => self.binary(Opcode::Fadd),
            F32Sub | F64Sub => self.binary(Opcode::Fsub),
            F32Mul | F64Mul => self.binary(Opcode::Fmul),
            F32Div | F64Div => self.binary(Opcode::Fdiv),
            F32Min | F64Min => self.binary(Opcode::Fmin),
            F32Max | F64Max => self.binary(Opcode::Fmax),
            F32Copysign | F64Copysign => self.binary(Opcode::Fcopysign),
            _ => return false,
        }
        true
    }

    fn numeric_conversion(&mut self, op: &Operator<'_>) -> bool {
        match op {
            I32WrapI64 => self.convert(Opcode::Ireduce, I32),
            I64ExtendI32S => self.convert(Opcode::Sextend, I64),
            I64ExtendI32U => self.convert(Opcode::Uextend, I64),
            I32Extend8S => self.extend_low(I8, I32),
            I32Extend16S => self.extend_low(I16, I32),
            I64Extend8S => self.extend_low(I8, I64),
            I64Extend16S => self.extend_low(I16, I64),
            I64Extend32S => self.extend_low(I32, I64),
            F32ConvertI32S | F32ConvertI64S => self.convert(Opcode::FcvtFromSint, F32),
            F32ConvertI32U | F32ConvertI64U => self.convert(Opcode::FcvtFromUint, F32),
            F64ConvertI32S | F64ConvertI64S => self.convert(Opcode::FcvtFromSint, F64),
            F64ConvertI32U | F64ConvertI64U => self.convert(Opcode::FcvtFromUint, F64),
            F32DemoteF64 => self.convert(Opcode::Fdemote, F32),
            F64PromoteF32 => self.convert(Opcode::Fpromote, F64),
            I32ReinterpretF32 => self.reinterpret(I32),
            I64ReinterpretF64 => self.reinterpret(I64),
            F32ReinterpretI32 => self.reinterpret(F32),
            F64ReinterpretI64 => self.reinterpret(F64),
            _ => return false,
        }
        true
    }

    fn numeric_truncation(&mut self, op: &Operator<'_>) -> bool {
        match op {
            I32TruncF32S | I32TruncF64S => self.convert(Opcode::FcvtToSint, I32),
            I32TruncF32U | I32TruncF64U => self.convert(Opcode::FcvtToUint, I32),
            I64TruncF32S | I64TruncF64S => self.convert(Opcode::FcvtToSint, I64),
            I64TruncF32U | I64TruncF64U => self.convert(Opcode::FcvtToUint, I64),
            I32TruncSatF32S | I32TruncSatF64S => self.convert(Opcode::FcvtToSintSat, I32),
            I32TruncSatF32U | I32TruncSatF64U => self.convert(Opcode::FcvtToUintSat, I32),
            I64TruncSatF32S | I64TruncSatF64S => self.convert(Opcode::FcvtToSintSat, I64),
            I64TruncSatF32U | I64TruncSatF64U => self.convert(Opcode::FcvtToUintSat, I64),
            _ => return false,
        }
        true
    }

    fn numeric_wide(&mut self, op: &Operator<'_>) -> bool {
        match op {
            I64Add128 => self.binary_128(Opcode::Iadd),
            I64Sub128 => self.binary_128(Opcode::Isub),
            I64MulWideS => self.multiply_wide(Opcode::Sextend),
            I64MulWideU => self.multiply_wide(Opcode::Uextend),
            _ => return false,
        }
        true
    }

    // ---- the shapes of instructions

    fn unary(&mut self, opcode: Opcode) {
        let x = self.pop();
        let value = self.apply(opcode, x);
        self.push(value);
    }

    fn binary(&mut self, opcode: Opcode) {
        let (a, b) = self.pop2();
        let value = self.apply2(opcode, a, b);
        self.push(value);
    }

    /// An instruction with one operand whose opcode does not imply the result type.
    fn convert(&mut self, opcode: Opcode, ty: ir::Type) {
        let x = self.pop();
        let value = self.apply_to(opcode, ty, x);
        self.push(value);
    }

    /// Sign-extends the low bits of an integer.
    fn extend_low(&mut self, narrow: ir::Type, ty: ir::Type) {
        let x = self.pop();
        let low = self.ins().ireduce(narrow, x);
        let value = self.ins().sextend(ty, low);
        self.push(value);
    }

    fn reinterpret(&mut self, ty: ir::Type) {
        let x = self.pop();
        let value = self.ins().bitcast(ty, MemFlagsData::new(), x);
        self.push(value);
    }

    fn equals_zero(&mut self) {
        let x = self.pop();
        let truth = self.ins().icmp_imm_u(IntCC::Equal, x, 0);
        self.push_truth(truth);
    }

    fn compare(&mut self, condition: IntCC) {
        let (a, b) = self.pop2();
        let truth = self.ins().icmp(condition, a, b);
        self.push_truth(truth);
    }

    fn compare_floats(&mut self, condition: FloatCC) {
        let (a, b) = self.pop2();
        let truth = self.ins().fcmp(condition, a, b);
        self.push_truth(truth);
    }

    /// Pushes one of Cranelift's truth values, which are bytes, as an `i32`.
    pub(super) fn push_truth(&mut self, truth: Value) {
        let value = self.ins().uextend(I32, truth);
        self.push(value);
    }

    /// An instruction on two 128-bit integers. Each is two operands, the low half first.
    fn binary_128(&mut self, opcode: Opcode) {
        let b = self.pop_128();
        let a = self.pop_128();
        let value = self.apply2(opcode, a, b);
        self.push_128(value);
    }

    /// A 128-bit product. The backend selects one instruction for the extensions and the product.
    fn multiply_wide(&mut self, extend: Opcode) {
        let (a, b) = self.pop2();
        let a = self.apply_to(extend, I128, a);
        let b = self.apply_to(extend, I128, b);
        let value = self.ins().imul(a, b);
        self.push_128(value);
    }

    fn pop_128(&mut self) -> Value {
        let (low, high) = self.pop2();
        self.ins().iconcat(low, high)
    }

    fn push_128(&mut self, value: Value) {
        let (low, high) = self.ins().isplit(value);
        self.push(low);
        self.push(high);
    }

    // ---- instructions by opcode

    /// Appends an instruction of the same type as its operand.
    pub(super) fn apply(&mut self, opcode: Opcode, x: Value) -> Value {
        let ty = self.builder.func.dfg.value_type(x);
        self.apply_to(opcode, ty, x)
    }

    /// Appends an instruction with a result of type `ty`.
    pub(super) fn apply_to(&mut self, opcode: Opcode, ty: ir::Type, x: Value) -> Value {
        let (inst, dfg) = self.ins().Unary(opcode, ty, x);
        dfg.first_result(inst)
    }

    /// Appends an instruction of the same type as its first operand.
    pub(super) fn apply2(&mut self, opcode: Opcode, a: Value, b: Value) -> Value {
        let ty = self.builder.func.dfg.value_type(a);
        let (inst, dfg) = self.ins().Binary(opcode, ty, a, b);
        dfg.first_result(inst)
    }
}
