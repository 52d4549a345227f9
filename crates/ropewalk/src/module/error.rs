//! Errors of modules: malformed, invalid, or too large.

use ropewalk_compile::CompileError;
use ropewalk_text::{LEGACY_EXCEPTIONS, TextError};
use std::fmt;

/// A module that is malformed, invalid, or more than the engine can handle.
///
/// For a module in the text format it shows the place in the source.
///
/// ```
/// use ropewalk::*;
///
/// let error = Module::new(&Engine::default(), "(module\n  (func (i32.add)))").unwrap_err();
/// let error = error.downcast_ref::<ModuleError>().unwrap();
/// assert_eq!(error.position(), Some((2, 10)));
/// assert_eq!(error.message(), "type mismatch: expected i32 but nothing on stack");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct ModuleError {
    kind: ErrorKind,
}

#[derive(Debug)]
enum ErrorKind {
    /// In a module in the text format.
    Text(TextError),
    /// In a binary, at an offset.
    Binary { message: String, offset: usize, function: Option<String>, path: Option<String> },
    /// Without a position.
    Other { message: String, path: Option<String> },
}

impl ModuleError {
    /// The message, without the position.
    pub fn message(&self) -> &str {
        match &self.kind {
            ErrorKind::Text(error) => error.message(),
            ErrorKind::Binary { message, .. } | ErrorKind::Other { message, .. } => message,
        }
    }

    /// The line and column in the source, for text.
    pub fn position(&self) -> Option<(usize, usize)> {
        match &self.kind {
            ErrorKind::Text(error) => error.position().map(|place| (place.line, place.column)),
            _ => None,
        }
    }

    /// The offset in the module, for a binary.
    pub fn offset(&self) -> Option<usize> {
        match &self.kind {
            ErrorKind::Binary { offset, .. } => Some(*offset),
            _ => None,
        }
    }

    /// The function that has the error, for a binary: its name in the name section, such as `$run`,
    /// or its index.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// // A function whose body has an opcode that does not exist, 0xff.
    /// let binary = b"\0asm\x01\0\0\0\x01\x04\x01\x60\0\0\x03\x02\x01\0\x0a\x05\x01\x03\0\xff\x0b";
    /// let error = Module::new(&Engine::default(), binary).unwrap_err();
    /// let error = error.downcast_ref::<ModuleError>().unwrap();
    /// assert_eq!((error.offset(), error.function()), (Some(0x17), Some("0")));
    /// assert_eq!(error.to_string(), "illegal opcode: 0xff (at offset 0x17, in function 0)");
    /// ```
    pub fn function(&self) -> Option<&str> {
        match &self.kind {
            ErrorKind::Binary { function, .. } => function.as_deref(),
            _ => None,
        }
    }

    pub(crate) fn precompiled() -> ModuleError {
        let message = "expected a module in the binary or the text format, found a precompiled \
                       module: if its bytes are trusted, use Module::deserialize";
        ModuleError { kind: ErrorKind::Other { message: message.to_string(), path: None } }
    }

    /// Adds the path of the module's file.
    pub fn with_path(self, path: impl Into<String>) -> ModuleError {
        let path = path.into();
        let kind = match self.kind {
            ErrorKind::Text(error) => ErrorKind::Text(error.with_path(path)),
            ErrorKind::Binary { message, offset, function, .. } => {
                ErrorKind::Binary { message, offset, function, path: Some(path) }
            }
            ErrorKind::Other { message, .. } => ErrorKind::Other { message, path: Some(path) },
        };
        ModuleError { kind }
    }

    /// Adds names to the error of a binary: of types, from its name section, and of the function.
    pub(crate) fn in_binary(self, binary: &[u8]) -> ModuleError {
        let kind = match self.kind {
            ErrorKind::Binary { message, offset, path, .. } => {
                let message = ropewalk_text::explain_binary(binary, offset, &message);
                let function = ropewalk_text::function_at(binary, offset);
                ErrorKind::Binary { message, offset, function, path }
            }
            kind => kind,
        };
        ModuleError { kind }
    }

    /// Converts an error in the encoded binary to one in the text.
    pub(crate) fn in_text(self, text: &ropewalk_text::Text) -> ModuleError {
        match self.kind {
            ErrorKind::Binary { message, offset, .. } => text.error_at(offset, &message).into(),
            kind => ModuleError { kind },
        }
    }
}

impl From<TextError> for ModuleError {
    fn from(error: TextError) -> Self {
        ModuleError { kind: ErrorKind::Text(error) }
    }
}

impl From<CompileError> for ModuleError {
    fn from(error: CompileError) -> Self {
        let kind = match error {
            CompileError::Invalid(error) => at(error.offset(), clarified(error.message())),
            CompileError::Refused { offset, message } => at(offset, message),
            CompileError::TooLarge { offset: Some(offset), .. } => at(offset, error.to_string()),
            other => ErrorKind::Other { message: other.to_string(), path: None },
        };
        ModuleError { kind }
    }
}

fn at(offset: u64, message: String) -> ErrorKind {
    ErrorKind::Binary { message, offset: offset as usize, function: None, path: None }
}

/// Rewrites some messages of the decoder for users. It lists wrong magic bytes, pads numbers, and
/// calls features by its own names.
fn clarified(message: &str) -> String {
    match message {
        _ if message.starts_with("magic header not detected") => {
            "not a WebAssembly module: it does not begin with \\0asm".to_string()
        }
        _ if message.starts_with("unknown binary version: ") => {
            let version = message.rsplit(' ').next().unwrap_or_default();
            format!("unknown binary version: {version}, expected 0x1")
        }
        _ if message.starts_with("legacy_exceptions feature required") => {
            LEGACY_EXCEPTIONS.to_string()
        }
        _ => message.to_string(),
    }
}

impl From<wasmparser::BinaryReaderError> for ModuleError {
    fn from(error: wasmparser::BinaryReaderError) -> Self {
        CompileError::Invalid(error).into()
    }
}

impl fmt::Display for ModuleError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            ErrorKind::Text(error) => error.fmt(f),
            ErrorKind::Binary { message, offset, function, path } => {
                write_path(f, path)?;
                write!(f, "{message} (at offset {offset:#x}")?;
                function.iter().try_for_each(|name| write!(f, ", in function {name}"))?;
                f.write_str(")")
            }
            ErrorKind::Other { message, path } => {
                write_path(f, path)?;
                f.write_str(message)
            }
        }
    }
}

fn write_path(f: &mut fmt::Formatter<'_>, path: &Option<String>) -> fmt::Result {
    path.as_ref().map_or(Ok(()), |path| write!(f, "{path}: "))
}

impl std::error::Error for ModuleError {}
