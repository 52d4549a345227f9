//! Text of anybody, made plain before a terminal shows it.
//!
//! Names of a module, and whatever else messages repeat, come from whoever made the module.
//! Characters that would move the cursor, change a title or turn a line around are shown as
//! escapes, such as `\u{1b}`.

use std::borrow::Cow;

/// A text of several lines.
pub(crate) fn text(text: &str) -> Cow<'_, str> {
    escaped(text, |c| is_disturbing(c) && !matches!(c, '\n' | '\t'))
}

/// A name, which is no more than a part of a line.
pub(crate) fn name(name: &str) -> Cow<'_, str> {
    escaped(name, is_disturbing)
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

/// Whether a character is no letter of a line, but a command to whoever shows it: controls, marks
/// of direction, and ends of lines and paragraphs.
fn is_disturbing(c: char) -> bool {
    c.is_control()
        || matches!(c,
            '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_would_disturb_is_an_escape() {
        assert_eq!(text("\x1b[2J\x07\u{9b}1m"), "\\u{1b}[2J\\u{7}\\u{9b}1m");
        assert_eq!(text("a\u{202e}b\u{2066}"), "a\\u{202e}b\\u{2066}");
        assert_eq!(text("a\r\n\tb"), "a\\r\n\tb");
        assert_eq!(name("a\nb\t"), "a\\nb\\t");
    }

    #[test]
    fn all_else_stays_as_it_is() {
        for plain in ["", "error: no\n", "é 日本 \u{1f600}", "\\u{1b}"] {
            assert!(matches!(text(plain), Cow::Borrowed(same) if same == plain));
        }
    }
}
