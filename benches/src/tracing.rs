//! The cost of tracing: the engine against itself without it.

use crate::programs::{Program, program};
use crate::ropewalk::{Plain, Ropewalk, Traced};
use crate::row::{Row, Size, on_engine};

/// The rows, in the order of the table. Each operation is two events.
#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    vec![
        traced("trace: round trip", "a suspend, a resume", program!("round_trip")),
        traced("trace: bag round trip", "a switch, a switch back", program!("bag_round_trip")),
        traced("trace: task round trip", "a suspend, a resume", program!("task_round_trip")),
        traced("trace: fiber round trip", "a mount, a dismount", program!("fiber_events", "one")),
    ]
}

fn traced(name: &'static str, operation: &'static str, program: Program) -> Row {
    on_engine::<Ropewalk<Traced>, _>(name, operation, Size::of(2_000_000), program)
        .against_engine::<Ropewalk<Plain>>("without", program)
}
