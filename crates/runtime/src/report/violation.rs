//! Inconsistent records of stacks.

/// An inconsistency, which is a bug of the engine.
#[derive(Debug, thiserror::Error)]
#[error("the records of the stacks do not agree, which is a bug of the engine: {0}")]
pub(crate) struct Violation(pub String);
