//! A row of the table: one kind of operation, on Ropewalk and optionally on a peer.

use anyhow::Result;

use crate::engine::Engine;
use crate::ropewalk::Ropewalk;
use crate::wasmtime::{Plain, Wasmtime};

/// The result of a run.
pub struct Run {
    /// In the unit of the row: seconds or bytes.
    pub cost: f64,
    /// Must be the same on both sides.
    pub result: i64,
}

/// One side of a row, prepared: runs a size and returns its cost. The first argument is the number
/// of the round, for sides whose rounds differ.
pub type Side = Box<dyn FnMut(usize, i64) -> Result<Run>>;

/// Prepares a side: compiles and instantiates, without measuring.
pub type Prepare = Box<dyn Fn() -> Result<Side>>;

/// What a row measures.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Unit {
    Seconds,
    Bytes,
}

/// The sizes of the two runs whose difference is measured.
#[derive(Clone, Copy)]
pub struct Size {
    /// The cost of a run of this size is overhead.
    pub tiny: i64,
    pub large: i64,
    /// The number of additional operations of the large run.
    pub operations: i64,
}

/// One row.
pub struct Row {
    pub name: &'static str,
    /// A description of one operation.
    pub operation: &'static str,
    pub unit: Unit,
    pub size: Size,
    pub ours: Prepare,
    pub peer: Option<Peer>,
    /// Whether every run has its own process, because it may crash or needs fresh memory.
    pub apart: bool,
}

/// The peer of a row.
pub struct Peer {
    pub name: &'static str,
    pub size: Size,
    pub prepare: Prepare,
}

/// Work that any engine can do.
pub trait Workload: Copy + 'static {
    /// The measured quantity.
    const UNIT: Unit = Unit::Seconds;

    /// Prepares the measurement.
    fn prepare<E: Engine>(&self) -> Result<Side>;
}

/// A row with the same work on Ropewalk and Wasmtime.
pub fn row(
    name: &'static str,
    operation: &'static str,
    size: Size,
    workload: impl Workload,
) -> Row {
    ours(name, operation, size, workload).against_engine::<Wasmtime<Plain>>("wasmtime", workload)
}

/// A row with work on Ropewalk alone.
pub fn ours<W: Workload>(
    name: &'static str,
    operation: &'static str,
    size: Size,
    workload: W,
) -> Row {
    on_engine::<Ropewalk, W>(name, operation, size, workload)
}

/// A row with work on one engine alone.
pub fn on_engine<E: Engine, W: Workload>(
    name: &'static str,
    operation: &'static str,
    size: Size,
    workload: W,
) -> Row {
    let prepare = move || workload.prepare::<E>();
    Row { name, operation, unit: W::UNIT, size, ours: Box::new(prepare), peer: None, apart: false }
}

impl Row {
    /// Adds any peer.
    pub fn against(self, name: &'static str, prepare: Prepare) -> Self {
        Self { peer: Some(Peer { name, size: self.size, prepare }), ..self }
    }

    /// Adds an engine as the peer.
    pub fn against_engine<E: Engine>(self, name: &'static str, workload: impl Workload) -> Self {
        self.against(name, Box::new(move || workload.prepare::<E>()))
    }

    /// Gives the peer a smaller size, because it is slow or limited.
    pub fn with_peer_size(mut self, size: Size) -> Self {
        if let Some(peer) = &mut self.peer {
            peer.size = size;
        }
        self
    }

    /// Runs every run in its own process.
    pub fn apart(self) -> Self {
        Self { apart: true, ..self }
    }
}

impl Size {
    /// The size is the number of operations.
    pub fn of(large: i64) -> Self {
        Self::steps(large, 1)
    }

    /// The size is a number of steps of this many operations.
    pub fn steps(large: i64, operations: i64) -> Self {
        Self { tiny: 1, large, operations: (large - 1) * operations }
    }
}
