//! Tracing what the stacks of a program do.

use std::io::BufWriter;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use ropewalk::traces::Writer;
use ropewalk::{Config, Result, StackList, Store, WhenBehind};

use crate::files::Output;
use crate::{diagnostic, input, output};

/// Options that say what is recorded.
#[derive(Args, Default)]
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

    /// Whether the code is such that it can be traced, though nobody asks for it.
    #[arg(skip)]
    is_possible: bool,
}

impl Tracing {
    pub(crate) fn configure(&self, config: &mut Config) {
        config.trace(self.trace.is_some() || self.until.is_some() || self.is_possible);
    }

    /// What is written.
    pub(crate) fn output(&self) -> Option<Output<'_>> {
        Some(Output { what: "the trace", path: self.trace.as_deref()? })
    }

    /// The same, up to an event.
    pub(crate) fn until(self, event: Option<NonZeroU64>) -> Tracing {
        Tracing { until: event, ..self }
    }

    /// The same for a program that goes on, and was run with others: its code is that of then.
    pub(crate) fn after(self, run: &Tracing) -> Result<Tracing> {
        ensure!(
            run.trace.is_some() || self.trace.is_none(),
            "--trace: the program cannot be traced, since it was run without --trace"
        );
        Ok(Tracing { is_possible: run.trace.is_some(), ..self })
    }

    /// Begins.
    pub(crate) fn prepare<T>(
        &self,
        store: &mut Store<T>,
        program: &Path,
        most: Option<u64>,
    ) -> Result<()> {
        if let Some(event) = self.until {
            store.at_stack_event(event.get(), move |stacks| print_and_end(event, stacks))?;
        }
        match (self.output(), self.trace_limit) {
            (None, _) if self.is_possible => store.set_trace_limit(1),
            (None, _) => Ok(()),
            (Some(_), Some(limit)) => store.set_trace_limit(limit),
            (Some(output), None) => store
                .stream_trace(output.create(most)?, &input::name(program), WhenBehind::Wait)
                .with_context(|| output.cannot()),
        }
    }

    /// Ends, however the program has.
    pub(crate) fn write<T>(&self, store: &mut Store<T>, program: &Path) -> Result<()> {
        if let Some(event) = self.until {
            bail!("the program has ended before event {event}");
        }
        let Some(output) = self.output() else { return Ok(()) };
        if self.trace_limit.is_none() {
            store.finish_trace().with_context(|| output.cannot())?;
            return Ok(());
        }
        let trace = store.take_trace()?;
        output.write_by(|file| {
            let mut writer = Writer::new(BufWriter::new(file), &input::name(program))?;
            writer.append(&trace)?;
            writer.finish(trace.dropped)
        })
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
