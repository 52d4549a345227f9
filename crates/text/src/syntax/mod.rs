//! What the parser of the text format leaves out.

pub(crate) mod field_parts;
pub(crate) mod grammar;
mod string_literals;

pub(crate) use string_literals::Literals;
