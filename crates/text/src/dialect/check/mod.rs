//! What the standard text cannot tell: advice about misplaced words, and numeric indices.

pub(crate) mod indices;
pub(crate) mod suggestions;
