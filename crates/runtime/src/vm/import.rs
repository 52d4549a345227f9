//! Values of imports.

use super::global::GlobalItem;
use super::host_function::HostFunction;
use ropewalk_abi::{FuncRef, TagDef};
use std::ptr::NonNull;
use std::sync::Arc;

/// The value of an import.
#[derive(Clone, Debug)]
pub enum ImportValue {
    /// A function of the store.
    Func(NonNull<FuncRef>),
    /// A host function.
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
