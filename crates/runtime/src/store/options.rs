//! How a store behaves.

use crate::code::types::TypeRegistry;
use crate::heap::HeapOptions;
use crate::stack::{Arena, StackOptions};
use crate::vm::memory::MemoryPool;
use crate::vm::table::TableLimits;
use std::sync::Arc;

/// How a store behaves.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// Where its stacks come from.
    pub arena: Arc<Arena>,
    /// Where the address space of its memories comes from.
    pub memories: Arc<MemoryPool>,
    /// The types of the engine.
    pub types: Arc<TypeRegistry>,
    /// How many bytes its memories may have, all together.
    pub max_total_memory: u64,
    /// How large its tables may be.
    pub tables: TableLimits,
    /// How its heap behaves.
    pub heap: HeapOptions,
    /// How all stacks but roots are.
    pub stacks: StackOptions,
    /// How many activations may be nested.
    pub max_activations: usize,
    /// Whether the running stack moves at every host call and builtin, and another
    /// when it is continued, to show that they can.
    pub move_stacks: bool,
    /// Whether the records of all stacks are checked after every transition.
    pub check_stacks: bool,
    /// Whether functions look whether they are to stop.
    pub interruption: bool,
    /// Whether what functions execute is counted.
    pub consume_fuel: bool,
    /// Whether functions stop at every check point, to show that they can.
    pub stop_always: bool,
    /// Whether every stack is parked as soon as it is suspended.
    pub park_always: bool,
    /// Whether what the stacks do is recorded.
    pub trace: bool,
    /// Whether it can be written down: frames list all their pointers.
    pub snapshots: bool,
    /// Whether the kernel is to note which pages are written after a snapshot.
    pub watch_pages: bool,
    /// Whether it is also to do that for what is small.
    pub watch_always: bool,
    /// Whether native debuggers are to know it.
    pub native_debug: bool,
}
