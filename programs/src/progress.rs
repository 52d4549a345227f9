//! Shows progress in a line that is overwritten, or in separate lines without a terminal.

use std::io::{IsTerminal as _, Write as _, stderr};

/// The standard error, which may be a terminal.
pub(crate) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { terminal: stderr().is_terminal() }
    }

    /// Shows the current action and program.
    pub(crate) fn say(&self, subject: &str, what: &str) {
        let mut stderr = stderr().lock();
        // Errors of the terminal are ignored.
        let _ = if self.terminal {
            write!(stderr, "\r\x1b[K{subject}: {what}").and_then(|()| stderr.flush())
        } else {
            writeln!(stderr, "{subject}: {what}")
        };
    }

    /// Clears the line.
    pub(crate) fn clear(&self) {
        if self.terminal {
            let _ = write!(stderr().lock(), "\r\x1b[K");
        }
    }
}
