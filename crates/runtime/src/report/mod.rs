//! Reports to the embedder: traps, errors, backtraces, lists of stacks.

pub mod backtrace;
pub mod host_error;
pub(crate) mod names;
pub mod stack_list;
pub mod trap;
pub(crate) mod violation;
pub mod waits;
