//! Stacks: a control block each, and memory that can move.

mod arena;
pub(crate) mod bound;
pub(crate) mod check;
mod copy;
pub(crate) mod growth;
mod holding;
mod idle;
mod left;
mod list;
mod marks;
mod mutation;
mod own_limits;
mod packed;
mod park;
mod relocate;
mod restore;
mod slots;
mod table;
mod waits;

pub(crate) use arena::RootStack;
pub use arena::{Arena, ArenaOptions};
pub(crate) use bound::Bound;
pub(crate) use idle::Park;
pub(crate) use left::LeftAt;
pub use list::{StackInfo, StackList};
pub use mutation::Mutation;
pub(crate) use park::{bytes_in_frames, end_of_frames};
pub(crate) use relocate::{Quarantine, move_links, move_root};
pub use table::StackOptions;
pub(crate) use table::{Reached, Stacks, Swept};
pub use waits::Waits;

use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, clauses};

/// Whether an address lies in a stack or its guard.
pub(crate) fn contains(block: &ControlBlock, address: usize) -> bool {
    (block.limit..=block.high).contains(&address) || in_guard(block, address)
}

/// Whether an address lies in the guard of a stack.
pub(crate) fn in_guard(block: &ControlBlock, address: usize) -> bool {
    address < block.limit && address >= block.limit - arena::GUARD
}

/// A block without handlers, which ends every chain of parents.
pub(crate) fn without_handlers() -> Box<ControlBlock> {
    let handlers = clauses::no_clauses();
    Box::new(ControlBlock { handlers, purpose: Purpose::Root, ..ControlBlock::BLANK })
}
