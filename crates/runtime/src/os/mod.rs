//! What the engine asks of the operating system.

pub(crate) mod dirty_pages;
pub(crate) mod limits;
pub(crate) mod mapping;
pub mod memory_size;
pub(crate) mod timer;
pub mod try_box;
