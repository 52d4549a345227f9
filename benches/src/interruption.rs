//! The cost of interruption and fuel: each engine against itself without them.

use crate::programs::{Program, fib, program};
use crate::ropewalk::{self, Counting, Interruptible, Ropewalk};
use crate::row::{Row, Size, on_engine};
use crate::wasmtime::{self, Epochs, Fuel, Wasmtime};

/// A program, and its names in the rows of interruption, Wasmtime's epochs, fuel, and
/// Wasmtime's fuel.
type Measured = ([&'static str; 4], Size, Program);

macro_rules! measured {
    ($name:literal, $size:expr, $file:literal) => {
        (
            [
                concat!("interruption: ", $name),
                concat!("epochs: ", $name),
                concat!("fuel: ", $name),
                concat!("wasmtime fuel: ", $name),
            ],
            $size,
            program!($file),
        )
    };
}

/// Loops and calls that compute.
fn programs() -> Vec<Measured> {
    vec![
        measured!("fib", fib(35), "fib"),
        measured!("call direct", Size::of(60_000_000), "call_direct"),
        measured!("call indirect", Size::of(50_000_000), "call_indirect"),
        measured!("matmul", Size::steps(500, 64 * 64 * 64), "matmul"),
        measured!("sieve", Size::of(200), "sieve"),
        measured!("saxpy", Size::steps(150_000, 1024), "saxpy"),
        measured!("dot", Size::steps(300_000, 256), "dot"),
        measured!("bytes", Size::steps(120_000, 1024), "bytes"),
        measured!("orbits", Size::of(800_000), "orbits"),
        measured!("state machine", Size::of(20_000_000), "state_machine"),
        measured!("mixing", Size::of(500_000), "mixing"),
    ]
}

/// The rows, in the order of the table.
pub fn rows() -> Vec<Row> {
    programs().into_iter().flat_map(of_program).collect()
}

fn of_program((names, size, program): Measured) -> [Row; 4] {
    type Ours = Ropewalk<ropewalk::Plain>;
    type Theirs = Wasmtime<wasmtime::Plain>;
    const SAME: &str = "as in the row of that name";
    let [interruption, epochs, fuel, their_fuel] = names;
    [
        on_engine::<Ropewalk<Interruptible>, _>(interruption, SAME, size, program)
            .against_engine::<Ours>("without", program),
        on_engine::<Wasmtime<Epochs>, _>(epochs, SAME, size, program)
            .against_engine::<Theirs>("wasmtime without", program),
        on_engine::<Ropewalk<Counting>, _>(fuel, SAME, size, program)
            .against_engine::<Ours>("without", program),
        on_engine::<Wasmtime<Fuel>, _>(their_fuel, SAME, size, program)
            .against_engine::<Theirs>("wasmtime without", program),
    ]
}
