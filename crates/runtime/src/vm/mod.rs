//! Memories, tables, globals, instances and host functions.

pub(crate) mod const_value;
pub mod dropped_continuations;
pub mod global;
pub mod host_function;
pub mod import;
pub mod instance;
pub mod memory;
pub mod store_id;
pub mod table;
pub(crate) mod totals;
