//! Compiles WebAssembly modules to machine code.
//!
//! wasmparser decodes and validates, the [`translate`] and [`design`] folders turn each function
//! into Cranelift IR in the same pass, Cranelift generates code, and [`codegen::image`] links the
//! functions. Of stores and instances, the crate knows only the layouts in `ropewalk-abi`.
//!
//! ```text
//! bytes -- module::sections --> ModuleInfo + bodies
//! body  -- translate, verbs, design --> IR -- optimizer --> IR -- codegen::relocatable --> IR
//!       -- Cranelift --> code of one function -- codegen::image --> CodeImage
//! ```
//!
//! Each folder is a layer: it uses only the folders above it in this table.
//!
//! | layer | contents |
//! | --- | --- |
//! | [`error`] | why a module cannot be compiled |
//! | [`arch`] | machine code that Cranelift does not generate |
//! | [`target`] | the target machine, its settings and limits |
//! | [`module`] | sections, types and clause lists of a module, as data |
//! | [`budget`] | limits on the work and memory of one function |
//! | [`emit`] | building blocks of all emitted code: records, signatures, the transfer area |
//! | [`codegen`] | from the IR of a function to machine code, and to an image |
//! | [`translate`] | the translator, and all instructions that do not switch stacks |
//! | [`verbs`] | what instructions that switch stacks are made of |
//! | [`design`] | the five designs of stack switching, a folder each |
//! | [`driver`] | compiles a module: limits, parallel compilation, trampolines |

// Tests read the machine code of functions.
#![cfg_attr(not(test), forbid(unsafe_code))]

mod arch;
mod budget;
mod codegen;
mod design;
mod driver;
mod emit;
mod error;
mod module;
mod target;
mod translate;
mod verbs;

pub use driver::progress::{Progress, UNWATCHED, Watch};
pub use driver::trampoline::{entry_trampoline, host_trampoline, stack_trampoline};
pub use driver::validate::validate_module;
pub use driver::{CompiledModule, Cost, compile_module};
pub use error::CompileError;
pub use target::{Designs, Limits, OptLevel, Target};
