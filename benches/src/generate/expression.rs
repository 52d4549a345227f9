//! Expressions of a generated function: code that pushes one value.

use wasm_encoder::{InstructionSink, ValType};

use super::body::Body;
use super::locals::{F32_PAGE, F64_PAGE};

/// An instruction without immediates.
type Plain = for<'c, 's> fn(&'c mut InstructionSink<'s>) -> &'c mut InstructionSink<'s>;

/// An array of the encoder's instructions, by name.
macro_rules! plain {
    ($($name:ident)*) => { &[$(|code| code.$name()),*] };
}

const I32_BINARY: &[Plain] = plain!(
    i32_add i32_add i32_add i32_sub i32_sub i32_mul i32_and i32_and i32_or i32_xor
    i32_shl i32_shr_u i32_shr_s i32_rotl
);
const I64_BINARY: &[Plain] = plain!(
    i64_add i64_add i64_add i64_sub i64_sub i64_mul i64_and i64_or i64_xor
    i64_shl i64_shr_u i64_shr_s i64_rotr
);
const F32_BINARY: &[Plain] = plain!(f32_add f32_sub f32_mul f32_mul f32_div f32_min f32_max);
const F64_BINARY: &[Plain] = plain!(f64_add f64_sub f64_mul f64_mul f64_div f64_min f64_max);

const I32_COMPARISON: &[Plain] = plain!(
    i32_eq i32_ne i32_lt_s i32_lt_u i32_gt_s i32_gt_u i32_le_s i32_ge_u
);
const I64_COMPARISON: &[Plain] = plain!(i64_eq i64_ne i64_lt_s i64_gt_u i64_ge_s);
const F64_COMPARISON: &[Plain] = plain!(f64_eq f64_ne f64_lt f64_gt f64_le f64_ge);

const I32_UNARY: &[Plain] = plain!(i32_eqz i32_clz i32_ctz i32_popcnt i32_extend8_s i32_extend16_s);
const I64_UNARY: &[Plain] = plain!(i64_clz i64_ctz i64_popcnt i64_extend8_s i64_extend32_s);
const F32_UNARY: &[Plain] = plain!(f32_abs f32_neg f32_sqrt);
const F64_UNARY: &[Plain] = plain!(f64_abs f64_neg f64_sqrt f64_floor f64_ceil f64_nearest);

impl Body<'_> {
    /// An expression of a type, with at most this nesting.
    pub fn expression(&mut self, ty: ValType, depth: u32) {
        if depth == 0 || self.random.below(4) == 0 {
            return self.atom(ty);
        }
        match ty {
            ValType::I32 => self.i32(depth - 1),
            ValType::I64 => self.i64(depth - 1),
            ValType::F32 => self.f32(depth - 1),
            _ => self.f64(depth - 1),
        }
    }

    /// A constant or, more often, a variable.
    fn atom(&mut self, ty: ValType) {
        if self.random.below(3) == 0 {
            return self.constant(ty);
        }
        let local = self.random.of(&self.locals.numbers(ty));
        self.code().local_get(local);
    }

    fn constant(&mut self, ty: ValType) {
        let value = self.random.constant();
        match ty {
            ValType::I32 => self.code().i32_const(value),
            ValType::I64 => self.code().i64_const(value.into()),
            ValType::F32 => self.code().f32_const((value as f32 / 8.0).into()),
            _ => self.code().f64_const((f64::from(value) / 16.0).into()),
        };
    }

    fn i32(&mut self, depth: u32) {
        match self.random.below(16) {
            0..=4 => self.binary(ValType::I32, I32_BINARY, depth),
            5 => self.divide_i32(depth),
            6 | 7 => self.binary(ValType::I32, I32_COMPARISON, depth),
            8 => self.binary(ValType::I64, I64_COMPARISON, depth),
            9 => self.binary(ValType::F64, F64_COMPARISON, depth),
            10 => self.unary(ValType::I32, I32_UNARY, depth),
            11 => self.unary(ValType::I64, plain!(i32_wrap_i64), depth),
            12 => self.unary(ValType::F64, plain!(i32_trunc_sat_f64_s), depth),
            13 => self.select(ValType::I32, depth),
            _ => self.load_i32(),
        }
    }

    fn i64(&mut self, depth: u32) {
        match self.random.below(16) {
            0..=5 => self.binary(ValType::I64, I64_BINARY, depth),
            6 => self.divide_i64(depth),
            7 => self.unary(ValType::I64, I64_UNARY, depth),
            8 | 9 => self.unary(ValType::I32, plain!(i64_extend_i32_s i64_extend_i32_u), depth),
            10 => self.unary(ValType::F64, plain!(i64_trunc_sat_f64_s), depth),
            11 => self.select(ValType::I64, depth),
            12 => drop(self.code().global_get(2)),
            _ => self.load_i64(),
        }
    }

    fn f32(&mut self, depth: u32) {
        match self.random.below(8) {
            0..=3 => self.binary(ValType::F32, F32_BINARY, depth),
            4 => self.unary(ValType::F32, F32_UNARY, depth),
            5 => self.unary(ValType::I32, plain!(f32_convert_i32_s f32_convert_i32_u), depth),
            6 => self.unary(ValType::F64, plain!(f32_demote_f64), depth),
            _ => self.load_f32(),
        }
    }

    fn f64(&mut self, depth: u32) {
        match self.random.below(10) {
            0..=4 => self.binary(ValType::F64, F64_BINARY, depth),
            5 => self.unary(ValType::F64, F64_UNARY, depth),
            6 => self.unary(ValType::I32, plain!(f64_convert_i32_s f64_convert_i32_u), depth),
            7 => self.unary(ValType::F32, plain!(f64_promote_f32), depth),
            8 => self.select(ValType::F64, depth),
            _ => self.load_f64(),
        }
    }

    fn binary(&mut self, ty: ValType, instructions: &[Plain], depth: u32) {
        self.expression(ty, depth);
        self.expression(ty, depth);
        self.plain(instructions);
    }

    fn unary(&mut self, ty: ValType, instructions: &[Plain], depth: u32) {
        self.expression(ty, depth);
        self.plain(instructions);
    }

    fn plain(&mut self, instructions: &[Plain]) {
        let instruction = self.random.of(instructions);
        instruction(&mut self.code());
    }

    fn select(&mut self, ty: ValType, depth: u32) {
        self.expression(ty, depth);
        self.expression(ty, depth);
        self.expression(ValType::I32, depth);
        self.code().select();
    }

    /// An odd divisor is not zero.
    fn divide_i32(&mut self, depth: u32) {
        self.expression(ValType::I32, depth);
        self.expression(ValType::I32, depth);
        self.code().i32_const(1).i32_or();
        self.plain(plain!(i32_div_u i32_rem_u i32_rem_s));
    }

    fn divide_i64(&mut self, depth: u32) {
        self.expression(ValType::I64, depth);
        self.expression(ValType::I64, depth);
        self.code().i64_const(1).i64_or();
        self.plain(plain!(i64_div_u i64_rem_u i64_rem_s));
    }

    fn load_i32(&mut self) {
        self.pointer();
        match self.random.below(8) {
            0 | 1 => self.at(0, |code, at| code.i32_load8_u(at)),
            2 => self.at(0, |code, at| code.i32_load8_s(at)),
            3 => self.at(1, |code, at| code.i32_load16_u(at)),
            _ => self.at(2, |code, at| code.i32_load(at)),
        }
    }

    fn load_i64(&mut self) {
        self.pointer();
        match self.random.below(4) {
            0 => self.at(2, |code, at| code.i64_load32_u(at)),
            _ => self.at(3, |code, at| code.i64_load(at)),
        }
    }

    fn load_f32(&mut self) {
        self.pointer();
        self.at_float(F32_PAGE, 2, |code, at| code.f32_load(at));
    }

    fn load_f64(&mut self) {
        self.pointer();
        self.at_float(F64_PAGE, 3, |code, at| code.f64_load(at));
    }
}
