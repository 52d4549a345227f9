//! Errors: what is wrong, and where in the source.

mod position;
mod snippet;
mod text_error;

pub use position::Position;
pub use text_error::TextError;

pub(crate) use position::Line;

/// Something is wrong at a byte offset of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Error {
    pub offset: usize,
    pub message: String,
    /// Whether the text can be read, but is not a valid module.
    pub invalid: bool,
}

/// The result of something that can find a fault.
pub(crate) type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// The text cannot be read: it has unknown words, or unknown names.
    pub fn malformed(offset: usize, message: impl Into<String>) -> Error {
        Error { offset, message: message.into(), invalid: false }
    }

    /// The text can be read, but a type or a condition is wrong.
    pub fn invalid(offset: usize, message: impl Into<String>) -> Error {
        Error { offset, message: message.into(), invalid: true }
    }

    /// The same fault, at an offset of another text.
    pub fn moved(self, find: impl FnOnce(usize) -> usize) -> Error {
        Error { offset: find(self.offset), ..self }
    }
}

impl From<wast::Error> for Error {
    fn from(error: wast::Error) -> Error {
        Error::malformed(error.span().offset(), error.message())
    }
}
