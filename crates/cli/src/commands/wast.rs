//! `ropewalk wast`: runs test scripts.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use anyhow::bail;
use clap::Args;
use ropewalk::{Engine, Result};
use ropewalk_wast::{Report, WastRunner};

use crate::errors;
use crate::files::input;
use crate::terminal::stdout;

/// Run test scripts. Prints the line and the reason of each failure, and a
/// summary. `input` and `output` of a script use files in its directory.
#[derive(Args)]
pub(crate) struct Wast {
    /// The scripts, or `-` for the standard input.
    #[arg(required = true)]
    files: Vec<PathBuf>,
}

impl Wast {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let engine = Engine::default();
        let (mut total, mut unreadable) = (Report::default(), 0);
        for file in &self.files {
            match run(&engine, file) {
                Ok(report) => total.merge(report),
                Err(error) => {
                    errors::print(&error);
                    unreadable += 1;
                }
            }
        }
        stdout::line(format_args!("{} passed, {} failed", total.passed, total.failed()))?;
        let success = unreadable == 0 && total.failed() == 0;
        Ok(ExitCode::from(if success { 0 } else { errors::INPUT_ERROR }))
    }
}

/// Runs a script, and prints its failures before the next script starts.
fn run(engine: &Engine, file: &Path) -> Result<Report> {
    let text = input::text(file)?;
    if text.is_empty() {
        bail!("{} is empty", input::name(file));
    }
    let directory = file.parent().unwrap_or(Path::new(""));
    let runner = WastRunner::new(engine).with_directory(directory);
    let report = runner.run_script(&input::name(file), &text);
    if !report.output.is_empty() {
        stdout::line(report.output.trim_end())?;
    }
    for failure in &report.failures {
        stdout::line(failure)?;
    }
    Ok(report)
}
