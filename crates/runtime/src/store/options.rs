//! How a store behaves.

use super::stress::Stress;
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
    /// In which ways the engine is tested.
    pub stress: Stress,
    /// Whether functions poll for interruption.
    pub interruption: bool,
    /// Whether what functions execute is counted.
    pub consume_fuel: bool,
    /// Whether what the stacks do is recorded.
    pub trace: bool,
    /// Whether snapshots can be taken: frames list all their pointers.
    pub snapshots: bool,
    /// Whether dirty pages are tracked after a snapshot.
    pub watch_pages: bool,
    /// Whether native debuggers know it.
    pub native_debug: bool,
}
