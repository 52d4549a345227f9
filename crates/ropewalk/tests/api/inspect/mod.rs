//! Traces, profiles, lists of stacks, and backtraces of native debuggers.

mod native_debug;
mod profile;
mod stack_lists;
mod trace;
