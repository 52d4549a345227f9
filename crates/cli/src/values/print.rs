//! Formats results of functions.

use ropewalk::{AsContext, Result, Val};

/// Formats a value: a number as a literal, an object with its contents.
pub(crate) fn format(value: &Val, store: impl AsContext) -> Result<String> {
    match value {
        Val::AnyRef(Some(_)) => value.describe(store),
        other => Ok(literal(other)),
    }
}

/// The value as a literal: integers signed, floats as short as an exact round trip allows,
/// vectors in hexadecimal.
fn literal(value: &Val) -> String {
    match value {
        Val::I32(value) => value.to_string(),
        Val::I64(value) => value.to_string(),
        Val::F32(bits) => f32_literal(f32::from_bits(*bits)),
        Val::F64(bits) => f64_literal(f64::from_bits(*bits)),
        Val::V128(bits) => format!("{bits:#034x}"),
        Val::FuncRef(None) | Val::ExternRef(None) => "null".to_owned(),
        Val::AnyRef(None) | Val::ExnRef(None) | Val::ContRef(None) => "null".to_owned(),
        Val::FuncRef(Some(_)) => "func".to_owned(),
        Val::ExternRef(Some(_)) => "extern".to_owned(),
        Val::AnyRef(Some(_)) => "any".to_owned(),
        Val::ExnRef(Some(_)) => "exn".to_owned(),
        Val::ContRef(Some(_)) => "cont".to_owned(),
    }
}

/// The sign and payload of a NaN are not shown, since most come from the processor.
fn f32_literal(value: f32) -> String {
    match value.abs() {
        _ if value.is_nan() => "nan".to_owned(),
        0.0 | 1e-5..1e16 | f32::INFINITY => value.to_string(),
        _ => format!("{value:e}"),
    }
}

fn f64_literal(value: f64) -> String {
    match value.abs() {
        _ if value.is_nan() => "nan".to_owned(),
        0.0 | 1e-5..1e16 | f64::INFINITY => value.to_string(),
        _ => format!("{value:e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_are_short_and_parse_to_the_same_value() {
        let values = [
            (0.0, "0"),
            (-0.0, "-0"),
            (1.0, "1"),
            (0.1, "0.1"),
            (-2.5, "-2.5"),
            (1e300, "1e300"),
            (5e-324, "5e-324"),
            (f64::INFINITY, "inf"),
            (f64::NEG_INFINITY, "-inf"),
            (f64::NAN, "nan"),
            (-f64::NAN, "nan"),
        ];
        for (value, expected) in values {
            assert_eq!(f64_literal(value), expected);
            let again: f64 = expected.parse().unwrap();
            assert!(again == value || value.is_nan(), "{expected}");
        }
        assert_eq!(f32_literal(0.1), "0.1");
        assert_eq!(f32_literal(3.4e38), "3.4e38");
    }

    #[test]
    fn vectors_show_all_their_digits() {
        assert_eq!(literal(&Val::V128(1)), "0x00000000000000000000000000000001");
    }
}
