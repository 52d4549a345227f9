//! The subcommands.

mod compile;
mod completions;
mod lower;
mod man;
mod replay;
mod resume;
pub(crate) mod run;
mod trace;
mod validate;
mod wast;

use std::process::ExitCode;

use clap::Subcommand;
use ropewalk::Result;

#[derive(Subcommand)]
pub(crate) enum Command {
    Run(Box<run::Run>),
    Replay(replay::Replay),
    Resume(resume::Resume),
    Compile(compile::Compile),
    Validate(validate::Validate),
    Lower(lower::Lower),
    Wast(wast::Wast),
    Trace(trace::Trace),
    Completions(completions::Completions),
    Man(man::Man),
}

impl Command {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        match self {
            Command::Run(command) => command.execute(),
            Command::Replay(command) => command.execute(),
            Command::Resume(command) => command.execute(),
            Command::Compile(command) => command.execute(),
            Command::Validate(command) => command.execute(),
            Command::Lower(command) => command.execute(),
            Command::Wast(command) => command.execute(),
            Command::Trace(command) => command.execute(),
            Command::Completions(command) => command.execute(),
            Command::Man(command) => command.execute(),
        }
    }
}
