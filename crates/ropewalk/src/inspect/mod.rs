//! Inspection of stores: traces, profiles, lists of stacks, core dumps.

pub(crate) mod core_dump;
pub(crate) mod profile;
pub(crate) mod state;
pub(crate) mod trace;
