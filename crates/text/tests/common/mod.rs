//! What the tests of the front end share.
#![allow(dead_code, reason = "each test uses some of it")]

pub mod breaking;
pub mod erring;
pub mod lowering;
pub mod operators;
