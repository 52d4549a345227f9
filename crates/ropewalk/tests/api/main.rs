//! The tests of the embedding API, by subject.
//!
//! They are one program, since linking is what builds of tests spend their time in. The tests of
//! a program run in parallel threads of one process. A test that changes or measures the whole
//! process runs itself again [in a process of its own](common::process).

mod allocator;
mod common;
#[path = "../sample/mod.rs"]
mod sample;

mod calls;
mod designs;
mod embedder;
mod errors;
mod foreign_handles;
mod heap;
mod inspect;
mod layers;
mod limits;
mod modules;
mod snapshot;
mod stacks;
