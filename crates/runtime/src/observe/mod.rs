//! Watching what runs: traces and profiles.

pub(crate) mod frame_tree;
pub mod profile;
pub mod trace;
