//! The parts of a binary that messages mention: its sections, bodies, types and names.

mod sections;
mod types;

pub use sections::{cut_at, function_at};

pub(crate) use types::{Types, defined, identifier};
