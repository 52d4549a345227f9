//! `ropewalk resume`: goes on with a program that was written down.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::Result;

use crate::profiling::Profiling;
use crate::run::Run;
use crate::suspended::Suspended;
use crate::tracing::Tracing;

/// Go on with a program that `run --snapshot-on` has written down, where it was.
///
/// It has its memory, its stacks and its open files again; directories and standard streams are
/// those of this process, by the same names. It has the limits that it was run with, anew, and
/// is written down again by the same signal or tag. Traces and profiles are those that are asked
/// for here; those of before stay as they are.
#[derive(Args)]
pub(crate) struct Resume {
    /// The file that the program is written to the next time, instead of the one that `run` was
    /// given.
    #[arg(short = 'o', long = "snapshot-output", value_name = "OUTPUT")]
    output: Option<PathBuf>,

    #[command(flatten)]
    tracing: Tracing,

    #[command(flatten)]
    profiling: Profiling,

    /// What `ropewalk run --snapshot-on SIGNAL|TAG -o FILE` has written.
    file: PathBuf,
}

impl Resume {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let suspended = Suspended::read(&self.file)?;
        let run = Run::suspended(&suspended, self.output, self.tracing, self.profiling)?;
        run.resume(&suspended, &self.file)
    }
}
