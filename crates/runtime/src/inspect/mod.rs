//! Inspecting a store: frames, backtraces, descriptions of values, the state of each stack.

mod capture;
pub(crate) mod check;
pub(crate) mod describe;
pub(crate) mod frames;
pub(crate) mod links;
mod list_stacks;
mod repetitions;
mod values;
mod walk;
