//! `ropewalk replay`: runs a program again, as it was recorded.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::Result;

use crate::recording::Recording;
use crate::run::Run;

/// Run a program again, exactly as it ran when it was recorded by `run --record`.
///
/// Nothing is asked of this machine: clocks, random numbers, files and sockets give the
/// program what they gave it then. What it writes to its standard output and error is
/// printed again, and the exit code is the same.
#[derive(Args)]
pub(crate) struct Replay {
    /// What `ropewalk run --record FILE` has written.
    file: PathBuf,
}

impl Replay {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let (recording, calls) = Recording::open(&self.file)?;
        recording.check_modules()?;
        Run::recorded(&recording)?.replay(calls)
    }
}
