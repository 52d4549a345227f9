//! Errors of host functions.

use crate::embedder::text;
use crate::report::backtrace::Backtrace;
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
    /// An error of a host function, with what it says and where it was called.
    pub(crate) fn wrap(
        error: anyhow::Error,
        described: Described,
        backtrace: Backtrace,
    ) -> anyhow::Error {
        let host_error = HostError { message: described.message, backtrace };
        match described.is_bare {
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

/// What an error says. All of it is asked of the embedder at once.
pub(crate) struct Described {
    /// The message with all its causes.
    message: String,
    /// The message alone.
    pub first: String,
    /// Whether the error is nothing but that.
    is_bare: bool,
}

impl Described {
    /// Calls code of the embedder.
    pub fn of(error: &anyhow::Error) -> Described {
        let is_bare = is_bare_message(error);
        let (message, first) = (text(format_args!("{error:#}")), text(format_args!("{error}")));
        Described { message, first, is_bare }
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
