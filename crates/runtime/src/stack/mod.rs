//! The stacks of a store: their control blocks and their memory, which can move.

mod arena;
mod block_set;
pub(crate) mod bound;
mod copy;
mod group;
pub(crate) mod growth;
mod idle;
mod known_sites;
mod leave_point;
mod left;
pub(crate) mod mark;
mod marks;
mod mutation;
mod not_copied;
pub(crate) mod notes;
mod own_limits;
mod packed;
mod park;
mod relocate;
mod restore;
mod slots;
mod table;

pub(crate) use arena::RootStack;
pub use arena::{Arena, ArenaOptions};
pub(crate) use bound::Bound;
pub(crate) use group::members;
pub(crate) use growth::round_limit;
pub(crate) use idle::Park;
pub use leave_point::LeavePoint;
pub(crate) use left::LeftAt;
pub use mutation::{Mutation, PutBack};
pub(crate) use not_copied::NotCopied;
pub(crate) use park::{bytes_in_frames, end_of_frames, packed_frames, packed_size, parked_sp};
pub(crate) use relocate::{Quarantine, move_links, move_root};
pub use table::StackOptions;
pub(crate) use table::{Reached, Stacks, Swept};

use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, clauses};

/// Whether an address is in a stack or in its guard.
pub(crate) fn contains(block: &ControlBlock, address: usize) -> bool {
    (block.limit..=block.high).contains(&address) || in_guard(block, address)
}

pub(crate) fn in_guard(block: &ControlBlock, address: usize) -> bool {
    address < block.limit && address >= block.limit - arena::GUARD
}

/// A block without handlers. It ends every chain of parents.
pub(crate) fn without_handlers() -> Box<ControlBlock> {
    let handlers = clauses::no_clauses();
    Box::new(ControlBlock { handlers, purpose: Purpose::Root, ..ControlBlock::BLANK })
}
