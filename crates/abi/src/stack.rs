//! References to stacks, and clauses.
//!
//! A reference is one word:
//!
//! ```text
//!   63                 30 29            6 5 4    2 1 0
//!  | generation          | block number  | 0 | kind | 10 |
//! ```
//!
//! The bits of the number are half the offset of the block.
//!
//! A stack's control block has the only word that is valid for the stack, with zero as its kind. A
//! reference gets its kind when it is created. A use removes the expected kind, compares the
//! whole word, and adds one to the generation. So null, a second use, a stale reference and one of
//! another kind all fail the same comparison. The lowest bits distinguish a reference to a stack
//! from the address of an object and from an `i31`.

use crate::context::{ControlBlock, TagDef};
pub use crate::purpose::{Purpose, StackKind};

/// The lowest bits of a reference to a stack.
pub const TAG: u64 = 0b10;
/// The mask of these bits.
pub const TAG_MASK: u64 = 0b11;
/// The shift of the kind.
pub const KIND_SHIFT: u32 = 2;
/// The mask of the kind.
pub const KIND_MASK: u64 = 0b111 << KIND_SHIFT;
/// The shift of the block number.
pub const NUMBER_SHIFT: u32 = size_of::<ControlBlock>().trailing_zeros() - OFFSET_SHIFT;
/// The bits of the block number.
pub const NUMBER_BITS: u32 = 24;
/// The shift of the generation.
pub const GENERATION_SHIFT: u32 = NUMBER_SHIFT + NUMBER_BITS;
/// The difference between a reference and the one of the next generation.
pub const NEXT_GENERATION: u64 = 1 << GENERATION_SHIFT;
/// The last generation. References have as many bits for it as are left.
pub const LAST_GENERATION: u64 = u64::MAX >> GENERATION_SHIFT;
/// References from this one on are of the last generation.
pub const LAST_REFERENCES: u64 = LAST_GENERATION << GENERATION_SHIFT;
/// The most blocks.
pub const MAX_BLOCKS: usize = 1 << NUMBER_BITS;
/// The mask of the offset of the block, which is shifted by [`OFFSET_SHIFT`].
pub const OFFSET_MASK: u64 = ((MAX_BLOCKS as u64) - 1) << NUMBER_SHIFT;
/// The left shift that makes these bits the offset of the block.
pub const OFFSET_SHIFT: u32 = 1;

const _: () = assert!(size_of::<ControlBlock>() == 128);

impl StackKind {
    /// The kind of a reference, if it has one.
    pub fn of(reference: u64) -> Option<StackKind> {
        use StackKind::*;
        let all = [Continuation, Bag, Task, Fiber, FirstClass];
        all.into_iter().find(|kind| (reference & KIND_MASK) >> KIND_SHIFT == *kind as u64)
    }
}

/// What a clause handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum ClauseKind {
    /// A `suspend`.
    Suspend = 0,
    /// A `switch`.
    Switch = 1,
    /// An event of a fiber or of a first-class stack.
    Event = 2,
}

impl ClauseKind {
    /// The kind of a clause that is not [`EVERY_TAG`].
    pub fn of(word: u64) -> ClauseKind {
        match word & 0b11 {
            0 => ClauseKind::Suspend,
            1 => ClauseKind::Switch,
            _ => ClauseKind::Event,
        }
    }
}

/// The distance from the stack pointer of a new stack up to the arguments with which it was made,
/// in places of 16 bytes. Below them is the start address.
pub const NEW_STACK_ARGUMENTS: usize = size_of::<usize>();

/// The values after the arguments of a new fiber: the instance that made it.
pub const FIBER_EXTRAS: usize = 1;

/// Whether a word is a reference to a stack.
pub fn is_stack(word: u64) -> bool {
    word & TAG_MASK == TAG
}

/// The first reference to the stack with a number, without a kind.
pub fn first_reference(number: usize) -> u64 {
    (number as u64) << NUMBER_SHIFT | TAG
}

/// The number of the block that a reference names.
pub fn block_number(reference: u64) -> usize {
    (reference >> NUMBER_SHIFT) as usize & (MAX_BLOCKS - 1)
}

/// The bits of a kind in a reference.
pub fn kind_bits(kind: StackKind) -> u64 {
    (kind as u64) << KIND_SHIFT
}

/// The word of a clause: the address of the tag, with the kind in the lowest bits.
pub fn handler_word(tag: usize, kind: ClauseKind) -> u64 {
    tag as u64 | kind as u64
}

/// The clause of the host for every `suspend`. No tag has this word.
pub const EVERY_TAG: u64 = 0b11;

/// [`ControlBlock::is_grouped`] of a stack that is suspended, or was continued, together with
/// others.
pub const GROUPED: u32 = 1;

/// [`ControlBlock::is_grouped`] of a stack that was continued together with others, and has resumed
/// another since.
pub const HAS_WAITED: u32 = 2;

/// The initial value of [`StoreContext::captures`](crate::StoreContext::captures). No clause has
/// such a word, so both can be in [`ControlBlock::sought`].
pub const FIRST_CAPTURE: u64 = 0b111;

/// The increment when stacks are captured together.
pub const NEXT_CAPTURE: u64 = 0b100;

/// The address of the tag of a clause.
pub fn tag_of_handler(word: u64) -> usize {
    (word & !0b11) as usize
}

const _: () = assert!(align_of::<TagDef>() > ClauseKind::Event as usize);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reference_leads_to_its_block() {
        for number in [0, 1, 77, MAX_BLOCKS - 1] {
            let reference = first_reference(number);
            assert!(is_stack(reference));
            let used = reference.wrapping_add(NEXT_GENERATION);
            assert_eq!(block_number(used), number);
            let offset = (used & OFFSET_MASK) << OFFSET_SHIFT;
            assert_eq!(offset as usize, number * size_of::<ControlBlock>());
        }
    }

    #[test]
    fn kinds_do_not_reach_the_number() {
        const { assert!(KIND_MASK < 1 << NUMBER_SHIFT) };
        assert_eq!(first_reference(MAX_BLOCKS - 1) & KIND_MASK, 0);
    }

    #[test]
    fn the_generation_ends_in_an_overflow() {
        let last = LAST_REFERENCES | first_reference(5);
        assert_eq!(last.checked_add(NEXT_GENERATION), None);
    }
}
