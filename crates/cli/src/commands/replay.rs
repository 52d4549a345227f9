//! `ropewalk replay`: repeats a recorded run.

use std::num::NonZeroU64;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::Result;

use crate::commands::run::Run;
use crate::files::recording::Recording;
use crate::options::tracing::Tracing;

/// Repeat a run exactly as `run --record` recorded it.
///
/// Clocks, random numbers, files and sockets return what they returned to the recorded
/// run; nothing is read from this machine. The program's standard output and error are
/// printed again, and the exit code is the same. The traces, profiles, dumps and snapshots
/// of the recorded run are not written again.
#[derive(Args)]
pub(crate) struct Replay {
    #[command(flatten)]
    tracing: Tracing,

    /// Runs until the event with this number, as in a trace of the program, then prints
    /// all stacks and exits.
    #[arg(long, value_name = "EVENT")]
    at: Option<NonZeroU64>,

    /// The recording that `ropewalk run --record FILE` wrote.
    file: PathBuf,
}

impl Replay {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let (recording, calls) = Recording::open(&self.file)?;
        recording.check_modules()?;
        Run::recorded(&recording, self.tracing, self.at)?.replay(calls, &self.file)
    }
}
