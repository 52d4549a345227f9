//! The memory of root stacks.
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

use crate::machine;
use crate::map::{Map, PAGE};
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::Purpose;
use std::io;
use std::sync::Mutex;

/// The size of the guard below a stack. Generated code touches at least every
/// page that it lowers the stack pointer by.
pub(crate) const GUARD: usize = PAGE;

/// How root stacks are.
#[derive(Clone, Copy, Debug)]
pub struct ArenaOptions {
    /// How many bytes a root stack begins with.
    pub root_size: usize,
    /// How many unused root stacks to keep for later stores.
    pub keep: usize,
}

impl Default for ArenaOptions {
    fn default() -> Self {
        ArenaOptions { root_size: 1 << 20, keep: 32 }
    }
}

/// The memory of an engine's root stacks.
#[derive(Debug)]
pub struct Arena {
    options: ArenaOptions,
    free: Mutex<Vec<Map>>,
}

/// A root stack: its control block, which lies in the table of the store and
/// never moves, and its memory.
#[derive(Debug)]
pub(crate) struct RootStack {
    pub block: *mut ControlBlock,
    memory: Map,
}

impl Arena {
    /// An arena without any stacks.
    pub fn new(options: ArenaOptions) -> Arena {
        let root_size = options.root_size.max(PAGE).next_multiple_of(PAGE);
        Arena { options: ArenaOptions { root_size, ..options }, free: Mutex::new(Vec::new()) }
    }

    /// The memory for the stack of an activation.
    pub(crate) fn take(&self) -> io::Result<Map> {
        let free = self.free.lock().expect("nobody panics with it").pop();
        free.map_or_else(|| root_memory(self.options.root_size), Ok)
    }

    /// Takes memory back when a store dies.
    pub(crate) fn put(&self, stacks: impl IntoIterator<Item = RootStack>) {
        let mut free = self.free.lock().expect("nobody panics with it");
        let room = self.options.keep.saturating_sub(free.len());
        free.extend(stacks.into_iter().take(room).map(|stack| stack.memory));
    }
}

fn root_memory(size: usize) -> io::Result<Map> {
    let memory = Map::read_write(GUARD + size).and_then(|memory| {
        memory.guard(0, GUARD)?;
        Ok(memory)
    });
    memory.map_err(|error| machine::explain(error, GUARD + size))
}

impl RootStack {
    /// Gives a block memory, and thereby the life of a root.
    pub fn new(block: *mut ControlBlock, reference: u64, memory: Map) -> RootStack {
        let (limit, high) = bounds(&memory);
        let root = ControlBlock {
            sp: high,
            reference,
            innermost: block,
            top: high,
            purpose: Purpose::Root,
            limit,
            high,
            ..ControlBlock::BLANK
        };
        // SAFETY: the block lies in the table of the store, which lives as long
        // as this.
        unsafe { block.write(root) };
        RootStack { block, memory }
    }

    /// Gives the memory of the stack, which is idle, back to the kernel.
    pub fn give_back(&self) {
        self.memory.give_back(GUARD, self.memory.len() - GUARD);
    }

    /// Gives the stack new memory of the same size; returns the old one.
    pub fn replace_memory(&mut self, new: Option<Map>) -> io::Result<Map> {
        let size = self.memory.len() - GUARD;
        let new = new.map_or_else(|| root_memory(size), Ok)?;
        // SAFETY: as in `new`.
        let block = unsafe { &mut *self.block };
        (block.limit, block.high) = bounds(&new);
        Ok(std::mem::replace(&mut self.memory, new))
    }
}

/// The lowest usable address of a stack's memory, and the one after the
/// highest.
fn bounds(memory: &Map) -> (usize, usize) {
    let base = memory.base() as usize;
    (base + GUARD, base + memory.len())
}
