//! `ropewalk resume`: continues a program from a snapshot.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::Args;
use ropewalk::Result;

use crate::commands::run::Run;
use crate::files::saved_program::SavedProgram;
use crate::options::profiling::Profiling;
use crate::options::tracing::Tracing;

/// Continue a program from a snapshot that `run --snapshot-on` took.
///
/// The program gets back its memory, its stacks and its open files. Directories and
/// standard streams are those of this process, under the same names. The limits of the
/// original command line apply again from zero, and the same signal or tag takes the next
/// snapshot. Traces and profiles are written only as requested here.
#[derive(Args)]
pub(crate) struct Resume {
    /// Writes the next snapshot to this file instead of the one that `run` was given.
    #[arg(short = 'o', long = "snapshot-output", value_name = "OUTPUT")]
    output: Option<PathBuf>,

    #[command(flatten)]
    tracing: Tracing,

    #[command(flatten)]
    profiling: Profiling,

    /// The snapshot that `ropewalk run --snapshot-on SIGNAL|TAG -o FILE` wrote.
    file: PathBuf,
}

impl Resume {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let saved = SavedProgram::read(&self.file)?;
        let run = Run::saved(&saved, self.output, self.tracing, self.profiling)?;
        run.resume(&saved, &self.file)
    }
}
