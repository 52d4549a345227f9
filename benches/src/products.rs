//! Rows about modules that take much work for their size: the cost of compiling per byte.
//!
//! The modules are from a test of the engine, which scales pairs of counts and limits the counted
//! work. These rows measure that work in seconds and bytes.

use std::fs;

use anyhow::{Context, Result, anyhow};

use crate::clock::Clock;
use crate::engine::Engine;
use crate::resident::resident;
use crate::row::{Row, Run, Side, Size, Unit, Workload, ours};
use pairs::PAIRS;

#[path = "../../crates/ropewalk/tests/api/modules/bombs/pairs.rs"]
mod pairs;
#[path = "../../crates/ropewalk/tests/api/modules/bombs/template.rs"]
mod template;

/// Both counts.
const COUNT: usize = 3000;

/// Compiles a module of a family.
#[derive(Clone, Copy)]
struct Time(&'static str);

/// Compiles such a module and measures memory.
#[derive(Clone, Copy)]
struct Memory(&'static str);

/// Families of modules. Each is expensive for another reason.
const FAMILIES: [(&str, &str, &str); 5] = [
    ("compile: locals, ifs", "compile: locals, ifs, memory", "locals, ifs"),
    ("compile: locals, loops", "compile: locals, loops, memory", "locals, nested loops"),
    ("compile: operands", "compile: operands, memory", "operands, straight line"),
    ("compile: casts", "compile: casts, memory", "casts, types"),
    ("compile: resumes", "compile: resumes, memory", "locals, resumes"),
];

/// The rows, in the order of the table.
pub fn rows() -> Vec<Row> {
    let mut rows = Vec::new();
    for (time, memory, family) in FAMILIES {
        let length = binary(family).map_or(1, |binary| binary.len() as i64);
        let size = Size { tiny: 0, large: 1, operations: length };
        rows.push(ours(time, "a byte of a module", size, Time(family)));
        rows.push(ours(memory, "a byte of a module", size, Memory(family)).apart());
    }
    rows
}

fn binary(family: &str) -> Result<Vec<u8>> {
    let found = PAIRS.iter().find(|(name, _)| *name == family);
    let (_, template) = found.context("no such family")?;
    wat::parse_str(pairs::source(template, COUNT, COUNT)).map_err(|error| anyhow!(error))
}

impl Workload for Time {
    fn prepare<E: Engine>(&self) -> Result<Side> {
        let (engine, binary) = (E::new()?, binary(self.0)?);
        Ok(Box::new(move |_, size| match size {
            0 => Ok(Run { cost: 0.0, result: 0 }),
            _ => Clock::Wall.time(|| engine.compile(&binary).map(|_| 0)),
        }))
    }
}

impl Workload for Memory {
    const UNIT: Unit = Unit::Bytes;

    fn prepare<E: Engine>(&self) -> Result<Side> {
        let (engine, binary) = (E::new()?, binary(self.0)?);
        Ok(Box::new(move |_, size| {
            if size == 0 {
                return Ok(Run { cost: 0.0, result: 0 });
            }
            // This resets the kernel's record of peak memory.
            fs::write("/proc/self/clear_refs", "5")?;
            let before = resident()?;
            engine.compile(&binary)?;
            Ok(Run { cost: most_resident()? - before, result: 0 })
        }))
    }
}

/// The peak resident memory of this process in bytes.
fn most_resident() -> Result<f64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:")).context("no VmHWM")?;
    let kibibytes = line.split_whitespace().nth(1).context("no number")?;
    Ok(kibibytes.parse::<f64>()? * 1024.0)
}
