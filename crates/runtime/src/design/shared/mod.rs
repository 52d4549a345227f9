//! What the designs share.

mod base;
mod new_stack;
mod reference;
mod release;

pub(crate) use reference::invalid_stack;
