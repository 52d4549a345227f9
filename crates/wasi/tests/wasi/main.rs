//! Tests of each function of WASI, its errors, and the limits of access.

mod chunks;
mod descriptors;
mod directories;
mod escapes;
mod files;
mod paths;
mod pointers;
mod poll;
mod process;
mod program;
mod recording;
mod rights;
mod saved;
mod sockets;
mod streams;
mod threads;
mod unstable;
mod waiting;
