//! The command `ropewalk`: runs, checks and lowers WebAssembly modules.
//!
//! Each module uses only those above it:
//!
//! | module | contents |
//! | --- | --- |
//! | `terminal` | colors, escapes, progress, the standard output |
//! | `values` | parsing arguments, printing results |
//! | `errors` | messages, hints and exit codes |
//! | `files` | input and output files, recordings, saved programs |
//! | `options` | groups of options of `run` that other subcommands share |
//! | `commands` | the subcommands, one file each |

// Only loading compiled modules and snapshots needs it.
#![deny(unsafe_code)]

mod commands;
mod errors;
mod files;
mod options;
mod terminal;
mod values;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser};

use crate::commands::Command;
use crate::commands::run::Run;

/// A WebAssembly engine built around stack switching.
///
/// `ropewalk FILE` is short for `ropewalk run FILE`.
///
/// Exit codes: 0 for success, 1 for an error in the input, 134 for a trap or a
/// timeout, 141 if the reader of the output is gone, otherwise the program's own.
#[derive(Parser)]
#[command(
    name = "ropewalk",
    version,
    override_usage = "ropewalk [run] [OPTIONS] <FILE> [ARGS]...\n       ropewalk <COMMAND>"
)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

fn main() -> ExitCode {
    match Cli::try_parse_from(arguments()) {
        Ok(cli) => cli.command.execute().unwrap_or_else(|error| errors::report(&error)),
        Err(error) => errors::usage(&error),
    }
}

/// Parses the command line of a run that was recorded or saved.
fn parse_run(arguments: Vec<OsString>) -> ropewalk::Result<Run> {
    match Cli::try_parse_from(arguments)?.command {
        Command::Run(command) => Ok(*command),
        _ => anyhow::bail!("the file does not contain a command line of `ropewalk run`"),
    }
}

/// The command line, with `run` inserted where it was left out.
fn arguments() -> Vec<OsString> {
    let mut arguments: Vec<OsString> = std::env::args_os().collect();
    let is_run = |first: &OsString| match first.to_str() {
        Some("help" | "-h" | "--help" | "-V" | "--version") => false,
        Some(name) => Cli::command().find_subcommand(name).is_none(),
        None => true,
    };
    if arguments.get(1).is_some_and(is_run) {
        arguments.insert(1, "run".into());
    }
    arguments
}
