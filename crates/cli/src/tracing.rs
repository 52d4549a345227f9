//! Tracing what the stacks of a program do.

use std::fs::File;
use std::io::{self, BufWriter};
use std::path::{Path, PathBuf};

use anyhow::Context as _;
use clap::Args;
use ropewalk::traces::Writer;
use ropewalk::{Config, Result, Store, WhenBehind};

use crate::input;

/// Options that say what is recorded.
#[derive(Args)]
pub(crate) struct Tracing {
    /// Records what the stacks of the program do, for `ropewalk trace`: each switch, creation
    /// and end, in all designs, with its time, its place and its values. Makes switches slower.
    /// The file is written while the program runs.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Keeps so many events in memory, the last ones, and writes them when the program has
    /// ended.
    #[arg(long, value_name = "EVENTS", requires = "trace")]
    trace_limit: Option<usize>,
}

impl Tracing {
    pub(crate) fn configure(&self, config: &mut Config) {
        config.trace(self.trace.is_some());
    }

    /// Begins. A file that cannot be written is found out before the program runs.
    pub(crate) fn prepare<T>(&self, store: &mut Store<T>, program: &Path) -> Result<()> {
        let Some(path) = &self.trace else { return Ok(()) };
        let file = File::create(path).with_context(|| cannot_write(path))?;
        match self.trace_limit {
            Some(limit) => store.set_trace_limit(limit),
            None => store
                .stream_trace(file, &input::name(program), WhenBehind::Wait)
                .with_context(|| cannot_write(path)),
        }
    }

    /// Ends, however the program has.
    pub(crate) fn write<T>(&self, store: &mut Store<T>, program: &Path) -> Result<()> {
        let Some(path) = &self.trace else { return Ok(()) };
        if self.trace_limit.is_none() {
            store.finish_trace().with_context(|| cannot_write(path))?;
            return Ok(());
        }
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
