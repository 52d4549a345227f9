//! The growth of resident memory by running a program.

use anyhow::{Context, Result};

use crate::engine::Engine;
use crate::programs::Program;
use crate::row::{Run, Side, Unit, Workload};

/// Runs a program and counts bytes before its instance is dropped.
#[derive(Clone, Copy)]
pub struct Resident(pub Program);

impl Workload for Resident {
    const UNIT: Unit = Unit::Bytes;

    fn prepare<E: Engine>(&self) -> Result<Side> {
        let engine = E::new()?;
        let module = engine.compile(&wat::parse_str(self.0.source)?)?;
        let export = self.0.export;
        Ok(Box::new(move |_, size| {
            let mut instance = engine.instantiate(&module)?;
            let function = engine.function(&mut instance, export)?;
            let before = resident()?;
            let result = engine.call(&mut instance, &function, size)?;
            Ok(Run { cost: resident()? - before, result })
        }))
    }
}

/// The resident memory of this process in bytes.
pub fn resident() -> Result<f64> {
    let statm = std::fs::read_to_string("/proc/self/statm")?;
    let pages = statm.split(' ').nth(1).context("no second field")?;
    Ok(pages.parse::<f64>()? * rustix::param::page_size() as f64)
}
