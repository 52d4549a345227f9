//! Lowers modules, and checks that what comes out is standard.

use super::errors::{SWITCHING, validate};
use ropewalk_text::Text;

/// Lowers a module, checks that it is valid and can be printed and read, and
/// returns its standard text.
#[track_caller]
pub fn lower(source: &str) -> String {
    let text = Text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let lowered = text.lowered().expect("a dialect module").to_string();
    validate(&text, SWITCHING).unwrap_or_else(|error| panic!("{error}\n{lowered}"));
    let printed = wasmprinter::print_bytes(text.binary()).unwrap();
    assert_eq!(Text::parse(&printed).unwrap().lowered(), None);
    lowered
}

/// Lowers a module with a head, and returns what its last field became.
#[track_caller]
pub fn field_of(head: &str, source: &str) -> String {
    let lowered = lower(&format!("(module {head}\n  ;; here\n  {source}\n  ;; there\n)"));
    let (_, after) = lowered.split_once(";; here").unwrap();
    after.split_once(";; there").unwrap().0.trim().to_string()
}
