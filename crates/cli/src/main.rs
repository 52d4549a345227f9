//! The command `ropewalk`: runs, checks and lowers WebAssembly modules, and runs
//! scripts.
//!
//! | file | what it holds |
//! | --- | --- |
//! | `run` `replay` `resume` `compile` `validate` `lower` `wast` `trace` `completions` | the subcommands |
//! | `snapshots` `suspended` | when a program is written down, and what `resume` reads |
//! | `recording` | what `run --record` writes and `replay` reads |
//! | `imports` | what is said of imports that nobody provides |
//! | `argument` | arguments, from what the user typed to values |
//! | `literal` | results, from values to what the user reads |
//! | `input` | reading files |
//! | `names` | names of a binary that other tools do not know |
//! | `timeout` | programs that must end in time |
//! | `files` | writing files |
//! | `output` | printing to a reader who may have left |
//! | `progress` | telling how far a long compilation is |
//! | `profiling` | where a program spends its time |
//! | `tracing` | what the stacks of a program do |
//! | `post_mortem` | what is left of a program that failed: its stacks, a core dump |
//! | `diagnostic` | errors, and the exit codes that they mean |
//! | `colour` | how messages look on a terminal |
//! | `plain` | text of anybody, made plain before a terminal shows it |
//! | `marked` | errors of binaries, with the place as text |

// Only what runs compiled modules allows it.
#![deny(unsafe_code)]

mod argument;
mod colour;
mod compile;
mod completions;
mod diagnostic;
mod files;
mod help;
mod imports;
mod input;
mod literal;
mod lower;
mod marked;
mod names;
mod output;
mod plain;
mod post_mortem;
mod profiling;
mod progress;
mod recording;
mod replay;
mod resume;
mod run;
mod snapshots;
mod suspended;
mod timeout;
mod trace;
mod tracing;
mod validate;
mod wast;

use std::ffi::OsString;
use std::process::ExitCode;

use clap::{CommandFactory as _, Parser, Subcommand};

/// A WebAssembly engine built around stack switching.
///
/// `ropewalk FILE` runs a program, as `ropewalk run FILE` does.
///
/// Exit codes: 0 for success, 1 for an error in the input, 134 for a trap; of a
/// program that ends by itself, its own.
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

#[derive(Subcommand)]
enum Command {
    Run(Box<run::Run>),
    Replay(replay::Replay),
    Resume(resume::Resume),
    Compile(compile::Compile),
    Validate(validate::Validate),
    Lower(lower::Lower),
    Wast(wast::Wast),
    Trace(trace::Trace),
    Completions(completions::Completions),
}

fn main() -> ExitCode {
    let cli = match Cli::try_parse_from(arguments()) {
        Ok(cli) => cli,
        Err(error) => return diagnostic::usage(&error),
    };
    let outcome = match cli.command {
        Command::Run(command) => command.execute(),
        Command::Replay(command) => command.execute(),
        Command::Resume(command) => command.execute(),
        Command::Compile(command) => command.execute(),
        Command::Validate(command) => command.execute(),
        Command::Lower(command) => command.execute(),
        Command::Wast(command) => command.execute(),
        Command::Trace(command) => command.execute(),
        Command::Completions(command) => command.execute(),
    };
    outcome.unwrap_or_else(|error| diagnostic::report(&error))
}

/// The run that a command line asks for.
fn parse_run(arguments: Vec<OsString>) -> ropewalk::Result<run::Run> {
    match Cli::try_parse_from(arguments)?.command {
        Command::Run(command) => Ok(*command),
        _ => anyhow::bail!("the recording is not of a run"),
    }
}

/// The command line, in which `run` may be left out.
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
