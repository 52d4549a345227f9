//! `ropewalk completions`: prints a completion script for a shell.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};
use ropewalk::Result;

use crate::Cli;
use crate::terminal::stdout;

/// Print a completion script for a shell.
///
/// For bash: ropewalk completions bash > ~/.local/share/bash-completion/completions/ropewalk
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell to generate the script for.
    shell: Shell,
}

impl Completions {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "ropewalk", &mut script);
        stdout::text(&String::from_utf8(script)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
