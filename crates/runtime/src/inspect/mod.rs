//! Inspecting a store: frames, backtraces, descriptions of values, the state of each stack.

pub(crate) mod address_map;
mod capture;
pub(crate) mod check;
pub(crate) mod describe;
pub(crate) mod frames;
pub(crate) mod links;
mod list_stacks;
mod repetitions;
pub(crate) mod values;
mod walk;
