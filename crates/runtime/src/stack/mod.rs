//! The stacks of a store: their control blocks and their memory, which can move.

mod arena;
mod block_set;
pub(crate) mod bound_values;
mod call_site_cache;
mod copy;
mod copy_refusal;
mod frame_slabs;
mod group;
pub(crate) mod growth;
mod idle;
mod mark_lists;
mod mutation;
mod park;
mod relocate;
mod restore;
mod saved_position;
mod slots;
pub(crate) mod stack_events;
mod stack_limits;
mod table;
pub(crate) mod walk_mark;

pub(crate) use arena::RootStack;
pub use arena::{Arena, ArenaOptions};
pub(crate) use bound_values::BoundValues;
pub(crate) use copy_refusal::CopyRefusal;
pub(crate) use group::members;
pub(crate) use growth::round_limit;
pub(crate) use idle::Park;
pub use mutation::{Injected, InjectedBug};
pub(crate) use park::{bytes_in_frames, end_of_frames, packed_frames, packed_size, parked_sp};
pub(crate) use relocate::{Quarantine, move_links, move_root};
pub(crate) use saved_position::SavedPosition;
pub use saved_position::TopFrame;
pub use table::StackOptions;
pub(crate) use table::{ReachedStack, Stacks, SweepCounts};

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
