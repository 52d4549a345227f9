//! Linkers, continuations, limits of stores, and WASI.

mod continuation;
mod limits;
mod linker;
mod wasi;
