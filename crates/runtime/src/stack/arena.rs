//! The memory of stacks.
//!
//! A slot of memory is one mapping with a guard at its low end:
//!
//! ```text
//!  base       base + GUARD                              base + len
//!   |  guard  |  usable, committed page by page              |
//!             ^ ControlBlock::limit                          ^ high
//! ```
//!
//! Slots belong to one store until it dies, so a store takes and returns them
//! without a lock; the arena is shared by the stores of an engine and keeps
//! some slots warm for the next store.

use crate::map::{Map, PAGE};
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::StackState;
use std::io;
use std::sync::Mutex;

/// The size of the guard below a stack. Generated code touches at least every
/// page that it lowers the stack pointer by.
pub(crate) const GUARD: usize = PAGE;

/// How many bytes a stack has and how many stacks there may be.
#[derive(Clone, Copy, Debug)]
pub struct ArenaOptions {
    /// How many bytes a root stack has.
    pub root_size: usize,
    /// How many unused root stacks to keep for later stores.
    pub keep: usize,
}

impl Default for ArenaOptions {
    fn default() -> Self {
        ArenaOptions { root_size: 1 << 20, keep: 32 }
    }
}

/// The memory of an engine's stacks.
#[derive(Debug)]
pub struct Arena {
    options: ArenaOptions,
    free: Mutex<Vec<Stack>>,
}

/// A stack: its control block, which never moves, and its memory.
#[derive(Debug)]
pub(crate) struct Stack {
    pub block: Box<ControlBlock>,
    memory: Map,
}

// SAFETY: the pointers in the block of a stack that nothing runs on are not
// used.
unsafe impl Send for Stack {}

impl Arena {
    /// An arena without any stacks.
    pub fn new(options: ArenaOptions) -> Arena {
        let root_size = options.root_size.max(4 * PAGE).next_multiple_of(PAGE);
        Arena { options: ArenaOptions { root_size, ..options }, free: Mutex::new(Vec::new()) }
    }

    /// A stack for an activation.
    pub(crate) fn take(&self) -> io::Result<Stack> {
        let free = self.free.lock().expect("nobody panics with it").pop();
        free.map_or_else(|| Stack::new(self.options.root_size), Ok)
    }

    /// Takes stacks back when a store dies.
    pub(crate) fn put(&self, stacks: impl IntoIterator<Item = Stack>) {
        let mut free = self.free.lock().expect("nobody panics with it");
        let room = self.options.keep.saturating_sub(free.len());
        free.extend(stacks.into_iter().take(room));
    }
}

impl Stack {
    fn new(size: usize) -> io::Result<Stack> {
        let memory = Stack::memory(size)?;
        let limit = memory.base() as usize + GUARD;
        let high = limit + size;
        let block = Box::new(ControlBlock {
            sp: high,
            top: high,
            state: StackState::InUse,
            limit,
            high,
            ..ControlBlock::BLANK
        });
        Ok(Stack { block, memory })
    }

    fn memory(size: usize) -> io::Result<Map> {
        let memory = Map::read_write(GUARD + size)?;
        memory.guard(0, GUARD)?;
        Ok(memory)
    }

    /// Gives the stack new memory of the same size; answers the old one.
    pub fn replace_memory(&mut self, new: Option<Map>) -> io::Result<Map> {
        let size = self.block.high - self.block.limit;
        let new = new.map_or_else(|| Stack::memory(size), Ok)?;
        self.block.limit = new.base() as usize + GUARD;
        self.block.high = self.block.limit + size;
        Ok(std::mem::replace(&mut self.memory, new))
    }
}
