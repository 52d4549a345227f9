//! Saving contexts and restoring them.

pub(crate) mod restore;
pub(crate) mod save;
pub(crate) mod state;
