//! Suspended stacks that the host owns and continues.

pub mod continuation;
pub(crate) mod leave;
pub mod switch;
