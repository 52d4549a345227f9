//! Tests of the command as a process: what it prints, and how it ends.

mod c_fibers;
mod compile;
mod examples;
mod guides;
mod jitdump;
mod lower;
mod messages;
mod outputs;
mod pipe;
mod post_mortem;
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
