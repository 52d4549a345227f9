//! Suspended stacks that the host owns and continues.

pub mod continuation;
pub mod switch;
