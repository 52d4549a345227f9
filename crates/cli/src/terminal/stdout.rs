//! Prints to the standard output; a broken pipe is not an error.

use std::fmt::Display;
use std::io::{self, ErrorKind, Write};

use anyhow::Context;
use ropewalk::Result;

use crate::terminal::escape;

/// Prints one or more lines, with control characters escaped.
pub(crate) fn line(text: impl Display) -> Result<()> {
    print(format_args!("{}\n", escape::text(&text.to_string())))
}

/// Prints text unchanged, and a line feed if it does not end with one.
pub(crate) fn text(text: &str) -> Result<()> {
    match text.ends_with('\n') {
        true => print(text),
        false => print(format_args!("{text}\n")),
    }
}

fn print(text: impl Display) -> Result<()> {
    flush(write!(io::stdout(), "{text}"))
}

/// Flushes the standard output after a write. Ignores a broken pipe, since its reader has seen
/// enough.
pub(crate) fn flush(written: io::Result<()>) -> Result<()> {
    match written.and_then(|()| io::stdout().flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            Err(error).context("cannot write to the standard output")
        }
        _ => Ok(()),
    }
}
