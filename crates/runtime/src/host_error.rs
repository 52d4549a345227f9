//! Errors of host functions.

use crate::backtrace::Backtrace;
use std::fmt;

/// An error that a host function returned: its message, and where WebAssembly was.
///
/// It stands before the error itself, which `downcast_ref` finds too. Since that finds only
/// what is among the causes, `{:#}` writes an error that has a type once more at the end.
pub struct HostError {
    message: String,
    backtrace: Backtrace,
}

impl HostError {
    /// An error of a host function, with where it was called.
    pub(crate) fn wrap(error: anyhow::Error, backtrace: Backtrace) -> anyhow::Error {
        let host_error = HostError { message: format!("{error:#}"), backtrace };
        match is_bare_message(&error) {
            true => host_error.into(),
            false => error.context(host_error),
        }
    }

    /// What the error says, with all its causes.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where the host function was called: the innermost frame first.
    pub fn backtrace(&self) -> &Backtrace {
        &self.backtrace
    }
}

/// Whether an error is nothing but a message, so that it need not be kept beside that.
/// Then it is written the same with and without its causes.
fn is_bare_message(error: &anyhow::Error) -> bool {
    error.chain().len() == 1 && (error.is::<&'static str>() || error.is::<String>())
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match self.backtrace.frames() {
            [] => Ok(()),
            _ => write!(f, "\n{}", self.backtrace),
        }
    }
}

impl fmt::Debug for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl std::error::Error for HostError {}
