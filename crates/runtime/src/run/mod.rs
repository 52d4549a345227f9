//! Running WebAssembly: from instantiation to the end of a call.

pub mod activation;
mod allocate;
pub(crate) mod collect;
pub(crate) mod const_expr;
pub(crate) mod exception;
mod fatal;
pub(crate) mod fault;
pub(crate) mod ground;
pub(crate) mod grow;
pub mod instantiate;
pub mod interrupt;
pub(crate) mod lifecycle;
pub mod limits;
pub mod link;
mod new_objects;
pub mod pending;
pub(crate) mod pending_builtin;
pub mod signal;
