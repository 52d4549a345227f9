//! Traps as the embedder sees them.

use crate::report::backtrace::Backtrace;
use ropewalk_abi::TrapCode;
use std::fmt;

/// A trap: why a computation ended, and where.
#[derive(Debug)]
pub struct Trap {
    code: TrapCode,
    detail: Option<String>,
    backtrace: Backtrace,
}

impl Trap {
    pub(crate) fn new(code: TrapCode, detail: Option<String>, backtrace: Backtrace) -> Trap {
        Trap { code, detail, backtrace }
    }

    /// A trap for a host function to raise, without frames.
    pub fn from_code(code: TrapCode) -> Trap {
        Trap { code, detail: None, backtrace: Backtrace::default() }
    }

    /// The reason.
    pub fn code(&self) -> TrapCode {
        self.code
    }

    /// Details: the tag and the values of an unhandled tag or exception, the limit that was
    /// reached, why a stack cannot be copied, or which module contains damaged code and what to do.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Where it happened, innermost frame first.
    pub fn backtrace(&self) -> &Backtrace {
        &self.backtrace
    }
}

/// A trap on a first-class stack, as the host value that the ground of the stack gets.
#[derive(Debug)]
pub struct StackTrap(Option<anyhow::Error>);

impl StackTrap {
    pub(crate) fn new(error: anyhow::Error) -> StackTrap {
        StackTrap(Some(error))
    }

    /// The error that ends the activation if the ground returns. `None` if it has ended one.
    pub fn error(&self) -> Option<&anyhow::Error> {
        self.0.as_ref()
    }

    pub(crate) fn take(&mut self) -> Option<anyhow::Error> {
        self.0.take()
    }
}

impl fmt::Display for Trap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "wasm trap: {}", self.code)?;
        if let Some(detail) = &self.detail {
            write!(f, ": {detail}")?;
        }
        if self.backtrace.frames().is_empty() {
            return Ok(());
        }
        write!(f, "\n{}", self.backtrace)
    }
}

impl std::error::Error for Trap {}
