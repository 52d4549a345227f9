//! Services of the operating system: memory mappings, dirty pages, OS limits, timers.

pub(crate) mod dirty_pages;
pub(crate) mod limits;
pub(crate) mod mapping;
pub mod memory_size;
pub(crate) mod timer;
pub mod try_box;
