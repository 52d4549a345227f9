//! Inconsistent records of stacks.

/// An inconsistency, which is a bug in the engine.
#[derive(Debug, thiserror::Error)]
#[error("the records of the stacks are inconsistent, which is a bug in the engine: {0}")]
pub(crate) struct Violation(pub String);
