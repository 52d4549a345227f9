//! Watching what runs: traces, profiles, and what native debuggers are told.

mod debugger;
pub(crate) mod frame_tree;
pub mod profile;
pub mod trace;
