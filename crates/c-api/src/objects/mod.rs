//! Engines, stores, references to objects, and values.

pub(crate) mod engine;
pub(crate) mod foreign;
pub(crate) mod reference;
pub(crate) mod store;
pub(crate) mod trap_cause;
pub(crate) mod value;
