//! Tests of the command as a process: its output and exit codes.

mod c_fibers;
mod compile;
mod examples;
mod failure;
mod guides;
mod jitdump;
mod lower;
mod messages;
mod outputs;
mod pipe;
mod process;
mod profiling;
mod replay;
mod run;
mod snapshots;
mod trace;
mod tracing;
mod trap;
mod validate;
mod wasi;
mod wast;
