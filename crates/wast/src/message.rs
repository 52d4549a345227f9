//! Compares errors with those that a script expects.

use std::fmt;

use anyhow::{anyhow, bail};
use ropewalk::{Error, HostError, Instance, LinkError, ModuleError, Result, Trap, Val};
use ropewalk_text::TextError;

/// Whether the message of a trap matches the message in a script, which may be shorter
/// ("uninitialized") or longer ("uninitialized element 2").
fn is_trap(expected: &str, found: &str) -> bool {
    found.starts_with(expected) || expected.starts_with(found)
}

/// Why a module was rejected.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Rejection {
    Malformed,
    Invalid,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Rejection::Malformed => "a malformed",
            Rejection::Invalid => "an invalid",
        })
    }
}

/// Why a module was rejected, or `None` for other errors. Errors found after parsing mean that the
/// module is invalid.
pub(crate) fn rejection(error: &Error) -> Option<Rejection> {
    match error.downcast_ref::<TextError>() {
        Some(text) if !text.is_invalid() => Some(Rejection::Malformed),
        Some(_) => Some(Rejection::Invalid),
        None => error.is::<ModuleError>().then_some(Rejection::Invalid),
    }
}

/// Describes an unexpected error.
pub(crate) fn found(error: &Error) -> String {
    let prefix = if kind(error).is_some() { "" } else { "error: " };
    format!("found {prefix}{}", describe(error))
}

/// Describes an error with its source or its frames.
pub(crate) fn describe(error: &Error) -> String {
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return trap.to_string().replacen("wasm trap", "trap", 1);
    }
    let text = match error.downcast_ref::<HostError>() {
        Some(error) => error.to_string(),
        None => format!("{error:#}"),
    };
    kind(error).map_or_else(|| text.clone(), |kind| format!("{kind}: {text}"))
}

/// The kind of an error, if scripts know it.
fn kind(error: &Error) -> Option<&'static str> {
    if error.is::<Trap>() {
        Some("trap")
    } else if error.is::<LinkError>() {
        Some("link error")
    } else if rejection(error).is_some() {
        Some("invalid module")
    } else {
        None
    }
}

/// Fails unless linking failed.
pub(crate) fn expect_unlinkable(outcome: Result<Instance>, message: &str) -> Result<()> {
    match outcome {
        Ok(_) => bail!("expected link error: {message}, found an instance"),
        Err(error) if error.is::<LinkError>() => Ok(()),
        Err(error) => bail!("expected link error: {message}, {}", found(&error)),
    }
}

/// Fails unless the outcome is a trap with the message.
pub(crate) fn expect_trap(outcome: Result<Vec<Val>>, message: &str) -> Result<()> {
    let Err(error) = outcome else {
        bail!("expected trap: {message}, found a return");
    };
    match error.downcast_ref::<Trap>() {
        Some(trap) if is_trap(message, trap.code().message()) => Ok(()),
        _ => Err(anyhow!("expected trap: {message}, {}", found(&error))),
    }
}
