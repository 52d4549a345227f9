//! Error messages and exit codes.
//!
//! | module | contents |
//! | --- | --- |
//! | `ended` | errors that end a run although the program did not fail |
//! | `hints` | what the user can do about an error |
//! | `missing_imports` | lists of missing imports |
//! | `binary_listing` | instructions around an error in a binary |

pub(crate) mod binary_listing;
pub(crate) mod ended;
mod hints;
pub(crate) mod missing_imports;

use std::process::ExitCode;

use ropewalk::{Error, HostError, ModuleError, Trap};
use ropewalk_wasi::{BrokenPipe, I32Exit};

use crate::terminal::{color, stdout};
use ended::{Suspended, TimedOut};

/// An error in the input: a file, a module, its imports, or an argument.
pub(crate) const INPUT_ERROR: u8 = 1;
/// A trap or a timeout. It is the code of a process that aborts.
const TRAP: u8 = 134;
/// The reader of the output is gone. It is the code of a process that SIGPIPE ends.
const BROKEN_PIPE: u8 = 141;

/// Prints an error; returns the exit code. A program that exits by itself is not an error.
pub(crate) fn report(error: &Error) -> ExitCode {
    if let Some(I32Exit(code)) = error.downcast_ref() {
        // A process has only eight bits for its exit code.
        return ExitCode::from(*code as u8);
    }
    if error.is::<BrokenPipe>() {
        return ExitCode::from(BROKEN_PIPE);
    }
    if let Some(suspended) = error.downcast_ref::<Suspended>() {
        color::print(&format!("note: {suspended}"));
        return ExitCode::SUCCESS;
    }
    print(error);
    let ended = error.is::<Trap>() || error.is::<TimedOut>();
    ExitCode::from(if ended { TRAP } else { INPUT_ERROR })
}

/// Prints an error and a hint.
pub(crate) fn print(error: &Error) {
    let message = message(error);
    color::print(&format!("error: {}", hints::name_options(&message)));
    if let Some(hint) = hints::of(error, &message) {
        color::print(&format!("help: {hint}"));
    }
}

fn message(error: &Error) -> String {
    if let Some(error) = error.downcast_ref::<HostError>() {
        return error.to_string();
    }
    match error.downcast_ref::<ModuleError>() {
        // The alternate form contains the source lines around the error.
        Some(module) if error.chain().len() == 1 => format!("{module:#}"),
        _ => format!("{error:#}"),
    }
}

/// Prints an error in the command line, or the help that it asks for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        let _ = error.print();
        return ExitCode::from(INPUT_ERROR);
    }
    match stdout::flush(error.print()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}
