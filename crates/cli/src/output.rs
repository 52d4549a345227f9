//! Printing to a reader who may have left.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;
use ropewalk::Result;

/// Prints a line. A pipe that nobody reads any more is not an error: whoever
/// read it has seen enough.
pub(crate) fn line(text: impl Display) -> Result<()> {
    let mut stdout = io::stdout().lock();
    match writeln!(stdout, "{text}").and_then(|()| stdout.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to the standard output")
        }
        _ => Ok(()),
    }
}
