//! Looking into a store: frames, backtraces, values in words, the state of each stack.

mod capture;
pub(crate) mod check;
pub(crate) mod describe;
mod fold;
pub(crate) mod frames;
mod list_stacks;
mod values;
mod walk;
