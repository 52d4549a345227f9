//! The check that kinds do not match each other.
//!
//! In the standard text the references of all designs are continuations, and
//! the general ones among them match each other. So the module is written once
//! more, as a *shadow* in which each kind has types of its own sort: types of
//! the bag of stacks are function types there. The shadow also has types that
//! are valid only if a condition holds, with the message for the case that it
//! does not. Nobody ever runs it.
//!
//! What the shadow accepts too much, a stack as a `funcref`, the standard text
//! refuses. Whoever compiles the standard text finds what is wrong with that,
//! so of the shadow of a module that is not valid only those conditions count:
//! they say better what is wrong.

use wasmparser::{Validator, WasmFeatures};
use wast::Wat;
use wast::lexer::Lexer;
use wast::parser::{self, ParseBuffer};

use crate::dialect::lower::Output;
use crate::encode::EncodedModule;
use crate::error::{Error, Result};
use crate::explain::Explained;

use crate::dialect::Rendered;

/// Checks the shadow of a module.
pub(in crate::dialect) fn check(shadow: &Rendered, binary: &[u8]) -> Result<()> {
    let Rendered { output: shadow, type_words } = shadow;
    let encoded = match encode(&shadow.text) {
        Ok(encoded) => encoded,
        Err(_) if validate(binary).is_err() => return Ok(()),
        Err(fault) => return Err(in_source(shadow, fault)),
    };
    let Err(error) = validate(&encoded.binary) else { return Ok(()) };
    let explained = encoded.explain(error.offset() as usize, error.message());
    let Explained { message, clause } = explained;
    let offset = encoded.find_clause(&shadow.text, error.offset() as usize, clause);
    let offset = offset.unwrap_or(encoded.module);
    if shadow.map.note(offset).is_none() && validate(binary).is_err() {
        return Ok(());
    }
    let message = type_words.in_source(message, &encoded.binary);
    Err(match clause {
        Some(_) => in_clause(shadow, Error::invalid(offset, message)),
        None => in_source(shadow, Error::invalid(offset, kinds_differ(message))),
    })
}

fn validate(binary: &[u8]) -> Result<(), wasmparser::BinaryReaderError> {
    Validator::new_with_features(WasmFeatures::all()).validate_all(binary).map(drop)
}

fn encode(text: &str) -> Result<EncodedModule> {
    let mut lexer = Lexer::new(text);
    lexer.allow_confusing_unicode(true);
    let mut buffer = ParseBuffer::new_with_lexer(lexer)?;
    buffer.track_instr_spans(true);
    EncodedModule::wat(&mut parser::parse::<Wat>(&buffer)?, text)
}

/// The fault at its place in the source, with the message that was prepared
/// for that place.
fn in_source(shadow: &Output, fault: Error) -> Error {
    let note = shadow.map.note(fault.offset).map(str::to_string);
    let message = note.unwrap_or(fault.message);
    Error { offset: shadow.map.find(fault.offset), message, invalid: true }
}

/// As `in_source`, for a clause: its types, and what was prepared about them.
fn in_clause(shadow: &Output, fault: Error) -> Error {
    let message = match shadow.map.note(fault.offset) {
        Some(note) => format!("{}: {note}", fault.message),
        None => kinds_differ(fault.message),
    };
    Error { offset: shadow.map.find(fault.offset), message, invalid: true }
}

/// What a mismatch means that is only one in the shadow.
fn kinds_differ(message: String) -> String {
    format!(
        "{message} (stack, task, fiber and continuation types are different kinds, \
         and never match each other)"
    )
}
