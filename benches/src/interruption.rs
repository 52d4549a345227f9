//! What it costs that functions can be interrupted: each engine against itself without.

use crate::programs::{Program, fib, program};
use crate::ropewalk::{Interruptible, Plain, Ropewalk};
use crate::row::{Row, Size, on_engine};
use crate::wasmtime::{self, Epochs, Wasmtime};

/// The programs of the rows: loops and calls that compute.
#[rustfmt::skip]
fn programs() -> Vec<(&'static str, &'static str, Size, Program)> {
    vec![
        ("interruption: fib", "epochs: fib", fib(35), program!("fib")),
        ("interruption: call direct", "epochs: call direct", Size::of(60_000_000), program!("call_direct")),
        ("interruption: matmul", "epochs: matmul", Size::steps(500, 64 * 64 * 64), program!("matmul")),
        ("interruption: sieve", "epochs: sieve", Size::of(200), program!("sieve")),
        ("interruption: saxpy", "epochs: saxpy", Size::steps(150_000, 1024), program!("saxpy")),
        ("interruption: dot", "epochs: dot", Size::steps(300_000, 256), program!("dot")),
        ("interruption: bytes", "epochs: bytes", Size::steps(120_000, 1024), program!("bytes")),
        ("interruption: orbits", "epochs: orbits", Size::of(800_000), program!("orbits")),
        ("interruption: state machine", "epochs: state machine", Size::of(20_000_000), program!("state_machine")),
        ("interruption: mixing", "epochs: mixing", Size::of(500_000), program!("mixing")),
    ]
}

/// The rows, in the order of the table.
pub fn rows() -> Vec<Row> {
    let pair = |(ours, theirs, size, program)| {
        [
            on_engine::<Ropewalk<Interruptible>, _>(
                ours,
                "as in the row of that name",
                size,
                program,
            )
            .against_engine::<Ropewalk<Plain>>("without", program),
            on_engine::<Wasmtime<Epochs>, _>(theirs, "Wasmtime's own", size, program)
                .against_engine::<Wasmtime<wasmtime::Plain>>("without", program),
        ]
    };
    programs().into_iter().flat_map(pair).collect()
}
