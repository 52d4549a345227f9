//! From WebAssembly to machine code.
//!
//! wasmparser decodes and validates, [`translate`] turns each function into
//! Cranelift IR in the same pass, Cranelift generates code, [`image`] puts it
//! together. The crate knows nothing of stores and instances but the offsets
//! that `ropewalk-abi` tells.
//!
//! ```text
//! bytes -- module.rs --> ModuleInfo + bodies
//! body  -- translate --> IR -- optimiser --> IR -- relocatable.rs --> IR
//!       -- Cranelift --> code of one function -- image.rs --> CodeImage
//! ```

// Tests look at the machine code of functions.
#![cfg_attr(not(test), forbid(unsafe_code))]

mod allocation;
mod arch;
mod brief;
mod budget;
mod convert;
mod design;
mod emit;
mod environment;
mod function;
mod handlers;
mod image;
mod limits;
mod memory;
mod module;
mod phis;
mod pointers;
mod relocatable;
mod signature;
mod spans;
mod survey;
mod target;
mod trampoline;
mod translate;
mod validate;
mod watch;

pub use limits::Limits;
pub use module::{CompiledModule, Cost, compile_module};
pub use target::{OptLevel, Target};
pub use trampoline::{entry_trampoline, host_trampoline, stack_trampoline};
pub use validate::validate_module;
pub use watch::{Progress, UNWATCHED, Watch};

/// Why a module could not be compiled.
#[derive(Debug, thiserror::Error)]
pub enum CompileError {
    /// It is malformed or invalid.
    #[error("{0}")]
    Invalid(#[from] wasmparser::BinaryReaderError),
    /// It uses a reserved import in a way that is not allowed.
    #[error("{message}")]
    Refused {
        /// Where in the module.
        offset: u64,
        /// What is wrong.
        message: String,
    },
    /// It is larger than the engine can handle.
    #[error("the module is too large: {message}")]
    TooLarge {
        /// Where in the module, if it is in one place.
        offset: Option<u64>,
        /// What is too large.
        message: String,
    },
    /// The allocator has not as much memory as is needed.
    #[error("there is not enough memory to compile {what}: it takes about {bytes} bytes")]
    OutOfMemory {
        /// What cannot be compiled.
        what: String,
        /// How many bytes that takes.
        bytes: u64,
    },
    /// Whoever watched it has ended the compilation.
    #[error("the compilation was cancelled")]
    Cancelled,
    /// The machine cannot run compiled code.
    #[error("this machine is not supported: {0}")]
    Machine(String),
    /// Cranelift failed, which is a bug in this engine.
    #[error("the code generator failed in function {function}: {message}")]
    Codegen {
        /// The index of the function.
        function: u32,
        /// What the code generator said.
        message: String,
    },
}

impl CompileError {
    /// A module that is too large as a whole.
    pub fn too_large(message: impl Into<String>) -> CompileError {
        CompileError::TooLarge { offset: None, message: message.into() }
    }

    /// The same, if it is too large in one place.
    pub(crate) fn at(self, offset: u64) -> CompileError {
        match self {
            CompileError::TooLarge { message, .. } => {
                CompileError::TooLarge { offset: Some(offset), message }
            }
            other => other,
        }
    }
}
