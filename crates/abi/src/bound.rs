//! The layout of arguments that are bound to a suspended or new stack.
//!
//! They are on the stack that will continue, below the place where it was left. The stack then
//! continues in the stub `deliver`, which puts them before the values of the switch, and then
//! continues where the stack was left:
//!
//! ```text
//!   | where the stack was left      |  `sp` without them
//!   | BoundEnd                      |
//!   | value 0                       |  16 bytes each
//!   | ...                           |
//!   | value n - 1                   |
//!   | BoundHead: `deliver`, rest, n |  <-- ControlBlock::sp
//! ```
//!
//! So a switch to the stack needs no code for them, and they move with the stack. Further values
//! are put in the place of the head, with a new head below them.

use crate::context::{RawVal, TypeInfo};
use std::ffi::c_void;

/// The words below bound values, at the stack pointer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BoundHead {
    /// The stub, which identifies a stack with bound arguments.
    pub deliver: *const c_void,
    /// How many more values the switch brings: the other parameters of the type.
    pub rest: u32,
    /// How many values are bound besides the first one. So one comparison of both numbers tells
    /// `deliver` that one value is bound, and that all values fit into registers.
    pub further: u32,
}

/// The word above bound values.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BoundEnd {
    /// A function type. The values are its first parameters. Values that are bound later have
    /// subtypes of its other parameters.
    pub ty: *const TypeInfo,
}

/// The bytes of a stack that this many bound values take.
pub const fn bound_size(count: usize) -> usize {
    size_of::<BoundHead>() + count * size_of::<RawVal>() + size_of::<BoundEnd>()
}

/// Both numbers in one word.
pub const fn bound_numbers(further: u32, rest: u32) -> u64 {
    (further as u64) << u32::BITS | rest as u64
}

/// The change of the word with both numbers when this many more values are bound.
pub const fn bind_more(count: usize) -> u64 {
    ((count as u64) << u32::BITS).wrapping_sub(count as u64)
}

/// The word when `count` values, at least one, are bound to a stack that expects `expected`.
pub const fn first_bound(expected: usize, count: usize) -> u64 {
    bound_numbers(count as u32 - 1, (expected - count) as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_change_together() {
        let mut word = first_bound(1000, 1);
        assert_eq!(word, bound_numbers(0, 999));
        for bound in [3, 996] {
            word = word.wrapping_add(bind_more(bound));
        }
        assert_eq!(word, bound_numbers(999, 0), "all are bound, and none is left");
        assert_eq!(word, first_bound(1000, 1000));
    }
}
