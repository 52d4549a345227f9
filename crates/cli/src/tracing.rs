//! Tracing what the stacks of a program do.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use ropewalk::traces::Writer;
use ropewalk::{Config, Result, Store};

use crate::input;

/// Options that say what is recorded.
#[derive(Args)]
pub(crate) struct Tracing {
    /// Records what the stacks of the program do, for `ropewalk trace`: each switch, creation
    /// and end, in all designs, with its time, its place and its values. Makes switches slower.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// How many events are kept, 1048576 if nothing is said. Of more, the last ones are.
    #[arg(long, value_name = "EVENTS", requires = "trace")]
    trace_limit: Option<usize>,
}

impl Tracing {
    pub(crate) fn configure(&self, config: &mut Config) {
        config.trace(self.trace.is_some());
    }

    /// Begins. A file that cannot be written is found out before the program runs.
    pub(crate) fn prepare<T>(&self, store: &mut Store<T>) -> Result<()> {
        if let Some(path) = &self.trace {
            File::create(path).with_context(|| cannot_write(path))?;
        }
        if let Some(limit) = self.trace_limit {
            store.set_trace_limit(limit)?;
        }
        Ok(())
    }

    /// Writes what was recorded, however the program has ended.
    pub(crate) fn write<T>(&self, store: &mut Store<T>, program: &Path) -> Result<()> {
        let Some(path) = &self.trace else { return Ok(()) };
        let trace = store.take_trace()?;
        let write = || -> io::Result<()> {
            let file = BufWriter::new(File::create(path)?);
            let mut writer = Writer::new(file, &input::name(program))?;
            writer.append(&trace)?;
            writer.finish(trace.dropped)
        };
        write().with_context(|| cannot_write(path))
    }
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write the trace {}", path.display())
}
