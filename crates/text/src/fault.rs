//! What is wrong, and at which byte: an error before it shows the source.

/// Something is wrong at a byte offset of a text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    pub offset: usize,
    pub message: String,
    /// Whether the text can be read, but is not a valid module.
    pub invalid: bool,
}

/// The result of something that can find a fault.
pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

impl Fault {
    /// The text cannot be read: it has unknown words, or unknown names.
    pub fn malformed(offset: usize, message: impl Into<String>) -> Fault {
        Fault { offset, message: message.into(), invalid: false }
    }

    /// The text can be read, but a type or a condition is wrong.
    pub fn invalid(offset: usize, message: impl Into<String>) -> Fault {
        Fault { offset, message: message.into(), invalid: true }
    }

    /// The same fault, at an offset of another text.
    pub fn moved(self, find: impl FnOnce(usize) -> usize) -> Fault {
        Fault { offset: find(self.offset), ..self }
    }
}

impl From<wast::Error> for Fault {
    fn from(error: wast::Error) -> Fault {
        Fault::malformed(error.span().offset(), error.message())
    }
}
