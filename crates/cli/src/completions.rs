//! `ropewalk completions`: what shells complete the command with.

use std::process::ExitCode;

use clap::{Args, CommandFactory as _};
use clap_complete::{Shell, generate};
use ropewalk::Result;

use crate::{Cli, output};

/// Print a script that completes this command in a shell.
///
/// For bash: ropewalk completions bash > ~/.local/share/bash-completion/completions/ropewalk
#[derive(Args)]
pub(crate) struct Completions {
    /// The shell.
    shell: Shell,
}

impl Completions {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        let mut script = Vec::new();
        generate(self.shell, &mut Cli::command(), "ropewalk", &mut script);
        output::text(&String::from_utf8(script)?)?;
        Ok(ExitCode::SUCCESS)
    }
}
