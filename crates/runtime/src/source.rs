//! The text that a module was made from.

use std::fmt;

/// The text that a module was made from, and where in it everything stands.
pub trait Source: fmt::Debug + Send + Sync {
    /// The file that the text was read from, if that is known.
    fn file(&self) -> Option<&str>;

    /// The line and the column of what stands at a byte of the binary; the first
    /// of each is 1.
    fn position(&self, offset: u32) -> Option<(usize, usize)>;

    /// The text itself.
    fn text(&self) -> Option<&str>;
}
