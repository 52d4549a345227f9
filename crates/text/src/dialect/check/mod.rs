//! Checks that the standard text cannot make: advice about misplaced words, and numeric indices.

pub(crate) mod indices;
pub(crate) mod suggestions;
