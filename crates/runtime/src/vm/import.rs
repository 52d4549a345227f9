//! What is given for imports.

use super::global::GlobalItem;
use super::host_function::HostFunction;
use ropewalk_abi::{FuncRef, TagDef};
use std::ptr::NonNull;
use std::sync::Arc;

/// What is given for an import.
#[derive(Clone, Debug)]
pub enum ImportValue {
    /// A function of the store.
    Func(NonNull<FuncRef>),
    /// A function of the host.
    Host(Arc<HostFunction>),
    /// A table, by its number in the store.
    Table(usize),
    /// A memory, by its number in the store.
    Memory(usize),
    /// A global.
    Global(GlobalItem),
    /// A tag.
    Tag(NonNull<TagDef>),
}
