//! A row of the table: one kind of operation, done by two sides.

use std::time::Duration;

use anyhow::Result;

use crate::engine::Engine;
use crate::ropewalk::Ropewalk;
use crate::wasmtime::Wasmtime;

/// What came of doing some operations.
pub struct Run {
    pub time: Duration,
    /// Must be the same on both sides.
    pub result: i64,
}

/// One side of a row, prepared: runs a size and says how long it took. The first
/// argument numbers the rounds, for sides that do not do the same in all of them.
pub type Side = Box<dyn FnMut(usize, i64) -> Result<Run>>;

/// Both sides of a row, prepared.
pub struct Sides {
    pub ours: Side,
    pub theirs: Side,
}

/// How large the two runs are whose difference is measured.
#[derive(Clone, Copy)]
pub struct Size {
    /// What a run of this size costs is overhead, not operations.
    pub tiny: i64,
    pub large: i64,
    /// How many operations the large run does more than the tiny one.
    pub operations: i64,
}

/// One row.
pub struct Row {
    pub name: &'static str,
    /// What one operation is.
    pub operation: &'static str,
    pub size: Size,
    /// Compiles, instantiates and so on; nothing of this is measured.
    pub prepare: Box<dyn Fn() -> Result<Sides>>,
}

/// Work that any engine can be given.
pub trait Workload: 'static {
    /// Does everything that comes before the measurement.
    fn prepare<E: Engine>(&self) -> Result<Side>;
}

/// A row that gives the same work to both engines.
pub fn row(
    name: &'static str,
    operation: &'static str,
    size: Size,
    workload: impl Workload,
) -> Row {
    let prepare = move || {
        Ok(Sides { ours: workload.prepare::<Ropewalk>()?, theirs: workload.prepare::<Wasmtime>()? })
    };
    Row { name, operation, size, prepare: Box::new(prepare) }
}

impl Size {
    /// The size is the number of operations.
    pub fn of(large: i64) -> Self {
        Self::steps(large, 1)
    }

    /// The size is a number of steps, each of so many operations.
    pub fn steps(large: i64, operations: i64) -> Self {
        Self { tiny: 1, large, operations: (large - 1) * operations }
    }
}
