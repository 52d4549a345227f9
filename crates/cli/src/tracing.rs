//! Tracing what the stacks of a program do.

use std::fs::File;
use std::io::{self, BufWriter};
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail};
use clap::Args;
use ropewalk::traces::Writer;
use ropewalk::{Config, Result, StackList, Store, WhenBehind};

use crate::{diagnostic, input, output};

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

    /// The event after which the program ends, with a list of its stacks.
    #[arg(skip)]
    until: Option<NonZeroU64>,
}

impl Tracing {
    pub(crate) fn configure(&self, config: &mut Config) {
        config.trace(self.trace.is_some() || self.until.is_some());
    }

    /// The same, up to an event.
    pub(crate) fn until(self, event: Option<NonZeroU64>) -> Tracing {
        Tracing { until: event, ..self }
    }

    /// Begins. A file that cannot be written is found out before the program runs.
    pub(crate) fn prepare<T>(&self, store: &mut Store<T>, program: &Path) -> Result<()> {
        if let Some(event) = self.until {
            store.at_stack_event(event.get(), move |stacks| print_and_end(event, stacks))?;
        }
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
        if let Some(event) = self.until {
            bail!("the program has ended before event {event}");
        }
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

/// Prints the stacks after an event, and ends the process: the program does not go on.
fn print_and_end(event: NonZeroU64, stacks: Result<StackList>) {
    let code =
        match stacks.and_then(|stacks| output::line(format!("after event {event}: {stacks}"))) {
            Ok(()) => 0,
            Err(error) => {
                diagnostic::report(&error);
                1
            }
        };
    std::process::exit(code)
}

fn cannot_write(path: &Path) -> String {
    format!("cannot write the trace {}", path.display())
}
