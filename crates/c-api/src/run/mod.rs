//! Linkers, continuations and other stacks, limits of stores, and WASI.

mod continuation;
mod limits;
mod linker;
mod stacks;
mod wasi;
