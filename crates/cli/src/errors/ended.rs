//! Errors that end a run although the program did not fail.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

/// The error of a program that did not end in time.
#[derive(Debug)]
pub(crate) struct TimedOut(pub Duration);

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program did not end within {:?}", self.0)
    }
}

impl std::error::Error for TimedOut {}

/// The error that ends a program after its snapshot.
#[derive(Debug)]
pub(crate) enum Suspended {
    Saved(PathBuf),
    /// The recorded run ended here.
    Replayed,
}

impl fmt::Display for Suspended {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Suspended::Saved(path) => {
                let path = path.display();
                write!(f, "saved the program to {path}; `ropewalk resume {path}` continues it")
            }
            Suspended::Replayed => f.write_str("the recorded run took a snapshot here and ended"),
        }
    }
}

impl std::error::Error for Suspended {}
