//! The command `ropewalk`: runs, checks and lowers WebAssembly modules, and runs
//! scripts.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `run` `validate` `lower` `wast` | the subcommands |
//! | `argument` | arguments, from what the user typed to values |
//! | `literal` | results, from values to what the user reads |
//! | `input` | reading files |
//! | `output` | printing to a reader who may have left |
//! | `diagnostic` | errors, and the exit codes that they mean |

#![forbid(unsafe_code)]

mod argument;
mod diagnostic;
mod input;
mod literal;
mod lower;
mod output;
mod run;
mod validate;
mod wast;

use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// A WebAssembly engine built around stack switching.
///
/// Exit codes: 0 for success, 1 for an error in the input, 134 for a trap.
#[derive(Parser)]
#[command(name = "ropewalk", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Run(run::Run),
    Validate(validate::Validate),
    Lower(lower::Lower),
    Wast(wast::Wast),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(error) => return diagnostic::usage(&error),
    };
    let outcome = match cli.command {
        Command::Run(command) => command.execute(),
        Command::Validate(command) => command.execute(),
        Command::Lower(command) => command.execute(),
        Command::Wast(command) => command.execute(),
    };
    outcome.unwrap_or_else(|error| diagnostic::report(&error))
}
