//! The text format: positions and messages of errors, dialects, broken sources.

mod common;

mod dialects;
mod display;
mod operators;
mod robust;
mod script;
mod suite;
mod syntax;
mod validation;
