//! The objects of WebAssembly, one file each, and traps.

mod external;
mod frame;
mod func;
mod global;
pub(crate) mod instance;
mod memory;
mod module;
mod table;
mod tag;
pub(crate) mod trap;
mod vectors;
