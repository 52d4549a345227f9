//! The errors of sources.

use ropewalk_text::{Text, TextError};
use wasmparser::{Validator, WasmFeatures};

/// The error that reading or validating a source finds.
#[track_caller]
pub fn error(source: &str) -> TextError {
    let text = match Text::parse(source) {
        Ok(text) => text,
        Err(error) => return error,
    };
    let features = WasmFeatures::WASM3 | WasmFeatures::STACK_SWITCHING;
    let mut validator = Validator::new_with_features(features);
    let error = validator.validate_all(text.binary()).err();
    let error = error.unwrap_or_else(|| panic!("valid: {source}"));
    text.error_at(error.offset() as usize, error.message())
}
