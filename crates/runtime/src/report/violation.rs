//! Inconsistent records of stacks.

/// An inconsistency, which is a bug of the engine.
#[derive(Debug)]
pub(crate) struct Violation(pub String);

impl Violation {
    pub fn new(what: impl Into<String>) -> Violation {
        Violation(what.into())
    }
}

impl std::fmt::Display for Violation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            f,
            "the records of the stacks do not agree, which is a bug of the engine: {}",
            self.0
        )
    }
}

impl std::error::Error for Violation {}
