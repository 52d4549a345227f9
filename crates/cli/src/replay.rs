//! `ropewalk replay`: runs a program again, as it was recorded.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::Result;

use crate::recording::Recording;
use crate::run::Run;
use crate::tracing::Tracing;

/// Run a program again, exactly as it ran when it was recorded by `run --record`.
///
/// Nothing is asked of this machine: clocks, random numbers, files and sockets give the
/// program what they gave it then. What it writes to its standard output and error is
/// printed again, and the exit code is the same. Nothing of the run's own traces, profiles,
/// dumps and snapshots is written again.
#[derive(Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    tracing: Tracing,

    /// Runs until the event of this number, as a trace of the program counts them, prints all
    /// stacks as they are after it, and ends.
    #[arg(long, value_name = "EVENT")]
    at: Option<NonZeroU64>,

    /// What `ropewalk run --record FILE` has written.
    file: PathBuf,
}

impl Replay {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let (recording, calls) = Recording::open(&self.file)?;
        recording.check_modules()?;
        Run::recorded(&recording, self.tracing, self.at)?.replay(calls, &self.file)
    }
}
