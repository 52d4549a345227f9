//! The memory of stacks: sizes, growth, parking, reuse.

mod consistency;
mod generations;
mod growth;
mod parking;
mod reuse;
