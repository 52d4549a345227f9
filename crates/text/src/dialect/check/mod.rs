//! What the standard text cannot tell: advice about misplaced words, numeric indices, kinds.

pub(crate) mod indices;
pub(crate) mod shadow;
pub(crate) mod suggestions;
