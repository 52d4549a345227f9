//! Observers: traces, profiles, and registration with native debuggers.

mod debugger;
pub(crate) mod frame_tree;
pub mod profile;
pub mod trace;
