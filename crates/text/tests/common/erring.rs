//! The errors of sources.

use ropewalk_text::{Text, TextError};
use wasmparser::{Validator, WasmFeatures};

/// What lowered modules may use.
pub const SWITCHING: WasmFeatures = WasmFeatures::WASM3.union(WasmFeatures::STACK_SWITCHING);

/// The error that reading or validating a source finds.
#[track_caller]
pub fn error(source: &str) -> TextError {
    let text = match Text::parse(source) {
        Ok(text) => text,
        Err(error) => return in_words_of_the_source(error),
    };
    let error = validate(&text, SWITCHING).err().unwrap_or_else(|| panic!("valid: {source}"));
    in_words_of_the_source(error)
}

/// The same error, which has no name in it that only lowering or a validator gave.
#[track_caller]
fn in_words_of_the_source(error: TextError) -> TextError {
    let foreign =
        ["$type", "(id ", "(module ", ".func", ".type", ".env", ".call", ".box", "$stackref"];
    let found = foreign.iter().find(|word| error.message().contains(**word));
    assert_eq!(found, None, "\n{error}");
    error
}

/// The same; it must be at this line and column.
#[track_caller]
pub fn error_at(source: &str, position: &str) -> TextError {
    let error = error(source);
    assert_eq!(error.position().unwrap().to_string(), position, "\n{error}");
    error
}

/// Validates a binary; an error is at its place in the source.
pub fn validate(text: &Text, features: WasmFeatures) -> Result<(), TextError> {
    let result = Validator::new_with_features(features).validate_all(text.binary());
    result.map(drop).map_err(|error| text.error_at(error.offset() as usize, error.message()))
}
