//! The classes of the values of a switch, for traces.
//!
//! One word has the class of each value, the first in the lowest bits, and the number of values in
//! the highest bits:
//!
//! ```text
//!   63      56                    8    4 3    0
//!  | count     |  ...  | third   | second | first |
//! ```

use crate::types::{HeapType, TypeKind, ValType};

/// The class of a value in a trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum TracedClass {
    /// An `i32`.
    I32 = 0,
    /// An `i64`.
    I64 = 1,
    /// An `f32`.
    F32 = 2,
    /// An `f64`.
    F64 = 3,
    /// A `v128`.
    V128 = 4,
    /// A reference to a function.
    Func = 5,
    /// Any other reference.
    Ref = 6,
}

/// The number of values whose class a word has.
pub const TRACED: usize = 14;
const BITS: u32 = 4;
const COUNT_SHIFT: u32 = 56;

impl TracedClass {
    /// The class of the values of a type. `kind` returns the kind of a defined type.
    pub fn of(ty: ValType, kind: impl Fn(u32) -> TypeKind) -> TracedClass {
        match ty {
            ValType::I32 => TracedClass::I32,
            ValType::I64 => TracedClass::I64,
            ValType::F32 => TracedClass::F32,
            ValType::F64 => TracedClass::F64,
            ValType::V128 => TracedClass::V128,
            ValType::Ref(ty) => match ty.heap {
                HeapType::Func | HeapType::NoFunc => TracedClass::Func,
                HeapType::Concrete(number) if kind(number) == TypeKind::Func => TracedClass::Func,
                _ => TracedClass::Ref,
            },
        }
    }

    fn from_bits(bits: u64) -> Option<TracedClass> {
        use TracedClass::*;
        [I32, I64, F32, F64, V128, Func, Ref].into_iter().find(|class| *class as u64 == bits)
    }
}

/// The word for values of these types.
pub fn traced_word(types: &[ValType], kind: impl Fn(u32) -> TypeKind) -> u64 {
    let class =
        |(i, ty): (usize, &ValType)| (TracedClass::of(*ty, &kind) as u64) << (i as u32 * BITS);
    let count = types.len().min(u8::MAX.into()) as u64;
    types.iter().take(TRACED).enumerate().map(class).sum::<u64>() | count << COUNT_SHIFT
}

/// The number of values in a word.
pub fn traced_count(word: u64) -> usize {
    (word >> COUNT_SHIFT) as usize
}

/// The class of a value by number, if the word has it.
pub fn traced_class(word: u64, number: usize) -> Option<TracedClass> {
    let is_there = number < traced_count(word).min(TRACED);
    let bits = word >> (number as u32 * BITS) & ((1 << BITS) - 1);
    is_there.then(|| TracedClass::from_bits(bits)).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::RefType;

    #[test]
    fn a_word_says_the_classes_that_were_put_in() {
        let types = [ValType::F64, ValType::Ref(RefType::FUNCREF), ValType::I32];
        let word = traced_word(&types, |_| TypeKind::Struct);
        assert_eq!(traced_count(word), 3);
        let classes: Vec<_> = (0..4).map(|i| traced_class(word, i)).collect();
        use TracedClass::*;
        assert_eq!(classes, [Some(F64), Some(Func), Some(I32), None]);
    }

    #[test]
    fn very_many_values_are_counted_as_many() {
        let word = traced_word(&[ValType::V128; 1000], |_| TypeKind::Struct);
        assert_eq!(traced_count(word), 255);
        assert_eq!(traced_class(word, TRACED - 1), Some(TracedClass::V128));
        assert_eq!(traced_class(word, TRACED), None);
    }
}
