//! Rows about continuations, against Wasmtime, a library of native coroutines, and Ropewalk itself.

use ::ropewalk as rw;
use anyhow::Result;

use crate::clock::Clock;
use crate::native;
use crate::programs::{Program, fib, program};
use crate::resident::Resident;
use crate::ropewalk::Ropewalk;
use crate::row::{Row, Side, Size, Workload, ours};
use crate::wasmtime::{StackSwitching, Wasmtime};

/// Wasmtime fails after about 32,000 continuations in one store.
const FEW: i64 = 20_000;

/// If memory is bounded, four million continuations leave as much behind as one million.
const MILLIONS: Size = Size { tiny: 1_000_000, large: 4_000_000, operations: 3 };

/// The rows, in the order of the table.
pub fn rows() -> Vec<Row> {
    let mut rows = switching();
    rows.extend(creating());
    rows.extend(together());
    rows.extend(against_itself());
    rows
}

/// Round trips.
#[rustfmt::skip]
fn switching() -> Vec<Row> {
    let round_trip = ours("round trip", "a suspend, a resume", Size::of(20_000_000), ROUND_TRIP);
    vec![
        wasmtime("round trip", "a suspend, a resume", Size::of(10_000_000), ROUND_TRIP),
        round_trip.against("corosensei", native::native(native::round_trip)),
        wasmtime("switch", "a switch", Size::of(10_000_000), program!("symmetric")),
    ]
}

/// Creating continuations, and abandoning them.
#[rustfmt::skip]
fn creating() -> Vec<Row> {
    let finish = || ours("create, finish", "a cont.new, a resume", Size::of(10_000_000), FINISH);
    vec![
        finish().against_engine::<Switching>("wasmtime, 20,000", FINISH).apart().with_peer_size(Size::of(FEW)),
        finish().against("corosensei", native::native(native::finish)),
        ours("create, abandon", "a cont.new, a suspend", Size::of(3_000_000), ABANDON),
        ours("abandon, resident", "growth for a further million", MILLIONS, Resident(ABANDON)).apart(),
        wasmtime("live, 20,000", "create, suspend, finish", Size::of(FEW), LIVE),
        ours("live, 1,000,000", "create, suspend, finish", Size::of(1_000_000), LIVE).apart(),
        ours("live, 10,000,000", "create, suspend, finish", Size::of(10_000_000), LIVE).apart(),
        wasmtime("live, 20,000, resident", "memory of each", Size::of(FEW), Resident(KEEP)),
        ours("live, 1,000,000, resident", "memory of each", Size::of(1_000_000), Resident(KEEP)).apart(),
        ours("live, 10,000,000, resident", "memory of each", Size::of(10_000_000), Resident(KEEP)).apart(),
        collection(),
    ]
}

/// Collecting while a million continuations are suspended.
fn collection() -> Row {
    let size = Size { tiny: 1, large: 1_000_000, operations: 1 };
    let row = ours("collection, 1,000,000 live", "a collection", size, LIVE).apart();
    Row { ours: Box::new(collect), ..row }
}

fn collect() -> Result<Side> {
    let module = rw::Module::new(&rw::Engine::default(), KEEP.source)?;
    Ok(Box::new(move |_, size| {
        let mut store = rw::Store::new(module.engine(), ());
        let instance = rw::Instance::new(&mut store, &module, &[])?;
        let keep = instance.get_typed_func::<i64, i64>(&mut store, KEEP.export)?;
        keep.call(&mut store, size)?;
        Clock::Thread.time(|| {
            store.gc();
            Ok(store.stack_statistics().live as i64)
        })
    }))
}

/// Programs with many continuations.
#[rustfmt::skip]
fn together() -> Vec<Row> {
    let tasks_10 = || ours("scheduler, 10", "a turn of a task", Size::steps(1_000_000, 10), TASKS_10);
    let tasks_10_000 = || ours("scheduler, 10,000", "a turn of a task", Size::steps(500, 10_000), TASKS_10_000);
    vec![
        ours("skynet, 10^6", "a leaf", skynet(6), SKYNET)
            .against_engine::<Switching>("wasmtime, 10^4", SKYNET).apart().with_peer_size(skynet(4)),
        wasmtime("skynet, 10^6", "a leaf", skynet(6), SKYNET),
        wasmtime("generators", "a prime", Size::of(2_000), program!("generators")),
        tasks_10().against_engine::<Switching>("wasmtime", TASKS_10).apart(),
        tasks_10().against("corosensei", native::native(native::schedule_10)),
        tasks_10_000().against_engine::<Switching>("wasmtime", TASKS_10_000).apart(),
        tasks_10_000().against("corosensei", native::native(native::schedule_10_000)),
    ]
}

/// Rows that compare Ropewalk with itself.
#[rustfmt::skip]
fn against_itself() -> Vec<Row> {
    let first = program!("enclosing", "the_1st");
    let tenth = program!("enclosing", "the_10th");
    let hundredth = program!("enclosing", "the_100th");
    vec![
        ours("compute inside", "a recursive call", fib(35), program!("compute", "inside"))
            .against_engine::<Ropewalk>("outside", program!("compute", "outside")),
        ours("calls and a suspend", "a step of five calls", Size::of(10_000_000), program!("calls_and_suspend", "suspends"))
            .against_engine::<Ropewalk>("no suspend", program!("calls_and_suspend", "plain")),
        ours("after a far suspension", "a suspend, a resume", Size::of(20_000_000), program!("once", "suspended_with_others"))
            .against_engine::<Ropewalk>("without one", program!("once", "plain")),
        ours("after an exception", "a suspend, a resume", Size::of(20_000_000), program!("once", "thrown_into"))
            .against_engine::<Ropewalk>("without one", program!("once", "plain")),
        ours("to the 1st handler", "a suspend, a resume", Size::of(20_000_000), first),
        ours("to the 10th handler", "a suspend, a resume", Size::of(5_000_000), tenth)
            .against_engine::<Ropewalk>("to the 1st", first)
                .with_peer_size(Size::of(10_000_000)),
        ours("to the 100th handler", "a suspend, a resume", Size::of(1_000_000), hundredth)
            .against_engine::<Ropewalk>("to the 1st", first)
                .with_peer_size(Size::of(10_000_000)),
    ]
}

type Switching = Wasmtime<StackSwitching>;

const ROUND_TRIP: Program = program!("round_trip");
const FINISH: Program = program!("create", "finish");
const ABANDON: Program = program!("create", "abandon");
const SKYNET: Program = program!("skynet");
const LIVE: Program = program!("live", "finish");
const KEEP: Program = program!("live", "keep");
const TASKS_10: Program = program!("scheduler", "of_10");
const TASKS_10_000: Program = program!("scheduler", "of_10_000");

/// A row against Wasmtime in processes of its own, because Wasmtime can crash.
fn wasmtime(
    name: &'static str,
    operation: &'static str,
    size: Size,
    workload: impl Workload,
) -> Row {
    ours(name, operation, size, workload).against_engine::<Switching>("wasmtime", workload).apart()
}

/// The size is the number of levels.
fn skynet(levels: u32) -> Size {
    Size { tiny: 1, large: levels.into(), operations: 10_i64.pow(levels) - 10 }
}
