//! WASI preview 1 for Ropewalk: the system interface that programs from C, Rust, Zig, Go and
//! other languages use.
//!
//! A [`WasiCtx`] holds what the host grants to a program: arguments, environment, standard
//! streams, directories, clocks, random numbers, sockets. [`add_to_linker`] defines the functions
//! that the program imports. When a program calls `proc_exit`, the call fails with an
//! [`I32Exit`].
//!
//! Each module uses only those above it:
//!
//! | module | contents |
//! | --- | --- |
//! | `abi` | numbers, flags and layouts of the specification; checked access to memory |
//! | `exit` | errors that end a program |
//! | `wait` | waiting, with a blocked thread or without |
//! | `failure` | why a function does not return success yet |
//! | `files` | descriptors, directories, opening files |
//! | `recording` | recording and replaying calls |
//! | `context` | contexts and their builder |
//! | `saved` | saving and restoring contexts |
//! | `call` | the loop that calls a function until it has finished |
//! | `functions` | the functions, by kind |
//! | `linker` | the table of functions |

#![forbid(unsafe_code)]

mod abi;
mod call;
mod context;
mod exit;
mod failure;
mod files;
mod functions;
mod linker;
mod recording;
mod saved;
mod wait;

pub use context::WasiCtx;
pub use context::builder::WasiCtxBuilder;
pub use context::clock::Clock;
pub use context::permissions::{DirPerms, FilePerms};
pub use context::stream::{Socket, Stream};
pub use exit::{BrokenPipe, I32Exit};
pub use files::pipe::{MemoryInputPipe, MemoryOutputPipe};
pub use linker::add_to_linker;
pub use saved::restore::RestoreError;
pub use saved::save::{SaveError, Unsaveable};
pub use saved::state::{StateError, WasiState};
