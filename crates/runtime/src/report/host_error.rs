//! Errors of host functions.

use crate::embedder::text;
use crate::report::backtrace::Backtrace;
use std::fmt;

/// An error that a host function returned: its message, and where WebAssembly called the function.
///
/// It is the context of the original error, so `downcast_ref` finds both. `{:#}` therefore repeats
/// the message of an error with a type.
pub struct HostError {
    message: String,
    backtrace: Backtrace,
}

impl HostError {
    /// Wraps an error of a host function.
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

    /// The message, with all causes.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Where the host function was called, innermost frame first.
    pub fn backtrace(&self) -> &Backtrace {
        &self.backtrace
    }
}

/// The messages of an error, collected in one call of the embedder's code.
pub(crate) struct Described {
    message: String,
    /// The message alone.
    pub first: String,
    /// Whether the error is only a message.
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

/// Whether an error is only a message, without a type or causes, so that it need not be kept.
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
