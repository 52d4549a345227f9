//! Memory that the stores of an engine reuse: root stacks, and the address space of block tables. A
//! store that is made for each request rarely asks the kernel for either.
//!
//! The memory of a root stack is one mapping with a guard at its low end:
//!
//! ```text
//!  base       base + GUARD                              base + len
//!   |  guard  |  usable, committed page by page              |
//!             ^ ControlBlock::limit                          ^ high
//! ```
//!
//! A store keeps its roots until it is dropped, so it takes and returns them without a lock. The
//! stores of an engine share the arena.

use crate::os::limits;
use crate::os::mapping::{Map, PAGE};
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::Purpose;
use std::io;
use std::sync::{Mutex, MutexGuard};

/// The size of the guard below a stack. Generated code touches every page by which it lowers the
/// stack pointer.
pub(crate) const GUARD: usize = PAGE;

/// Options for root stacks.
#[derive(Clone, Copy, Debug)]
pub struct ArenaOptions {
    /// The initial size of a root stack in bytes.
    pub root_size: usize,
    /// The number of root stacks and tables that are kept for later stores.
    pub keep: usize,
}

impl Default for ArenaOptions {
    fn default() -> Self {
        ArenaOptions { root_size: 1 << 20, keep: 256 }
    }
}

/// The number of unused root stacks that keep all their memory. The others keep [`FEW_CALLS`].
const WARM: usize = 32;
/// The memory that a few calls need.
const FEW_CALLS: usize = 16 << 10;

/// Memory that no store of an engine uses now.
#[derive(Debug)]
pub struct Arena {
    options: ArenaOptions,
    free: Mutex<FreeMemory>,
}

#[derive(Debug, Default)]
struct FreeMemory {
    roots: Vec<Map>,
    /// All blocks are blank.
    tables: Vec<Map>,
}

/// A root stack: its memory, and its block in the table of the store.
#[derive(Debug)]
pub(crate) struct RootStack {
    pub block: *mut ControlBlock,
    memory: Map,
}

impl Arena {
    /// Makes an empty arena.
    pub fn new(options: ArenaOptions) -> Arena {
        let root_size = options.root_size.max(PAGE).next_multiple_of(PAGE);
        Arena { options: ArenaOptions { root_size, ..options }, free: Mutex::default() }
    }

    fn free(&self) -> MutexGuard<'_, FreeMemory> {
        self.free.lock().expect("no panic while it is locked")
    }

    pub(crate) fn take_root(&self) -> io::Result<Map> {
        let free = self.free().roots.pop();
        free.map_or_else(|| root_memory(self.options.root_size), Ok)
    }

    /// Address space for the blocks of a store, if the arena has any.
    pub(crate) fn take_table(&self) -> Option<Map> {
        self.free().tables.pop()
    }

    /// Takes back the memory of a store.
    pub(crate) fn put(&self, table: Option<Map>, roots: impl IntoIterator<Item = RootStack>) {
        let mut free = self.free();
        let kept = free.roots.len();
        let (room, warm) = (self.options.keep.saturating_sub(kept), WARM.saturating_sub(kept));
        let mut roots = roots.into_iter();
        free.roots.extend(roots.by_ref().take(room.min(warm)).map(|root| root.memory));
        let (mut table, has_room) = (table, free.tables.len() < self.options.keep);
        free.tables.extend(table.take_if(|_| has_room));
        // The lock is released before the kernel is asked.
        drop(free);
        drop(table);
        for root in roots.take(room.saturating_sub(warm)) {
            root.cool();
            self.free().roots.push(root.memory);
        }
    }
}

fn root_memory(size: usize) -> io::Result<Map> {
    let memory = Map::read_write(GUARD + size).and_then(|memory| {
        memory.guard(0, GUARD)?;
        Ok(memory)
    });
    memory.map_err(|error| limits::explain(error, GUARD + size))
}

impl RootStack {
    /// Makes a block a root with this memory.
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
        // SAFETY: the block is in the table of the store, which outlives this.
        unsafe { block.write(root) };
        RootStack { block, memory }
    }

    /// Gives the memory of the stack, which is idle, back to the kernel.
    pub fn give_back(&self) {
        self.memory.give_back(GUARD, self.memory.len() - GUARD);
    }

    fn cool(&self) {
        let rest = (self.memory.len() - GUARD).saturating_sub(FEW_CALLS);
        self.memory.give_back(GUARD, rest);
    }

    /// Gives the stack new memory of the same size. Returns the old memory.
    pub fn replace_memory(&mut self, new: Option<Map>) -> io::Result<Map> {
        let size = self.memory.len() - GUARD;
        let new = new.map_or_else(|| root_memory(size), Ok)?;
        // SAFETY: as in `new`.
        let block = unsafe { &mut *self.block };
        (block.limit, block.high) = bounds(&new);
        Ok(std::mem::replace(&mut self.memory, new))
    }
}

/// The lowest usable address of a stack's memory, and its end.
fn bounds(memory: &Map) -> (usize, usize) {
    let base = memory.base() as usize;
    (base + GUARD, base + memory.len())
}
