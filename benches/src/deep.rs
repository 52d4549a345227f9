//! Rows about deep recursion: a stack that grows against one that was large from the start.

use crate::programs::{Program, program};
use crate::ropewalk::{LargeStacks, Ropewalk};
use crate::row::{Row, Size, ours};
use crate::wasmtime::{self, Wasmtime};

/// A sufficient stack size in bytes.
pub const STACK: usize = 128 << 20;

/// Every run has a process of its own, so that all pages are touched for the first time: an engine
/// reuses the memory of roots for later stores.
const MILLION: Size = Size { tiny: 1, large: 1_000_000, operations: 999_999 };

const ROOT: Program = program!("deep", "root");
const CONTINUATION: Program = program!("deep", "continuation");

/// The rows, in the order of the table.
#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    let deep = || ours("deep in a continuation", "a call, a million deep", MILLION, CONTINUATION);
    vec![
        deep().against_engine::<Ropewalk<LargeStacks>>("a large root", ROOT).apart(),
        deep().against_engine::<Ropewalk<LargeStacks>>("a large stack", CONTINUATION).apart(),
        deep().against_engine::<Wasmtime<wasmtime::LargeStacks>>("wasmtime", CONTINUATION).apart(),
        ours("deep on a root", "a call, a million deep", MILLION, ROOT)
            .against_engine::<Ropewalk<LargeStacks>>("a large root", ROOT)
            .apart(),
    ]
}
