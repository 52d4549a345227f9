//! Telling on a terminal how far a long compilation is.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ropewalk::Progress;

use crate::plain;

/// Nothing is told of what takes less time.
const PATIENCE: Duration = Duration::from_millis(500);
/// How long a line stands until it is written again.
const INTERVAL: Duration = Duration::from_millis(100);

/// A line of the terminal that says how far a compilation is, and is erased in the end.
pub(crate) struct Line {
    /// When the next line is due; never where nobody looks, or where no line can be erased.
    next: Option<Mutex<Instant>>,
    name: String,
}

impl Line {
    pub(crate) fn new(name: &str) -> Line {
        let terminal = std::env::var_os("TERM");
        let is_seen = io::stderr().is_terminal() && can_erase(terminal.as_deref());
        let next = is_seen.then(|| Mutex::new(Instant::now() + PATIENCE));
        Line { next, name: plain::name(name).into_owned() }
    }

    /// Writes the line anew, if it is time.
    pub(crate) fn show(&self, Progress { done, total }: Progress) -> ControlFlow<()> {
        // Whoever cannot have the lock leaves it to the one who has.
        if let Some(Ok(mut next)) = self.next.as_ref().map(Mutex::try_lock)
            && Instant::now() >= *next
        {
            *next = Instant::now() + INTERVAL;
            let percent = 100 * done as u64 / total.max(1) as u64;
            let _ = write!(io::stderr(), "\r\x1b[Kcompiling {}: {percent} %", self.name);
        }
        ControlFlow::Continue(())
    }
}

impl Drop for Line {
    fn drop(&mut self) {
        if self.next.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Whether a terminal of this kind knows how to erase a line.
fn can_erase(terminal: Option<&OsStr>) -> bool {
    terminal.is_some_and(|terminal| terminal != "dumb")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dumb_terminal_erases_no_lines() {
        assert!(can_erase(Some(OsStr::new("xterm"))));
        assert!(!can_erase(Some(OsStr::new("dumb"))));
        assert!(!can_erase(None));
    }
}
