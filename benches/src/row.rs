//! A row of the table: one kind of operation, done by us and perhaps by a rival.

use anyhow::Result;

use crate::engine::Engine;
use crate::ropewalk::Ropewalk;
use crate::wasmtime::{Plain, Wasmtime};

/// What came of doing some operations.
pub struct Run {
    /// In the unit of the row: seconds or bytes.
    pub cost: f64,
    /// Must be the same on both sides.
    pub result: i64,
}

/// One side of a row, prepared: runs a size and says what it cost. The first
/// argument numbers the rounds, for sides that do not do the same in all of them.
pub type Side = Box<dyn FnMut(usize, i64) -> Result<Run>>;

/// Compiles, instantiates and so on; nothing of this is measured.
pub type Prepare = Box<dyn Fn() -> Result<Side>>;

/// What a row measures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
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
    pub unit: Unit,
    pub size: Size,
    pub ours: Prepare,
    pub rival: Option<Rival>,
    /// Whether every run has a process of its own, for runs that may crash, or that
    /// must find the memory as it was.
    pub apart: bool,
}

/// What a row compares us with.
pub struct Rival {
    pub name: &'static str,
    pub size: Size,
    pub prepare: Prepare,
}

/// Work that any engine can be given.
pub trait Workload: Copy + 'static {
    /// What it measures.
    const UNIT: Unit = Unit::Seconds;

    /// Does everything that comes before the measurement.
    fn prepare<E: Engine>(&self) -> Result<Side>;
}

/// A row that gives the same work to us and to Wasmtime.
pub fn row(
    name: &'static str,
    operation: &'static str,
    size: Size,
    workload: impl Workload,
) -> Row {
    ours(name, operation, size, workload).against_engine::<Wasmtime<Plain>>("wasmtime", workload)
}

/// A row that gives work to us alone.
pub fn ours<W: Workload>(
    name: &'static str,
    operation: &'static str,
    size: Size,
    workload: W,
) -> Row {
    on_engine::<Ropewalk, W>(name, operation, size, workload)
}

/// A row that gives work to an engine alone.
pub fn on_engine<E: Engine, W: Workload>(
    name: &'static str,
    operation: &'static str,
    size: Size,
    workload: W,
) -> Row {
    let prepare = move || workload.prepare::<E>();
    Row { name, operation, unit: W::UNIT, size, ours: Box::new(prepare), rival: None, apart: false }
}

impl Row {
    /// Compares with anything.
    pub fn against(self, name: &'static str, prepare: Prepare) -> Self {
        Self { rival: Some(Rival { name, size: self.size, prepare }), ..self }
    }

    /// Compares with an engine.
    pub fn against_engine<E: Engine>(self, name: &'static str, workload: impl Workload) -> Self {
        self.against(name, Box::new(move || workload.prepare::<E>()))
    }

    /// Gives the rival less to do, because it is slow or cannot do as much.
    pub fn with_rival_size(mut self, size: Size) -> Self {
        if let Some(rival) = &mut self.rival {
            rival.size = size;
        }
        self
    }

    /// Gives every run a process of its own.
    pub fn apart(self) -> Self {
        Self { apart: true, ..self }
    }
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
