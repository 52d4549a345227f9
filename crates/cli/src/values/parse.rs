//! Parses arguments of functions.
//!
//! Numbers are literals of the text format: integers in decimal or hexadecimal, signed or
//! unsigned; floats also as `inf`, `nan`, `nan:0x1`, `0x1.8p3`. A vector is 128 bits in
//! hexadecimal, or its lanes, as in `i32x4:1,2,3,4`. The only reference is `null`.

use anyhow::{Context, ensure};
use ropewalk::{FuncType, Result, Val, ValType};
use wast::core::V128Const;
use wast::parser::{self, Parse, ParseBuffer};
use wast::token::{F32, F64};

/// Parses the arguments of the function `name`.
pub(crate) fn parse(name: &str, ty: &FuncType, arguments: &[&str]) -> Result<Vec<Val>> {
    let parameters = ty.params();
    ensure!(
        parameters.len() == arguments.len(),
        "function `{name}` of type {ty} takes {}, found {}",
        count(parameters.len()),
        arguments.len(),
    );
    let pairs = parameters.iter().zip(arguments).enumerate();
    pairs.map(|(index, (&ty, argument))| parameter(index, ty, argument)).collect()
}

fn count(arguments: usize) -> String {
    format!("{arguments} argument{}", if arguments == 1 { "" } else { "s" })
}

fn parameter(index: usize, ty: ValType, argument: &str) -> Result<Val> {
    value(ty, argument).with_context(|| {
        format!("parameter {} has type {ty}, but `{argument}` is {}", index + 1, hint(ty))
    })
}

fn value(ty: ValType, argument: &str) -> Option<Val> {
    match ty {
        ValType::I32 => token(argument).map(Val::I32),
        ValType::I64 => token(argument).map(Val::I64),
        ValType::F32 => token(argument).map(|value: F32| Val::F32(value.bits)),
        ValType::F64 => token(argument).map(|value: F64| Val::F64(value.bits)),
        ValType::V128 => vector(argument).map(Val::V128),
        ValType::Ref(ty) if ty.nullable && argument == "null" => Some(Val::null(ty)),
        ValType::Ref(_) => None,
    }
}

/// The end of the message about an argument that does not have this type.
fn hint(ty: ValType) -> &'static str {
    match ty {
        ValType::I32 | ValType::I64 => "not an integer in its range (such as -7, 42 or 0xff)",
        ValType::F32 | ValType::F64 => {
            "not a number in its range (such as -0.5, 1e9, 0x1.8p3 or nan)"
        }
        ValType::V128 => "not a vector (such as 0xff, i32x4:1,2,3,4 or f64x2:0.5,1)",
        ValType::Ref(ty) if ty.nullable => "not `null`, the only reference that an argument can be",
        ValType::Ref(_) => "not such a reference: an argument cannot be one",
    }
}

fn vector(argument: &str) -> Option<u128> {
    if let Some(digits) = argument.strip_prefix("0x") {
        return u128::from_str_radix(&digits.replace('_', ""), 16).ok();
    }
    let (shape, lanes) = argument.split_once(':')?;
    let constant = format!("{shape} {}", lanes.replace(',', " "));
    token(&constant).map(|value: V128Const| u128::from_le_bytes(value.to_le_bytes()))
}

/// Parses a literal of the text format.
fn token<T: for<'a> Parse<'a>>(text: &str) -> Option<T> {
    let buffer = ParseBuffer::new(text).ok()?;
    parser::parse(&buffer).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(ty: ValType, argument: &str, expected: Val) {
        let found = value(ty, argument);
        assert_eq!(format!("{found:?}"), format!("{:?}", Some(expected)), "{argument}");
    }

    fn reject(ty: ValType, argument: &str) {
        assert!(value(ty, argument).is_none(), "{argument}");
    }

    #[test]
    fn integers_are_signed_or_unsigned_decimal_or_hexadecimal() {
        check(ValType::I32, "-7", Val::I32(-7));
        check(ValType::I32, "4294967295", Val::I32(-1));
        check(ValType::I32, "-0x80000000", Val::I32(i32::MIN));
        check(ValType::I64, "0xffff_ffff_ffff_ffff", Val::I64(-1));
        reject(ValType::I32, "4294967296");
        reject(ValType::I32, "-2147483649");
        reject(ValType::I32, "1.5");
        reject(ValType::I32, "");
        reject(ValType::I32, "1 2");
        reject(ValType::I64, "seven");
    }

    #[test]
    fn floats_may_be_special_or_hexadecimal() {
        check(ValType::F64, "-0.5", Val::F64((-0.5f64).to_bits()));
        check(ValType::F64, "7", Val::F64(7f64.to_bits()));
        check(ValType::F32, "0x1.8p3", Val::F32(12f32.to_bits()));
        check(ValType::F32, "-inf", Val::F32(f32::NEG_INFINITY.to_bits()));
        check(ValType::F32, "nan:0x1", Val::F32(0x7f80_0001));
        reject(ValType::F32, "1e40");
        reject(ValType::F64, "many");
    }

    #[test]
    fn vectors_are_bits_or_lanes() {
        check(ValType::V128, "0xff", Val::V128(255));
        check(ValType::V128, "i32x4:1,-1,0,0", Val::V128(0xffff_ffff_0000_0001));
        check(ValType::V128, "f64x2:0,1", Val::V128(0x3ff0_0000_0000_0000 << 64));
        reject(ValType::V128, "i32x4:1,2,3");
        reject(ValType::V128, "7");
        reject(ValType::V128, "0x1_0000_0000_0000_0000_0000_0000_0000_0000");
    }

    #[test]
    fn the_only_reference_is_null() {
        check(ValType::FUNCREF, "null", Val::FuncRef(None));
        check(ValType::EXTERNREF, "null", Val::ExternRef(None));
        reject(ValType::FUNCREF, "0");
    }
}
