//! WASI preview 1 for Ropewalk: what programs from C, Rust, Zig, Go and others
//! expect of the system they run on.
//!
//! A [`WasiCtx`] says what a program gets to see: arguments, environment, standard
//! streams, directories, clocks, random numbers, sockets. [`add_to_linker`] defines
//! the functions by which the program does. A program that ends by itself ends the
//! call with an [`I32Exit`].
//!
//! | file | what it holds |
//! | --- | --- |
//! | `linker` | the names of the functions, and the loop that calls them |
//! | `functions` | the functions, one file for each kind |
//! | `guest` | the program's memory, in which nothing is read or written unchecked |
//! | `abi` `errno` | numbers, flags and layouts of the specification |
//! | `ctx` | what a program gets to see |
//! | `table` `descriptor` `directory` `pipe` | what a program has open |
//! | `open` `origin` | opening files, and remembering where they were |
//! | `state` `save` `restore` | contexts that are written down and made again |
//! | `clock` `times` | time |
//! | `pieces` | work of which a program chooses the length, done piece by piece |
//! | `wait` `reactor` | waiting, in one place: with a blocked thread, or without |
//! | `tape` | recordings of what a program got, and running it again with them |
//! | `exit` | how programs end |

#![forbid(unsafe_code)]

mod abi;
mod clock;
mod ctx;
mod descriptor;
mod directory;
mod errno;
mod exit;
mod functions;
mod guest;
mod linker;
mod open;
mod origin;
mod pieces;
mod pipe;
mod reactor;
mod restore;
mod save;
mod state;
mod table;
mod tape;
mod times;
mod wait;

pub use clock::Clock;
pub use ctx::{DirPerms, FilePerms, Socket, Stream, WasiCtx, WasiCtxBuilder};
pub use exit::{BrokenPipe, I32Exit};
pub use linker::add_to_linker;
pub use pipe::{MemoryInputPipe, MemoryOutputPipe};
pub use restore::RestoreError;
pub use save::{SaveError, Unsaveable};
pub use state::{StateError, WasiState};
