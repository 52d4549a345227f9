//! `ropewalk resume`: goes on with a program that was written down.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::Result;

use crate::run::Run;
use crate::suspended::Suspended;

/// Go on with a program that `run --snapshot-on` has written down, where it was.
///
/// It has its memory, its stacks and its open files again; directories and standard streams are
/// those of this process, by the same names. With the options that it was run with, it is
/// written down again.
#[derive(Args)]
pub(crate) struct Resume {
    /// What `ropewalk run --snapshot-on SIGNAL|TAG -o FILE` has written.
    file: PathBuf,
}

impl Resume {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let suspended = Suspended::read(&self.file)?;
        Run::suspended(&suspended)?.resume(&suspended)
    }
}
