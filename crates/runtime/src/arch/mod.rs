//! Everything that depends on the processor.
//!
//! Each architecture is a folder with the same files:
//!
//! | file | contents |
//! | --- | --- |
//! | `stubs` | assembly: entering and leaving WebAssembly, calling the host, the ends of stacks |
//! | `bytes` | assembly: copying and filling memory |
//! | `interrupted` | the registers of a thread that a signal has interrupted |
//! | `frames` | the instructions before a function's frame is in the chain of frame pointers |
//!
//! The functions that stubs call are in [`calls`]. Generated code is the business of `arch` in the
//! compiler.

pub(crate) mod calls;
pub(crate) mod fault;
#[cfg(target_arch = "x86_64")]
mod x86_64;
#[cfg(target_arch = "x86_64")]
pub(crate) use x86_64::*;

#[cfg(not(target_arch = "x86_64"))]
compile_error!("Ropewalk runs on x86-64 only: another machine needs a folder in `arch`");
