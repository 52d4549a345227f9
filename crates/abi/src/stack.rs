//! References to stacks, and the clauses with which stacks wait.
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
//! A stack's control block has the only word that is valid for it, with zero as
//! its kind; a reference gets its kind when it is handed out. Using it takes
//! the expected kind off, compares the whole word and adds one to the
//! generation, so that null, a second use, a stale reference and one of another
//! kind all fail the same comparison. The lowest bits tell such a word from the
//! address of an object and from an `i31`.

use crate::context::{ControlBlock, TagDef};

/// The lowest bits of a reference to a stack.
pub const TAG: u64 = 0b10;
/// Which bits the lowest ones are.
pub const TAG_MASK: u64 = 0b11;
/// Where the kind begins.
pub const KIND_SHIFT: u32 = 2;
/// Which bits the kind is.
pub const KIND_MASK: u64 = 0b111 << KIND_SHIFT;
/// Where the number of the block begins.
pub const NUMBER_SHIFT: u32 = size_of::<ControlBlock>().trailing_zeros() - OFFSET_SHIFT;
/// How many bits the number has.
pub const NUMBER_BITS: u32 = 24;
/// Where the generation begins.
pub const GENERATION_SHIFT: u32 = NUMBER_SHIFT + NUMBER_BITS;
/// What is added to a reference when it is used.
pub const NEXT_GENERATION: u64 = 1 << GENERATION_SHIFT;
/// How many blocks there can be.
pub const MAX_BLOCKS: usize = 1 << NUMBER_BITS;
/// Which bits of a reference are the offset of its block, shifted by [`OFFSET_SHIFT`].
pub const OFFSET_MASK: u64 = ((MAX_BLOCKS as u64) - 1) << NUMBER_SHIFT;
/// How far these bits are to be shifted.
pub const OFFSET_SHIFT: u32 = 1;

const _: () = assert!(size_of::<ControlBlock>() == 128);

/// The designs of stack switching, as references tell them apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum StackKind {
    /// Typed continuations.
    Continuation = 0,
    /// Bag of stacks.
    Bag = 1,
    /// Tasks.
    Task = 2,
    /// Fibers.
    Fiber = 3,
    /// First-class stacks.
    FirstClass = 4,
}

impl StackKind {
    /// The kind of a reference, if it has one.
    pub fn of(reference: u64) -> Option<StackKind> {
        use StackKind::*;
        let all = [Continuation, Bag, Task, Fiber, FirstClass];
        all.into_iter().find(|kind| (reference & KIND_MASK) >> KIND_SHIFT == *kind as u64)
    }
}

/// What a stack is used for. In which state it is, [`Life`](crate::life::Life) says.
///
/// A root is the last: whatever is less is freed with what runs on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[repr(u8)]
pub enum Purpose {
    /// It waits to be used.
    Free = 0,
    /// By a continuation.
    Continuation = 1,
    /// By a stack of the bag of stacks: a base.
    Bag = 2,
    /// By a task.
    Task = 3,
    /// By a fiber.
    Fiber = 4,
    /// By a stack of the first-class design: a base.
    FirstClass = 5,
    /// By an activation, or kept for the next one: a base.
    Root = 6,
}

impl Purpose {
    /// What a stack is used for that references of a kind name.
    pub const fn of(kind: StackKind) -> Purpose {
        match kind {
            StackKind::Continuation => Purpose::Continuation,
            StackKind::Bag => Purpose::Bag,
            StackKind::Task => Purpose::Task,
            StackKind::Fiber => Purpose::Fiber,
            StackKind::FirstClass => Purpose::FirstClass,
        }
    }

    /// The kind of the references to what is used for this, unless references of
    /// several kinds name it, or none.
    pub fn kind(self) -> Option<StackKind> {
        match self {
            Purpose::Free | Purpose::Root => None,
            Purpose::Continuation => Some(StackKind::Continuation),
            Purpose::Bag => Some(StackKind::Bag),
            Purpose::Task => Some(StackKind::Task),
            Purpose::Fiber => Some(StackKind::Fiber),
            Purpose::FirstClass => Some(StackKind::FirstClass),
        }
    }

    /// Whether references to it stay the same for all its life.
    pub fn has_identity(self) -> bool {
        matches!(self, Purpose::Task | Purpose::Fiber)
    }
}

/// What a clause looks for.
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

/// How far above the stack pointer of a new stack the arguments lie that it was made
/// with, in places of 16 bytes. Below them is the address to start at.
pub const NEW_STACK_ARGUMENTS: usize = size_of::<usize>();

/// How many values stand after the arguments of a new fiber: the instance that
/// made it.
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

/// How a clause stands in its table: the address of the tag, and its kind in
/// the lowest bits.
pub fn handler_word(tag: usize, kind: ClauseKind) -> u64 {
    tag as u64 | kind as u64
}

/// The clause of the host that every `suspend` finds. No tag has this word.
pub const EVERY_TAG: u64 = 0b11;

/// [`ControlBlock::is_grouped`] of a stack that is suspended or was continued together
/// with others.
pub const GROUPED: u32 = 1;

/// The same of one that was continued together with others and has resumed another since.
pub const HAS_WAITED: u32 = 2;

/// What [`StoreContext::captures`](crate::StoreContext::captures) begins with. No clause
/// has such a word, so that both can stand in [`ControlBlock::sought`].
pub const FIRST_CAPTURE: u64 = 0b111;

/// How it goes up when stacks are captured together.
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
        let last = u64::MAX << GENERATION_SHIFT | first_reference(5);
        assert_eq!(last.checked_add(NEXT_GENERATION), None);
    }
}
