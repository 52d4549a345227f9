//! What is going on, in one line that is written over. Without a terminal each
//! message gets a line of its own.

use std::io::{IsTerminal as _, Write as _, stderr};

/// Where messages go.
pub(crate) struct Progress {
    terminal: bool,
}

impl Progress {
    pub(crate) fn new() -> Progress {
        Progress { terminal: stderr().is_terminal() }
    }

    /// Shows what is done now, and for which program.
    pub(crate) fn say(&self, subject: &str, what: &str) {
        let mut stderr = stderr().lock();
        // A terminal that has gone away is no reason to stop.
        let _ = if self.terminal {
            write!(stderr, "\r\x1b[K{subject}: {what}").and_then(|()| stderr.flush())
        } else {
            writeln!(stderr, "{subject}: {what}")
        };
    }

    /// Leaves the line empty.
    pub(crate) fn clear(&self) {
        if self.terminal {
            let _ = write!(stderr().lock(), "\r\x1b[K");
        }
    }
}
