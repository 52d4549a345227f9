//! Helpers of the front end's tests.

pub mod broken_sources;
pub mod errors;
pub mod lowering;
pub mod operators;
