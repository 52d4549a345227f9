//! Printing to a reader who may have left.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;
use ropewalk::Result;

use crate::plain;

/// Prints a line, or several, without anything that would disturb a terminal.
pub(crate) fn line(text: impl Display) -> Result<()> {
    print(format_args!("{}\n", plain::text(&text.to_string())))
}

/// Prints a text as it is, the last line of which ends like the others.
pub(crate) fn text(text: &str) -> Result<()> {
    match text.ends_with('\n') {
        true => print(text),
        false => print(format_args!("{text}\n")),
    }
}

/// Prints something. A pipe that nobody reads any more is not an error: whoever
/// read it has seen enough.
fn print(text: impl Display) -> Result<()> {
    printed(write!(io::stdout(), "{text}"))
}

/// The same for what was written to the standard output, which may keep some of it.
pub(crate) fn printed(written: io::Result<()>) -> Result<()> {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to the standard output")
        }
        _ => Ok(()),
    }
}
