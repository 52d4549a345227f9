//! Rows that are plain WebAssembly programs, with their sizes.
//!
//! A program is a file in `programs/`. Its head defines one operation. To add a row, add a line to
//! the table in [`rows`], with a size that takes about 100 ms.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use anyhow::Result;

use crate::clock::Clock;
use crate::engine::Engine;
use crate::row::{Row, Side, Size, Workload, row};

/// A program, and its export of type `[i64] -> [i64]` to call.
#[derive(Clone, Copy)]
pub struct Program {
    pub source: &'static str,
    pub export: &'static str,
}

/// The number of placements of a program's code.
const PLACEMENTS: usize = 16;

impl Workload for Program {
    /// The position of a loop in its cache lines can cost a third of its speed, so each round
    /// places the code differently. Every run has a new instance, so that no placement of its
    /// memory favors one side in all rounds.
    fn prepare<E: Engine>(&self) -> Result<Side> {
        let Self { source, export } = *self;
        let engine = E::new()?;
        let mut modules = HashMap::new();
        Ok(Box::new(move |round, size| {
            let module = match modules.entry(round % PLACEMENTS) {
                Entry::Occupied(module) => module.into_mut(),
                Entry::Vacant(place) => {
                    let source = placed(source, *place.key());
                    place.insert(engine.compile_text(&source)?)
                }
            };
            let mut instance = engine.instantiate(module)?;
            let function = engine.function(&mut instance, export)?;
            Clock::Thread.time(|| engine.call(&mut instance, &function, size))
        }))
    }
}

/// The program with empty functions between its own. Engines align functions to less than a cache
/// line, so this moves each function within its lines.
fn placed(source: &str, placement: usize) -> String {
    let mut pieces = source.split("\n  (func");
    let mut placed = pieces.next().unwrap_or_default().to_owned();
    for (function, piece) in pieces.enumerate() {
        placed += "\n";
        placed += &"(func)".repeat(shift(placement, function));
        placed += "  (func";
        placed += piece;
    }
    placed
}

/// The number of empty functions to insert before a function: none in the first placement, up to
/// three pseudorandomly in the others, so that functions move independently.
fn shift(placement: usize, function: usize) -> usize {
    if placement == 0 {
        return 0;
    }
    let mut mixed = (placement as u32).wrapping_mul(0x9e37_79b1);
    mixed ^= (function as u32 + 1).wrapping_mul(0x85eb_ca6b);
    mixed = (mixed ^ (mixed >> 15)).wrapping_mul(0x2c1b_3c6d);
    (mixed >> 30) as usize
}

/// `program!("fib")` is the file `fib.wat` and its export `run`;
/// `program!("fib", "other")` is its export `other`.
macro_rules! program {
    ($file:literal) => {
        $crate::programs::program!($file, "run")
    };
    ($file:literal, $export:literal) => {
        $crate::programs::Program {
            source: include_str!(concat!("../programs/", $file, ".wat")),
            export: $export,
        }
    };
}

pub(crate) use program;

/// The rows, in the order of the table.
#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    vec![
        row("fib", "a recursive call", fib(35), program!("fib")),
        row("call direct", "a call", Size::of(60_000_000), program!("call_direct")),
        row("call indirect", "a call through a table", Size::of(50_000_000), program!("call_indirect")),
        row("call host", "a call of a Rust closure", Size::of(30_000_000), program!("host_call")),
        row("matmul", "a multiply-add of f64", Size::steps(500, 64 * 64 * 64), program!("matmul")),
        row("sieve", "the primes below 2^18", Size::of(200), program!("sieve")),
        row("saxpy", "four f32", Size::steps(150_000, 1024), program!("saxpy")),
        row("dot", "sixteen f32", Size::steps(300_000, 256), program!("dot")),
        row("bytes", "sixteen bytes", Size::steps(120_000, 1024), program!("bytes")),
        row("copy 16 B", "a memory.copy", Size::of(25_000_000), program!("memory_copy", "of_16")),
        row("copy 256 B", "a memory.copy", Size::of(15_000_000), program!("memory_copy", "of_256")),
        row("copy 16..256 B", "a memory.copy", Size::of(10_000_000), program!("memory_copy", "mixed")),
        row("copy 1 MiB", "a memory.copy", Size::of(4_000), program!("memory_copy", "of_1_mib")),
        row("fill 16 B", "a memory.fill", Size::of(25_000_000), program!("memory_fill", "of_16")),
        row("fill 256 B", "a memory.fill", Size::of(15_000_000), program!("memory_fill", "of_256")),
        row("fill 16..256 B", "a memory.fill", Size::of(10_000_000), program!("memory_fill", "mixed")),
        row("fill 1 MiB", "a memory.fill", Size::of(8_000), program!("memory_fill", "of_1_mib")),
        row("orbits", "a step of five bodies", Size::of(800_000), program!("orbits")),
        row("state machine", "a byte scanned", Size::of(20_000_000), program!("state_machine")),
        row("mixing", "a block of 64 bytes", Size::of(500_000), program!("mixing")),
    ]
}

/// The size is the argument of `fib`. An operation is a call.
pub fn fib(n: i64) -> Size {
    Size { tiny: 1, large: n, operations: calls_of_fib(n) - calls_of_fib(1) }
}

/// 2 * fib(n + 1) - 1.
fn calls_of_fib(n: i64) -> i64 {
    let (mut current, mut next) = (0, 1);
    for _ in 0..=n {
        (current, next) = (next, current + next);
    }
    2 * current - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placing_only_adds_empty_functions() {
        let source = include_str!("../programs/call_direct.wat");
        assert_eq!(placed(source, 0), source);
        let other = placed(source, 3);
        assert_ne!(other, source);
        assert_eq!(other.replace("(func)", ""), source);
    }

    #[test]
    fn placements_of_two_functions_differ() {
        let places = (0..PLACEMENTS).map(|placement| (shift(placement, 0), shift(placement, 1)));
        let different: std::collections::HashSet<_> = places.collect();
        assert!(different.len() >= PLACEMENTS / 2, "{different:?}");
    }

    #[test]
    fn fib_counts_its_calls() {
        assert_eq!(calls_of_fib(1), 1);
        assert_eq!(calls_of_fib(2), 3);
        assert_eq!(calls_of_fib(5), 15);
    }
}
