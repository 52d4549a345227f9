//! Errors, and the exit codes that they mean.

use std::process::ExitCode;

use ropewalk::{Error, HostError, ModuleError, Trap};
use ropewalk_wasi::{BrokenPipe, I32Exit};

use crate::colour;
use crate::help;
use crate::output;
use crate::snapshots::Asleep;
use crate::timeout::TimedOut;

/// The input is at fault: a file, a module, its imports, or an argument.
pub(crate) const INPUT_ERROR: u8 = 1;
/// The program trapped, or did not end in time. A process that aborts ends with the same code.
pub(crate) const TRAP: u8 = 134;
/// Nobody reads what the program writes. A process that the signal for it ends has
/// the same code.
const BROKEN_PIPE: u8 = 141;

/// Prints an error, and says how the process ends for it. That a program ends by
/// itself is none.
pub(crate) fn report(error: &Error) -> ExitCode {
    if let Some(I32Exit(code)) = error.downcast_ref() {
        // The host has no more than these bits.
        return ExitCode::from(*code as u8);
    }
    if error.is::<BrokenPipe>() {
        return ExitCode::from(BROKEN_PIPE);
    }
    if let Some(asleep) = error.downcast_ref::<Asleep>() {
        colour::print(&format!("note: {asleep}"));
        return ExitCode::SUCCESS;
    }
    print(error);
    let ended = error.is::<Trap>() || error.is::<TimedOut>();
    ExitCode::from(if ended { TRAP } else { INPUT_ERROR })
}

/// Prints an error, and what may help.
pub(crate) fn print(error: &Error) {
    colour::print(&format!("error: {}", message(error)));
    if let Some(help) = help::of(error) {
        colour::print(&format!("help: {help}"));
    }
}

fn message(error: &Error) -> String {
    if let Some(error) = error.downcast_ref::<HostError>() {
        return error.to_string();
    }
    match error.downcast_ref::<ModuleError>() {
        // With the lines around the place.
        Some(module) if error.chain().len() == 1 => format!("{module:#}"),
        _ => format!("{error:#}"),
    }
}

/// Prints what is wrong with the command line, or the help that it asks for.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    if error.use_stderr() {
        let _ = error.print();
        return ExitCode::from(INPUT_ERROR);
    }
    match output::printed(error.print()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => report(&error),
    }
}
