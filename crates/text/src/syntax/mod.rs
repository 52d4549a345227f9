//! Checks and positions that the parser of the text format does not have.

pub(crate) mod field_parts;
pub(crate) mod grammar;
mod string_literals;

pub(crate) use string_literals::Literals;
