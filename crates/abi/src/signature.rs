//! Which parameters and results travel through the transfer area.
//!
//! The `tail` convention returns at most eight integers and eight floats in registers. A return
//! area of the caller would be a pointer into a stack, which relocatable frames must not hold. So
//! the other results travel through the store's transfer area ([`StoreContext::transfer`]). They
//! are written right before the return, and read right after it.
//!
//! So do parameters beyond the first 64. Then a tail call never lowers the stack pointer by more
//! than a guard page without touching it.
//!
//! [`StoreContext::transfer`]: crate::StoreContext::transfer

use crate::types::{FuncType, ValType};

/// The parameters that travel in registers and on the stack.
pub const DIRECT_PARAMS: usize = 64;
/// The integer results, and the float results, that travel in registers.
pub const DIRECT_RESULTS_PER_CLASS: usize = 8;
/// The places of the transfer area: the most parameters or results of a function.
pub const TRANSFER_SLOTS: usize = 1000;

/// The parameters that the host and a function pass each other in registers.
pub const WORDS: usize = 4;

/// Whether calls between the host and functions of this type pass words in registers, and not an
/// array: if there are few, and none is a vector. Both conventions have them in the same registers.
pub fn in_registers(ty: &FuncType) -> bool {
    let is_word = |ty: &ValType| *ty != ValType::V128;
    ty.params().len() <= WORDS
        && ty.results().len() <= 1
        && ty.params().iter().chain(ty.results()).all(is_word)
}

/// How a parameter or result travels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passing {
    /// As the next parameter or result of the machine-level signature.
    Direct,
    /// In this place of the transfer area.
    Transfer(u32),
}

/// The places of a function's parameters, in order.
pub fn param_places(params: &[ValType]) -> impl Iterator<Item = Passing> {
    (0..params.len()).map(|i| match i.checked_sub(DIRECT_PARAMS) {
        None => Passing::Direct,
        Some(slot) => Passing::Transfer(slot as u32),
    })
}

/// The places of a function's results, in order.
pub fn result_places(results: &[ValType]) -> impl Iterator<Item = Passing> {
    let (mut integers, mut floats, mut transferred) = (0, 0, 0);
    results.iter().map(move |ty| {
        let class = if ty.is_float_class() { &mut floats } else { &mut integers };
        *class += 1;
        if *class <= DIRECT_RESULTS_PER_CLASS {
            return Passing::Direct;
        }
        transferred += 1;
        Passing::Transfer(transferred - 1)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_of_results_overflow_on_their_own() {
        let results = [[ValType::I32; 9].as_slice(), &[ValType::V128; 9]].concat();
        let places: Vec<_> = result_places(&results).collect();
        assert_eq!(places[7], Passing::Direct);
        assert_eq!(places[8], Passing::Transfer(0));
        assert_eq!(places[16], Passing::Direct);
        assert_eq!(places[17], Passing::Transfer(1));
    }

    #[test]
    fn params_overflow_together() {
        let places: Vec<_> = param_places(&[ValType::I64; 66]).collect();
        assert_eq!(places[63], Passing::Direct);
        assert_eq!(places[64..], [Passing::Transfer(0), Passing::Transfer(1)]);
    }
}
