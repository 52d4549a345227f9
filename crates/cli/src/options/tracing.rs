//! `--trace`: records what the stacks of a program do.

use std::io::BufWriter;
use std::num::NonZeroU64;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, bail, ensure};
use clap::Args;
use ropewalk::traces::Writer;
use ropewalk::{Config, Result, StackList, Store, WhenBehind};

use crate::errors;
use crate::files::input;
use crate::files::output::Output;
use crate::terminal::stdout;

/// What to trace.
#[derive(Args, Default)]
pub(crate) struct Tracing {
    /// Records what the stacks of the program do, for `ropewalk trace`: each switch, creation
    /// and end of a stack, with its time, source position and values. Switches are slower. The
    /// file is written while the program runs.
    #[arg(long, value_name = "FILE")]
    trace: Option<PathBuf>,

    /// Records only the last EVENTS events, in memory, and writes them when the program has
    /// ended.
    #[arg(long, value_name = "EVENTS", requires = "trace")]
    trace_limit: Option<usize>,

    /// The event after which the program ends, with a list of its stacks.
    #[arg(skip)]
    until: Option<NonZeroU64>,

    /// Whether code is compiled for tracing even without a trace.
    #[arg(skip)]
    compiles_for_tracing: bool,
}

impl Tracing {
    pub(crate) fn configure(&self, config: &mut Config) {
        config.trace(self.trace.is_some() || self.until.is_some() || self.compiles_for_tracing);
    }

    pub(crate) fn output(&self) -> Option<Output<'_>> {
        Some(Output { what: "the trace", path: self.trace.as_deref()? })
    }

    /// The same, ending the program after an event.
    pub(crate) fn until(self, event: Option<NonZeroU64>) -> Tracing {
        Tracing { until: event, ..self }
    }

    /// The options of `resume` for a program that ran with the options `run`: its code must be
    /// compiled the same way.
    pub(crate) fn of_resumed(self, run: &Tracing) -> Result<Tracing> {
        ensure!(
            run.trace.is_some() || self.trace.is_none(),
            "--trace: the snapshot cannot be traced, since `run` was called without --trace"
        );
        Ok(Tracing { compiles_for_tracing: run.trace.is_some(), ..self })
    }

    /// Starts recording.
    pub(crate) fn start<T>(
        &self,
        store: &mut Store<T>,
        program: &Path,
        max_size: Option<u64>,
    ) -> Result<()> {
        if let Some(event) = self.until {
            store.at_stack_event(event.get(), move |stacks| print_and_exit(event, stacks))?;
        }
        match (self.output(), self.trace_limit) {
            (None, _) if self.compiles_for_tracing => store.set_trace_limit(1),
            (None, _) => Ok(()),
            (Some(_), Some(limit)) => store.set_trace_limit(limit),
            (Some(output), None) => store
                .stream_trace(output.create(max_size)?, &input::name(program), WhenBehind::Wait)
                .with_context(|| output.cannot()),
        }
    }

    /// Completes the trace after the program has ended.
    pub(crate) fn write<T>(&self, store: &mut Store<T>, program: &Path) -> Result<()> {
        if let Some(event) = self.until {
            bail!("the program ended before event {event}");
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

/// Prints the stacks after an event and ends the process.
fn print_and_exit(event: NonZeroU64, stacks: Result<StackList>) {
    let printed = stacks.and_then(|stacks| stdout::line(format!("after event {event}: {stacks}")));
    if let Err(error) = &printed {
        errors::report(error);
    }
    std::process::exit(printed.is_err().into())
}
