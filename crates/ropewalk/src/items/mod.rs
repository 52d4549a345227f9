//! Functions, globals, memories and tables, instances of modules, and linking.

pub(crate) mod call_error;
pub(crate) mod exception;
pub(crate) mod export;
pub(crate) mod func;
pub(crate) mod global;
pub(crate) mod instance;
pub(crate) mod instance_pre;
pub(crate) mod linker;
pub(crate) mod memory;
pub(crate) mod table;
mod typed_call;
pub(crate) mod typed_func;
pub(crate) mod unknown_imports;
