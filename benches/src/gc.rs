//! Rows about typed references and garbage, against each of Wasmtime's collectors. The copying
//! collector is its default. The null collector never collects, so it shows the limit of what a
//! better collector could reach.

use crate::programs::{Program, program};
use crate::row::{Row, Size, ours};
use crate::wasmtime::{Copying, Null, ReferenceCounting, Wasmtime};

/// The rows, in the order of the table.
#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    [
        rows_of("gc structs", "a struct of two i64", Size::of(20_000_000), program!("gc_structs")),
        rows_of("gc trees", "a node", Size::steps(60, (1 << 16) - 1), program!("binary_trees")),
        rows_of("array.fill 64", "an array.fill of i32", Size::of(5_000_000), program!("array_fill", "of_64")),
        rows_of("array.fill 100k", "an array.fill of i32", Size::of(6_000), program!("array_fill", "of_100k")),
        rows_of("array.copy 64", "an array.copy of i32", Size::of(5_000_000), program!("array_copy", "of_64")),
        rows_of("array.copy 100k", "an array.copy of i32", Size::of(6_000), program!("array_copy", "of_100k")),
        rows_of("ref.cast", "four casts", Size::of(20_000_000), program!("casts", "chain")),
        rows_of("ref.test", "four tests", Size::of(20_000_000), program!("casts", "tests")),
        rows_of("br_on_cast", "up to four branches", Size::of(20_000_000), program!("casts", "branches")),
        rows_of("call_ref", "a call", Size::of(50_000_000), program!("call_ref")),
    ]
    .into_iter()
    .flatten()
    .collect()
}

fn rows_of(name: &'static str, operation: &'static str, size: Size, program: Program) -> [Row; 3] {
    let row = || ours(name, operation, size, program);
    [
        row().against_engine::<Wasmtime<Copying>>("wasmtime, copying", program),
        row().against_engine::<Wasmtime<ReferenceCounting>>("wasmtime, drc", program),
        row().against_engine::<Wasmtime<Null>>("wasmtime, null", program),
    ]
}
