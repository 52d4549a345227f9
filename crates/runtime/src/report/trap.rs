//! Traps, as an embedder sees them.

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

    /// A trap that a host function raises; it has no frames of its own.
    pub fn from_code(code: TrapCode) -> Trap {
        Trap { code, detail: None, backtrace: Backtrace::default() }
    }

    /// Why.
    pub fn code(&self) -> TrapCode {
        self.code
    }

    /// What more is known: of an unhandled tag or an exception that nothing caught,
    /// which one it was, and its values; of a stack that is exhausted or was not made,
    /// and of an object for which there is no memory, which limit it was; of a stack that
    /// cannot be copied, why; of code that cannot be executed, which module it is of and what
    /// to do.
    pub fn detail(&self) -> Option<&str> {
        self.detail.as_deref()
    }

    /// Where: the innermost frame first.
    pub fn backtrace(&self) -> &Backtrace {
        &self.backtrace
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
