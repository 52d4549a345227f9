//! What instances are made of.

pub mod memory;
pub mod store_id;
pub mod table;
pub(crate) mod totals;
