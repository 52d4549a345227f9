//! Helpers of the front end's tests.
#![allow(dead_code, reason = "each test uses some of it")]

pub mod broken_sources;
pub mod errors;
pub mod lowering;
pub mod operators;
