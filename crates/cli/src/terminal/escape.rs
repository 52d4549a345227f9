//! Escapes untrusted text for terminals.
//!
//! Messages contain names from the module, which may be hostile. Characters that would move the
//! cursor, change the title or reverse a line are shown as escapes, such as `\u{1b}`.

use std::borrow::Cow;

/// Escapes text that may have several lines.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_unsafe(c) && !matches!(c, '\n' | '\t'))
}

/// Escapes a name within a line.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    escaped(name, is_unsafe)
}

fn escaped(text: &str, escapes: impl Fn(char) -> bool) -> Cow<'_, str> {
    if !text.contains(&escapes) {
        return text.into();
    }
    let mut plain = String::new();
    for c in text.chars() {
        match c {
            '\n' | '\r' | '\t' if escapes(c) => plain.extend(c.escape_default()),
            _ if escapes(c) => plain.extend(c.escape_unicode()),
            _ => plain.push(c),
        }
    }
    plain.into()
}

/// Whether a character is a control, a direction mark, or a line or paragraph separator.
fn is_unsafe(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn control_characters_are_escaped() {
        assert_eq!(text("\x1b[2J\x07\u{9b}1m"), "\\u{1b}[2J\\u{7}\\u{9b}1m");
        assert_eq!(text("a\u{202e}b\u{2066}"), "a\\u{202e}b\\u{2066}");
        assert_eq!(text("a\r\n\tb"), "a\\r\n\tb");
        assert_eq!(name("a\nb\t"), "a\\nb\\t");
    }

    #[test]
    fn other_characters_are_not_changed() {
        for plain in ["", "error: no\n", "é 日本 \u{1f600}", "\\u{1b}"] {
            assert!(matches!(text(plain), Cow::Borrowed(same) if same == plain));
        }
    }
}
