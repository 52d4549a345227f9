//! The life of stacks, as far as designs share it.

mod base;
pub(crate) mod bind;
mod copy;
mod new_stack;
mod owned;
mod reference;
mod release;

pub(crate) use reference::invalid_stack;
