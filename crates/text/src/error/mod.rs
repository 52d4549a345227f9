//! Errors, and their positions in the source.

mod position;
mod snippet;
mod text_error;

pub use position::Position;
pub use text_error::TextError;

pub(crate) use position::Line;

/// An error at a byte offset of a text, before it shows the source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Error {
    pub offset: usize,
    pub message: String,
    /// Whether the text is well-formed, but not a valid module.
    pub invalid: bool,
}

pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The text has unknown words or names.
    pub fn malformed(offset: usize, message: impl Into<String>) -> Error {
        Error { offset, message: message.into(), invalid: false }
    }

    /// The text is well-formed, but a type or a condition is wrong.
    pub fn invalid(offset: usize, message: impl Into<String>) -> Error {
        Error { offset, message: message.into(), invalid: true }
    }

    /// The same error, at an offset of another text.
    pub fn moved(self, find: impl FnOnce(usize) -> usize) -> Error {
        Error { offset: find(self.offset), ..self }
    }
}

impl From<wast::Error> for Error {
    fn from(error: wast::Error) -> Error {
        Error::malformed(error.span().offset(), error.message())
    }
}
