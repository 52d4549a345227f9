//! Arguments that are bound to a suspended or new stack: where they lie.
//!
//! They lie on the stack that is to be continued, below where it was left. The
//! stack then continues in the stub `deliver`, which puts them before the values
//! that come with the switch, and goes on where the stack was left:
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
//! So whoever continues the stack need not know of them, and they move with it.
//! Further values are put in the place of the head, and a new head below them.

use crate::context::{RawVal, TypeInfo};
use std::ffi::c_void;

/// What lies below bound values, at the stack pointer.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BoundHead {
    /// The stub, by which a stack with bound arguments is recognised.
    pub deliver: *const c_void,
    /// How many more values come with the switch: the other parameters of the type.
    pub rest: u32,
    /// How many values are bound besides the first one. So `deliver` finds out by one
    /// comparison of both numbers that a single one is, and that all fit into registers.
    pub further: u32,
}

/// What lies above bound values.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct BoundEnd {
    /// The function type whose first parameters the values are. Values that are
    /// bound later are of subtypes of its other ones.
    pub ty: *const TypeInfo,
}

/// How many bytes of a stack this many values take.
pub const fn bound_size(count: usize) -> usize {
    size_of::<BoundHead>() + count * size_of::<RawVal>() + size_of::<BoundEnd>()
}

/// Both numbers in one word.
pub const fn bound_numbers(further: u32, rest: u32) -> u64 {
    (further as u64) << u32::BITS | rest as u64
}

/// How the word with both numbers changes when this many more values are bound.
pub const fn bind_more(count: usize) -> u64 {
    ((count as u64) << u32::BITS).wrapping_sub(count as u64)
}

/// The word when as many values, at least one, are bound to a stack that expected this
/// many.
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
