//! Each function of WASI, its errors, and what it must not let out.

mod descriptors;
mod directories;
mod escapes;
mod files;
mod long;
mod paths;
mod pointers;
mod poll;
mod process;
mod program;
mod recording;
mod rights;
mod saving;
mod sockets;
mod streams;
mod unstable;
mod waiting;
