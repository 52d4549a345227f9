//! What the stacks of a store do: traces, profiles, lists and dumps.

pub(crate) mod core_dump;
pub(crate) mod profile;
pub(crate) mod state;
pub(crate) mod trace;
