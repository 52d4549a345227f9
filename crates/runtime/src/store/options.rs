//! The options of a store.

use super::stress::Stress;
use crate::code::types::TypeRegistry;
use crate::heap::HeapOptions;
use crate::stack::{Arena, StackOptions};
use crate::vm::memory::MemoryPool;
use crate::vm::table::TableLimits;
use std::sync::Arc;

/// The options of a store.
#[derive(Clone, Debug)]
pub struct StoreOptions {
    /// The source of its stacks.
    pub arena: Arc<Arena>,
    /// The source of address space for its memories.
    pub memories: Arc<MemoryPool>,
    /// The types of the engine.
    pub types: Arc<TypeRegistry>,
    /// The limit on the bytes of all its memories together.
    pub max_total_memory: u64,
    /// The limits on its tables.
    pub tables: TableLimits,
    /// The options of its heap.
    pub heap: HeapOptions,
    /// The options of its stacks, other than roots.
    pub stacks: StackOptions,
    /// The limit on nested activations.
    pub max_activations: usize,
    /// The stress modes.
    pub stress: Stress,
    /// Whether functions poll for interruption.
    pub interruption: bool,
    /// Whether functions consume fuel.
    pub consume_fuel: bool,
    /// Whether the store is traced.
    pub trace: bool,
    /// Whether snapshots can be taken: frames list all their pointers.
    pub snapshots: bool,
    /// Whether dirty pages are tracked after a snapshot.
    pub watch_pages: bool,
    /// Whether native debuggers can find the store.
    pub native_debug: bool,
}
