//! Evaluating constant expressions.

use ropewalk_abi::RawVal;
use ropewalk_abi::module::{ConstExpr, ConstOp};

/// What constant expressions can refer to.
pub(crate) trait Constants {
    /// The value of a global.
    fn global(&self, global: u32) -> RawVal;
    /// A reference to a function.
    fn func_ref(&self, function: u32) -> u64;
}

/// The value of an expression that validation has accepted.
pub(crate) fn evaluate(expr: &ConstExpr, constants: &impl Constants) -> RawVal {
    let mut stack: Vec<RawVal> = Vec::new();
    for op in &expr.0 {
        let value = match *op {
            ConstOp::I32(value) => RawVal::from_u32(value as u32),
            ConstOp::I64(value) => RawVal::from_u64(value as u64),
            ConstOp::F32(bits) => RawVal::from_u32(bits),
            ConstOp::F64(bits) => RawVal::from_u64(bits),
            ConstOp::V128(bytes) => RawVal::from_u128(u128::from_le_bytes(bytes)),
            ConstOp::RefNull => RawVal::ZERO,
            ConstOp::RefFunc(function) => RawVal::from_u64(constants.func_ref(function)),
            ConstOp::GlobalGet(global) => constants.global(global),
            ConstOp::I32Add => binary32(&mut stack, u32::wrapping_add),
            ConstOp::I32Sub => binary32(&mut stack, u32::wrapping_sub),
            ConstOp::I32Mul => binary32(&mut stack, u32::wrapping_mul),
            ConstOp::I64Add => binary64(&mut stack, u64::wrapping_add),
            ConstOp::I64Sub => binary64(&mut stack, u64::wrapping_sub),
            ConstOp::I64Mul => binary64(&mut stack, u64::wrapping_mul),
        };
        stack.push(value);
    }
    pop(&mut stack)
}

fn binary32(stack: &mut Vec<RawVal>, op: fn(u32, u32) -> u32) -> RawVal {
    let (b, a) = (pop(stack).u32(), pop(stack).u32());
    RawVal::from_u32(op(a, b))
}

fn binary64(stack: &mut Vec<RawVal>, op: fn(u64, u64) -> u64) -> RawVal {
    let (b, a) = (pop(stack).u64(), pop(stack).u64());
    RawVal::from_u64(op(a, b))
}

fn pop(stack: &mut Vec<RawVal>) -> RawVal {
    stack.pop().expect("validation keeps the stack balanced")
}
