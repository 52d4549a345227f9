//! Whether an error is the one that a script expects.

use ropewalk::{Error, LinkError, ModuleError, Trap};
use ropewalk_text::TextError;

/// Whether a trap that we call `found` is the one that a script calls
/// `expected`. Scripts may say less ("uninitialized") or more
/// ("uninitialized element 2").
pub(crate) fn is_trap(expected: &str, found: &str) -> bool {
    found.starts_with(expected) || expected.starts_with(found)
}

/// Whether the error says that a module is malformed or invalid.
pub(crate) fn is_rejection(error: &Error) -> bool {
    error.is::<ModuleError>() || error.is::<TextError>()
}

/// The error in one line, as what a script did not expect.
pub(crate) fn found(error: &Error) -> String {
    let prefix = if kind(error).is_some() { "" } else { "error: " };
    format!("found {prefix}{}", describe(error))
}

/// The error in one line.
pub(crate) fn describe(error: &Error) -> String {
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return format!("trap: {}", trap.code().message());
    }
    let text = format!("{error:#}");
    let line = text.lines().next().unwrap_or_default();
    kind(error).map_or_else(|| line.to_owned(), |kind| format!("{kind}: {line}"))
}

/// The kind of an error, if it is one of those that scripts know.
fn kind(error: &Error) -> Option<&'static str> {
    if error.is::<Trap>() {
        Some("trap")
    } else if error.is::<LinkError>() {
        Some("link error")
    } else if is_rejection(error) {
        Some("invalid module")
    } else {
        None
    }
}
