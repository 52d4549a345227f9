//! Lowers modules, and checks that the result is standard.

use super::errors::{SWITCHING, validate};
use ropewalk_text::Text;

/// Lowers a module, checks that the result is valid and survives printing and parsing, and returns
/// it.
#[track_caller]
pub fn lower(source: &str) -> String {
    let text = Text::parse(source).unwrap_or_else(|error| panic!("{error}"));
    let lowered = text.lowered().expect("a dialect module").to_string();
    validate(&text, SWITCHING).unwrap_or_else(|error| panic!("{error}\n{lowered}"));
    let printed = wasmprinter::print_bytes(text.binary()).unwrap();
    assert_eq!(Text::parse(&printed).unwrap().lowered(), None);
    lowered
}

/// Lowers a module that starts with `head`, and returns its lowered last field.
#[track_caller]
pub fn field_of(head: &str, source: &str) -> String {
    let lowered = lower(&format!("(module {head}\n  ;; here\n  {source}\n  ;; there\n)"));
    let (_, after) = lowered.split_once(";; here").unwrap();
    after.split_once(";; there").unwrap().0.trim().to_string()
}

/// Checks a table of fields. A row is a source, and `=>` with its lowering. Without a lowering, the
/// source must be valid. Lines that continue one of them are indented, and are joined by spaces.
/// Lines that start with `;;` are comments.
#[track_caller]
pub fn check_table(head: &str, table: &str) {
    let lines = table.replace("\n  ", " ");
    let mut rows = lines.lines().filter(|line| !line.is_empty() && !line.starts_with(";;"));
    let mut next = rows.next();
    while let Some(source) = next {
        let lowered = field_of(head, source);
        next = rows.next();
        if let Some(expected) = next.and_then(|row| row.strip_prefix("=> ")) {
            assert_eq!(lowered, expected, "{source}");
            next = rows.next();
        }
    }
}
