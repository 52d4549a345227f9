//! Shows the progress of long compilations on a terminal.

use std::ffi::OsStr;
use std::io::{self, IsTerminal as _, Write as _};
use std::ops::ControlFlow;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use ropewalk::Progress;

use crate::terminal::escape;

/// Shorter compilations show no progress.
const DELAY: Duration = Duration::from_millis(500);
/// The time between two updates.
const INTERVAL: Duration = Duration::from_millis(100);

/// A line that shows the percentage, and is erased when it is dropped.
pub(crate) struct ProgressLine {
    /// The time of the next update; none if the standard error is not a terminal that can erase
    /// a line.
    next: Option<Mutex<Instant>>,
    name: String,
}

impl ProgressLine {
    pub(crate) fn new(name: &str) -> ProgressLine {
        let terminal = std::env::var_os("TERM");
        let is_seen = io::stderr().is_terminal() && can_erase(terminal.as_deref());
        let next = is_seen.then(|| Mutex::new(Instant::now() + DELAY));
        ProgressLine { next, name: escape::name(name).into_owned() }
    }

    /// Updates the line if it is due.
    pub(crate) fn show(&self, Progress { done, total }: Progress) -> ControlFlow<()> {
        // Another thread that holds the lock updates the line.
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

impl Drop for ProgressLine {
    fn drop(&mut self) {
        if self.next.is_some() {
            let _ = write!(io::stderr(), "\r\x1b[K");
        }
    }
}

/// Whether a terminal of this type can erase a line.
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
