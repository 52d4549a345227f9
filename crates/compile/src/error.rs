//! Why a module cannot be compiled.

/// Why a module cannot be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// It is malformed or invalid.
    #[error("{0}")]
    Invalid(#[from] wasmparser::BinaryReaderError),
    /// It uses a reserved import in a way that is not allowed.
    #[error("{message}")]
    Refused {
        /// The offset in the module.
        offset: u64,
        /// The message.
        message: String,
    },
    /// It is larger than the engine can handle.
    #[error("the module is too large: {message}")]
    TooLarge {
        /// The offset in the module, if the cause is in one place.
        offset: Option<u64>,
        /// The part that is too large.
        message: String,
    },
    /// The allocator does not have the memory that compiling takes.
    #[error("there is not enough memory to compile {what}: it takes about {bytes} bytes")]
    OutOfMemory {
        /// What cannot be compiled.
        what: String,
        /// How many bytes that takes.
        bytes: u64,
    },
    /// The progress callback cancelled the compilation.
    #[error("the compilation was cancelled")]
    Cancelled,
    /// Compiled code cannot run on this machine.
    #[error("this machine is not supported: {0}")]
    Machine(String),
    /// Cranelift failed, which is a bug in this engine.
    #[error("the code generator failed in function {function}: {message}")]
    Codegen {
        /// The index of the function.
        function: u32,
        /// The error of the code generator.
        message: String,
    },
}

impl CompileError {
    /// The module as a whole is too large.
    pub fn too_large(message: impl Into<String>) -> CompileError {
        CompileError::TooLarge { offset: None, message: message.into() }
    }

    /// Adds an offset to [`CompileError::TooLarge`].
    pub(crate) fn at(self, offset: u64) -> CompileError {
        match self {
            CompileError::TooLarge { message, .. } => {
                CompileError::TooLarge { offset: Some(offset), message }
            }
            other => other,
        }
    }
}
