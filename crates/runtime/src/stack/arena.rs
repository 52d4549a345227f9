//! What the stores of an engine hand on to each other: the memory of root stacks, and the
//! address space of tables of blocks. A store that is made and dropped for each request asks
//! the kernel for neither.
//!
//! The memory of a root stack is one mapping with a guard at its low end:
//!
//! ```text
//!  base       base + GUARD                              base + len
//!   |  guard  |  usable, committed page by page              |
//!             ^ ControlBlock::limit                          ^ high
//! ```
//!
//! Roots belong to one store until it dies, so a store takes and returns them
//! without a lock; the arena is shared by the stores of an engine.

use crate::os::limits;
use crate::os::mapping::{Map, PAGE};
use ropewalk_abi::ControlBlock;
use ropewalk_abi::stack::Purpose;
use std::io;
use std::sync::{Mutex, MutexGuard};

/// The size of the guard below a stack. Generated code touches at least every
/// page that it lowers the stack pointer by.
pub(crate) const GUARD: usize = PAGE;

/// How root stacks are.
#[derive(Clone, Copy, Debug)]
pub struct ArenaOptions {
    /// How many bytes a root stack begins with.
    pub root_size: usize,
    /// For how many later stores to keep what earlier ones had.
    pub keep: usize,
}

impl Default for ArenaOptions {
    fn default() -> Self {
        ArenaOptions { root_size: 1 << 20, keep: 256 }
    }
}

/// How many unused root stacks keep all the memory that they have. Those beyond keep what
/// few calls need.
const WARM: usize = 32;
/// How much that is.
const FEW_CALLS: usize = 16 << 10;

/// What no store of an engine has any more.
#[derive(Debug)]
pub struct Arena {
    options: ArenaOptions,
    free: Mutex<Free>,
}

#[derive(Debug, Default)]
struct Free {
    roots: Vec<Map>,
    /// All blocks are blank.
    tables: Vec<Map>,
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
        Arena { options: ArenaOptions { root_size, ..options }, free: Mutex::default() }
    }

    fn free(&self) -> MutexGuard<'_, Free> {
        self.free.lock().expect("nobody panics with it")
    }

    /// The memory for the stack of an activation.
    pub(crate) fn take_root(&self) -> io::Result<Map> {
        let free = self.free().roots.pop();
        free.map_or_else(|| root_memory(self.options.root_size), Ok)
    }

    /// Address space for the blocks of a store, if there is any.
    pub(crate) fn take_table(&self) -> Option<Map> {
        self.free().tables.pop()
    }

    /// Takes back what a store had.
    pub(crate) fn put(&self, table: Option<Map>, roots: impl IntoIterator<Item = RootStack>) {
        let mut free = self.free();
        let kept = free.roots.len();
        let (room, warm) = (self.options.keep.saturating_sub(kept), WARM.saturating_sub(kept));
        let mut roots = roots.into_iter();
        free.roots.extend(roots.by_ref().take(room.min(warm)).map(|root| root.memory));
        let (mut table, has_room) = (table, free.tables.len() < self.options.keep);
        free.tables.extend(table.take_if(|_| has_room));
        // The kernel is asked without the lock.
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

    /// The same, but for what few calls need.
    fn cool(&self) {
        let rest = (self.memory.len() - GUARD).saturating_sub(FEW_CALLS);
        self.memory.give_back(GUARD, rest);
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
