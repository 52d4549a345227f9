//! Suspended stacks in the hands of the host.

pub mod continuation;
pub mod switch;
