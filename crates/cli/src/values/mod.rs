//! Values on the command line: parsing arguments, printing results.

pub(crate) mod parse;
pub(crate) mod print;
