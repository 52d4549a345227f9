//! References to stacks, and the handlers of `resume`.
//!
//! A reference is one word:
//!
//! ```text
//!   63                    29 28            5 4   2 1 0
//!  | generation             | block number  | kind | 10 |
//! ```
//!
//! A stack's control block has the only word that is valid for it. Using it
//! compares the whole word and adds one to the generation, so that null, a
//! second use, a stale reference and one of another kind all fail the same
//! comparison. The lowest bits tell such a word from the address of an object
//! and from an `i31`.

use crate::context::ControlBlock;

/// The lowest bits of a reference to a stack.
pub const TAG: u64 = 0b10;
/// Which bits the lowest ones are.
pub const TAG_MASK: u64 = 0b11;
/// Where the kind begins.
pub const KIND_SHIFT: u32 = 2;
/// Where the number of the block begins.
pub const NUMBER_SHIFT: u32 = 5;
/// How many bits the number has.
pub const NUMBER_BITS: u32 = 24;
/// Where the generation begins.
pub const GENERATION_SHIFT: u32 = NUMBER_SHIFT + NUMBER_BITS;
/// What is added to a reference when it is used.
pub const NEXT_GENERATION: u64 = 1 << GENERATION_SHIFT;
/// How many blocks there can be.
pub const MAX_BLOCKS: usize = 1 << NUMBER_BITS;
/// How far a reference is shifted left to become the offset of its block.
pub const OFFSET_SHIFT: u32 = size_of::<ControlBlock>().trailing_zeros() - NUMBER_SHIFT;
/// Which bits of the shifted reference are the offset.
pub const OFFSET_MASK: u64 = ((MAX_BLOCKS as u64) - 1) * size_of::<ControlBlock>() as u64;

const _: () = assert!(size_of::<ControlBlock>() == 128);

/// The designs of stack switching.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StackKind {
    /// Typed continuations.
    Continuation = 0,
}

/// What becomes of a stack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum StackState {
    /// It waits to be used.
    Free = 0,
    /// It belongs to a computation: new, suspended, running, or waiting for
    /// another stack.
    InUse = 1,
}

/// Whether a word is a reference to a stack.
pub fn is_stack(word: u64) -> bool {
    word & TAG_MASK == TAG
}

/// The first reference to the stack with a number.
pub fn first_reference(kind: StackKind, number: usize) -> u64 {
    (number as u64) << NUMBER_SHIFT | (kind as u64) << KIND_SHIFT | TAG
}

/// The number of the block that a reference names.
pub fn block_number(reference: u64) -> usize {
    (reference >> NUMBER_SHIFT) as usize & (MAX_BLOCKS - 1)
}

/// How a clause of a `resume` stands in its table: the address of the tag, with
/// the lowest bit set for a `switch` clause.
pub fn handler_word(tag: usize, is_switch: bool) -> u64 {
    tag as u64 | u64::from(is_switch)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_leads_to_its_block() {
        for number in [0, 1, 77, MAX_BLOCKS - 1] {
            let reference = first_reference(StackKind::Continuation, number);
            assert!(is_stack(reference));
            let used = reference.wrapping_add(NEXT_GENERATION);
            assert_eq!(block_number(used), number);
            let offset = (used << OFFSET_SHIFT) & OFFSET_MASK;
            assert_eq!(offset as usize, number * size_of::<ControlBlock>());
        }
    }

    #[test]
    fn the_generation_ends_in_an_overflow() {
        let last = u64::MAX << GENERATION_SHIFT | first_reference(StackKind::Continuation, 5);
        assert_eq!(last.checked_add(NEXT_GENERATION), None);
    }
}
