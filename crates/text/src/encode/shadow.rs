//! Checks that kinds of different designs do not match each other.
//!
//! In the standard text the references of all designs are continuations, and the general types
//! among them match each other. So the module is lowered a second time, to a *shadow*, in which
//! each kind has types of its own sort: types of the bag of stacks are function types there. The
//! shadow also has types that are valid only if a condition holds, each with a message. It is never
//! run.
//!
//! The shadow accepts some programs that the standard text rejects, such as a stack used as a
//! `funcref`. Validation of the standard text finds those. If the standard text is invalid, only
//! the shadow's conditions are reported, since their messages are better.

use wasmparser::{Validator, WasmFeatures};

use crate::dialect::{Output, Rendered};
use crate::encode::{EncodedModule, lenient};
use crate::error::{Error, Result};
use crate::explain::Explained;

/// Checks the shadow of a module, given the binary of the standard text.
pub(super) fn check(shadow: &Rendered, binary: &[u8]) -> Result<()> {
    let Rendered { output: shadow, type_words } = shadow;
    let encoded = match EncodedModule::text(&shadow.text, lenient) {
        Ok(encoded) => encoded,
        Err(_) if validate(binary).is_err() => return Ok(()),
        Err(error) => return Err(in_source(shadow, error)),
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

/// The error at its offset in the source, with the message for that offset.
fn in_source(shadow: &Output, error: Error) -> Error {
    let note = shadow.map.note(error.offset).map(str::to_string);
    let message = note.unwrap_or(error.message);
    Error { offset: shadow.map.find(error.offset), message, invalid: true }
}

/// Like `in_source`, for a clause: its types, and the message for them.
fn in_clause(shadow: &Output, error: Error) -> Error {
    let message = match shadow.map.note(error.offset) {
        Some(note) => format!("{}: {note}", error.message),
        None => kinds_differ(error.message),
    };
    Error { offset: shadow.map.find(error.offset), message, invalid: true }
}

/// The message for a mismatch that only the shadow has.
fn kinds_differ(message: String) -> String {
    format!(
        "{message} (stack, task, fiber and continuation types are different kinds and never match \
         each other)"
    )
}
