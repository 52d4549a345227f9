//! WASI preview 1 for Ropewalk: the system interface that programs from C, Rust, Zig, Go and
//! other languages use.
//!
//! A [`WasiCtx`] holds what the host grants to a program: arguments, environment, standard
//! streams, directories, clocks, random numbers, sockets. [`add_to_linker`] defines the functions
//! that the program imports. When a program calls `proc_exit`, the call fails with an
//! [`I32Exit`].
//!
//! | module | what it holds |
//! | --- | --- |
//! | `linker` | the table of functions |
//! | `call` | the loop that calls a function until it has finished |
//! | `functions` | the functions, by kind |
//! | `abi` | numbers, flags and layouts of the specification; checked access to memory |
//! | `context` | contexts and their builder |
//! | `files` | descriptors, directories, opening files |
//! | `saved` | saving and restoring contexts |
//! | `wait` | waiting, with a blocked thread or without |
//! | `recording` | recording and replaying calls |
//! | `exit` | errors that end a program |

#![forbid(unsafe_code)]

mod abi;
mod call;
mod context;
mod exit;
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
