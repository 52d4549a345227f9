//! Output to terminals: colors, escapes, progress, the standard output.

pub(crate) mod color;
pub(crate) mod escape;
pub(crate) mod progress;
pub(crate) mod stdout;
