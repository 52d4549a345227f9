//! Stacks: a control block each, and memory that can move.

mod arena;
mod relocate;

pub(crate) use arena::Stack;
pub use arena::{Arena, ArenaOptions};
pub(crate) use relocate::{Quarantine, move_running_stack};

use ropewalk_abi::ControlBlock;

/// Whether an address lies in a stack or close enough below it to be an
/// overflow of it.
pub(crate) fn near(block: &ControlBlock, address: usize) -> bool {
    address >= block.limit.saturating_sub(arena::GUARD + LARGEST_STEP) && address <= block.high
}

/// Whether an address lies in the guard of a stack.
pub(crate) fn in_guard(block: &ControlBlock, address: usize) -> bool {
    address < block.limit && address >= block.limit - arena::GUARD
}

/// How far generated code may lower the stack pointer before it touches what
/// is there: a frame that is not probed, and the arguments of a tail call.
const LARGEST_STEP: usize = 16 << 10;
