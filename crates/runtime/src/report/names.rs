//! Names of modules and functions in messages, shortened and escaped.

use std::borrow::Cow;

/// How many characters of a name are shown. A module may have names of megabytes.
const LONGEST_NAME: usize = 1000;

/// A name, truncated if it is very long.
pub(crate) fn shortened(name: &str) -> Cow<'_, str> {
    match name.char_indices().nth(LONGEST_NAME) {
        Some((end, _)) => format!("{}...", &name[..end]).into(),
        None => name.into(),
    }
}

/// A [shortened] name for a single line: control characters and line breaks are escaped.
pub(crate) fn in_line(name: &str) -> Cow<'_, str> {
    let ends_line = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    let name = shortened(name);
    if !name.contains(ends_line) {
        return name;
    }
    let mut plain = String::new();
    for c in name.chars() {
        match ends_line(c) {
            true => plain.extend(c.escape_default()),
            false => plain.push(c),
        }
    }
    plain.into()
}
