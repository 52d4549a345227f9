//! Bits and literals of numbers and lanes.

use wast::core::NanPattern;
use wast::token::{F32, F64};

/// The type of a number or a lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NumberKind {
    I8,
    I16,
    I32,
    I64,
    F32,
    F64,
}

impl NumberKind {
    pub(crate) fn width(self) -> u32 {
        match self {
            NumberKind::I8 => 8,
            NumberKind::I16 => 16,
            NumberKind::I32 | NumberKind::F32 => 32,
            NumberKind::I64 | NumberKind::F64 => 64,
        }
    }

    /// The lane `index` of a vector whose lanes are of this kind.
    pub(crate) fn lane(self, vector: u128, index: u32) -> u64 {
        let lane = (vector >> (index * self.width())) as u64;
        lane & (u64::MAX >> (64 - self.width()))
    }

    /// The number of lanes of this kind in a vector.
    pub(crate) fn lanes(self) -> u32 {
        128 / self.width()
    }

    /// The name of the vectors whose lanes are of this kind.
    pub(crate) fn shape(self) -> &'static str {
        match self {
            NumberKind::I8 => "i8x16",
            NumberKind::I16 => "i16x8",
            NumberKind::I32 => "i32x4",
            NumberKind::I64 => "i64x2",
            NumberKind::F32 => "f32x4",
            NumberKind::F64 => "f64x2",
        }
    }

    /// The literal for these bits.
    pub(crate) fn literal(self, bits: u64) -> String {
        match self {
            NumberKind::I8 => (bits as i8).to_string(),
            NumberKind::I16 => (bits as i16).to_string(),
            NumberKind::I32 => (bits as i32).to_string(),
            NumberKind::I64 => (bits as i64).to_string(),
            NumberKind::F32 => f32_literal(f32::from_bits(bits as u32)),
            NumberKind::F64 => f64_literal(f64::from_bits(bits)),
        }
    }

    /// The bits of the positive canonical NaN.
    fn canonical_nan(self) -> u64 {
        match self {
            NumberKind::F32 => 0x7fc0_0000,
            _ => 0x7ff8_0000_0000_0000,
        }
    }

    fn without_sign(self, bits: u64) -> u64 {
        bits & (u64::MAX >> (65 - self.width()))
    }
}

fn f32_literal(value: f32) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    match value.is_nan() {
        true => format!("{sign}nan:{:#x}", value.to_bits() & 0x7f_ffff),
        false => format!("{value:?}"),
    }
}

fn f64_literal(value: f64) -> String {
    let sign = if value.is_sign_negative() { "-" } else { "" };
    match value.is_nan() {
        true => format!("{sign}nan:{:#x}", value.to_bits() & 0xf_ffff_ffff_ffff),
        false => format!("{value:?}"),
    }
}

/// The bits that an assertion accepts.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Number {
    Bits(u64),
    /// A NaN of any sign whose payload is only the quiet bit.
    CanonicalNan,
    /// A NaN of any sign whose payload has the quiet bit.
    ArithmeticNan,
}

impl Number {
    /// Whether the bits of a number of this kind are accepted.
    pub(crate) fn accepts(self, kind: NumberKind, bits: u64) -> bool {
        let nan = kind.canonical_nan();
        match self {
            Number::Bits(expected) => bits == expected,
            Number::CanonicalNan => kind.without_sign(bits) == nan,
            Number::ArithmeticNan => bits & nan == nan,
        }
    }

    /// The literal in a script.
    pub(crate) fn literal(self, kind: NumberKind) -> String {
        match self {
            Number::Bits(bits) => kind.literal(bits),
            Number::CanonicalNan => "nan:canonical".to_owned(),
            Number::ArithmeticNan => "nan:arithmetic".to_owned(),
        }
    }
}

impl From<NanPattern<F32>> for Number {
    fn from(pattern: NanPattern<F32>) -> Self {
        from_pattern(pattern, |value| value.bits.into())
    }
}

impl From<NanPattern<F64>> for Number {
    fn from(pattern: NanPattern<F64>) -> Self {
        from_pattern(pattern, |value| value.bits)
    }
}

fn from_pattern<T>(pattern: NanPattern<T>, bits: impl Fn(T) -> u64) -> Number {
    match pattern {
        NanPattern::Value(value) => Number::Bits(bits(value)),
        NanPattern::CanonicalNan => Number::CanonicalNan,
        NanPattern::ArithmeticNan => Number::ArithmeticNan,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn canonical_nans_have_only_the_quiet_bit_and_any_sign() {
        let accepts = |kind, bits| Number::CanonicalNan.accepts(kind, bits);
        assert!(accepts(NumberKind::F32, 0x7fc0_0000));
        assert!(accepts(NumberKind::F32, 0xffc0_0000));
        assert!(!accepts(NumberKind::F32, 0x7fc0_0001));
        assert!(!accepts(NumberKind::F32, 0x7f80_0000));
        assert!(accepts(NumberKind::F64, 0xfff8_0000_0000_0000));
        assert!(!accepts(NumberKind::F64, 0x7ffc_0000_0000_0000));
    }

    #[test]
    fn arithmetic_nans_have_the_quiet_bit() {
        let accepts = |kind, bits| Number::ArithmeticNan.accepts(kind, bits);
        assert!(accepts(NumberKind::F32, 0xffc0_0001));
        assert!(!accepts(NumberKind::F32, 0x7fa0_0000));
        assert!(accepts(NumberKind::F64, 0x7ffc_0000_0000_0000));
        assert!(!accepts(NumberKind::F64, 0x7ff4_0000_0000_0000));
        assert!(!accepts(NumberKind::F64, 1.0f64.to_bits()));
    }

    #[test]
    fn lanes_are_numbered_from_the_low_end() {
        let vector = 0x0f0e_0d0c_0b0a_0908_0706_0504_0302_0100;
        assert_eq!(NumberKind::I8.lane(vector, 15), 0x0f);
        assert_eq!(NumberKind::I16.lane(vector, 0), 0x0100);
        assert_eq!(NumberKind::F64.lane(vector, 1), 0x0f0e_0d0c_0b0a_0908);
    }

    #[test]
    fn literals_are_those_of_the_text_format() {
        assert_eq!(NumberKind::I8.literal(0xff), "-1");
        assert_eq!(NumberKind::F32.literal(0x7fc0_0001), "nan:0x400001");
        assert_eq!(NumberKind::F64.literal(f64::NEG_INFINITY.to_bits()), "-inf");
        assert_eq!(NumberKind::F64.literal((-0.0f64).to_bits()), "-0.0");
    }
}
