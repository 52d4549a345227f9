//! What modules import and export, and instances of modules.

pub(crate) mod call;
pub(crate) mod call_async;
pub(crate) mod exception;
pub(crate) mod export;
pub(crate) mod func;
pub(crate) mod global;
pub(crate) mod instance;
pub(crate) mod instance_pre;
pub(crate) mod linker;
pub(crate) mod memory;
pub(crate) mod table;
pub(crate) mod typed_func;
pub(crate) mod unknown_imports;
