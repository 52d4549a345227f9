//! What the designs share.

mod base;
mod copy;
mod new_stack;
mod owned;
mod reference;
mod release;

pub(crate) use owned::owned_by;
pub(crate) use reference::invalid_stack;
