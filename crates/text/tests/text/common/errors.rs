//! Checks the errors of sources.

use ropewalk_text::{Text, TextError};
use wasmparser::{Validator, WasmFeatures};

/// The features that lowered modules may use.
pub const SWITCHING: WasmFeatures = WasmFeatures::WASM3.union(WasmFeatures::STACK_SWITCHING);

/// Checks a table of malformed modules, see [`rows`].
#[track_caller]
pub fn malformed(head: &str, table: &str) {
    check_table(head, table, false);
}

/// Checks a table of invalid modules, see [`rows`].
#[track_caller]
pub fn invalid(head: &str, table: &str) {
    check_table(head, table, true);
}

#[track_caller]
fn check_table(head: &str, table: &str, is_invalid: bool) {
    for Row { source, position, message } in rows(head, table) {
        let error = error_at(&source, &position);
        assert_message(&error, message);
        assert_eq!(error.is_invalid(), is_invalid, "\n{error}");
    }
}

/// Checks that the error's message starts with `message`, or contains it if that is written
/// `..message`.
#[track_caller]
pub fn assert_message(error: &TextError, message: &str) {
    let matches = match message.strip_prefix("..") {
        Some(part) => error.message().contains(part),
        None => error.message().starts_with(message),
    };
    assert!(matches, "expected {message}\n{error}");
}

/// A source, the position of its error as `line:column`, and the expected message.
pub struct Row<'t> {
    pub source: String,
    pub position: String,
    pub message: &'t str,
}

/// The rows of a table. Each is written `source => message`, with a `^` at the position of the error.
/// A source may have several lines; `head` goes before it. Lines that start with `;;` are comments.
pub fn rows<'t>(head: &str, table: &'t str) -> Vec<Row<'t>> {
    let mut rows = Vec::new();
    let mut source = head.to_string();
    let is_row = |line: &&str| !line.is_empty() && !line.starts_with(";;");
    for line in table.lines().filter(is_row) {
        let Some((last, message)) = line.split_once("=>") else {
            source += &format!("{line}\n");
            continue;
        };
        source += last;
        let (before, after) = source.trim_end().split_once('^').expect("a mark");
        let line = 1 + before.matches('\n').count();
        let column = 1 + before.rsplit('\n').next().unwrap_or_default().chars().count();
        let (position, message) = (format!("{line}:{column}"), message.trim());
        rows.push(Row { source: format!("{before}{after}"), position, message });
        source = head.to_string();
    }
    assert_eq!(source, head, "a row without a message");
    rows
}

/// The error that reading or validating a source finds.
#[track_caller]
pub fn error(source: &str) -> TextError {
    let text = match Text::parse(source) {
        Ok(text) => text,
        Err(error) => return without_added_names(error),
    };
    let error = validate(&text, SWITCHING).err().unwrap_or_else(|| panic!("valid: {source}"));
    without_added_names(error)
}

/// Checks that an error mentions no name that only lowering or a validator uses.
#[track_caller]
fn without_added_names(error: TextError) -> TextError {
    let added =
        ["$type", "(id ", "(module ", ".func", ".type", ".env", ".call", ".box", "$stackref"];
    let found = added.iter().find(|word| error.message().contains(**word));
    assert_eq!(found, None, "\n{error}");
    error
}

#[track_caller]
pub fn error_at(source: &str, position: &str) -> TextError {
    let error = error(source);
    assert_eq!(error.position().unwrap().to_string(), position, "\n{error}");
    error
}

pub fn validate(text: &Text, features: WasmFeatures) -> Result<(), TextError> {
    let result = Validator::new_with_features(features).validate_all(text.binary());
    result.map(drop).map_err(|error| text.error_at(error.offset() as usize, error.message()))
}
