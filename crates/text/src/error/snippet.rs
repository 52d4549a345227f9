//! The part of a line that an error shows.

use unicode_width::UnicodeWidthChar;

/// The number of columns of a line that are shown at most, and how many of them follow the caret if
/// the line is long on both sides.
const SHOWN: usize = 100;
const SHOWN_AFTER: usize = 40;

/// Marks an omitted part of a line.
const CUT: &str = "...";

/// A printed line, and the number of columns before the caret.
#[derive(Debug, Clone)]
pub(crate) struct Snippet {
    pub text: String,
    pub caret: usize,
}

impl Snippet {
    /// The part of `line` around the byte `at`.
    pub fn new(line: &str, at: usize) -> Snippet {
        let (left, right) = line.split_at(at);
        let after = Cut::new(right.chars(), SHOWN_AFTER).columns;
        let left = Cut::new(left.chars().rev(), SHOWN - after);
        let right = Cut::new(right.chars(), SHOWN - left.columns);
        let start = if left.is_cut { CUT } else { "" };
        let end = if right.is_cut { CUT } else { "" };
        let before: String = left.shown.chars().rev().collect();
        Snippet {
            text: format!("{start}{before}{}{end}", right.shown),
            caret: start.len() + left.columns,
        }
    }
}

struct Cut {
    shown: String,
    columns: usize,
    is_cut: bool,
}

impl Cut {
    fn new(text: impl Iterator<Item = char>, limit: usize) -> Cut {
        let mut cut = Cut { shown: String::new(), columns: 0, is_cut: false };
        for c in text.flat_map(printable) {
            if cut.columns + columns(c) > limit {
                cut.is_cut = true;
                break;
            }
            cut.columns += columns(c);
            cut.shown.push(c);
        }
        cut
    }
}

/// The number of columns that a terminal gives to a printed character.
fn columns(c: char) -> usize {
    c.width().unwrap_or(0)
}

/// The characters that are printed for a character: four spaces for a tab, and a replacement for
/// characters that would change how the rest of the line looks.
fn printable(c: char) -> impl Iterator<Item = char> {
    let (c, times) = match c {
        '\t' => (' ', 4),
        '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => {
            ('\u{fffd}', 1)
        }
        _ if c.is_control() => ('\u{fffd}', 1),
        _ => (c, 1),
    };
    std::iter::repeat_n(c, times)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the snippet at the `^` in `line`, which is removed first.
    #[track_caller]
    fn check(line: &str, text: &str, caret: usize) {
        let at = line.find('^').unwrap();
        let snippet = Snippet::new(&line.replace('^', ""), at);
        assert_eq!((snippet.text.as_str(), snippet.caret), (text, caret));
    }

    #[test]
    fn tabs_and_wide_characters_keep_the_caret_in_place() {
        check("\tnop ^x", "    nop x", 8);
        check("(;漢字;) ^x", "(;漢字;) x", 9);
        check("(;e\u{301};) ^x", "(;e\u{301};) x", 6);
        check("(;😀;) ^x", "(;😀;) x", 7);
        check("(;한글;) ^x", "(;한글;) x", 9);
        check("(;Ａ１;) ^x", "(;Ａ１;) x", 9);
        check("(;שָׁ;) ^x", "(;שָׁ;) x", 6);
        check("(;a\u{200b}\u{feff};) ^x", "(;a\u{200b}\u{feff};) x", 6);
        check("(;é→Ω;) ^x", "(;é→Ω;) x", 8);
    }

    #[test]
    fn nothing_in_a_line_disturbs_the_terminal() {
        check("\u{202e}\u{1b}[^x", "\u{fffd}\u{fffd}[x", 3);
    }

    #[test]
    fn long_lines_are_cut_around_the_caret() {
        let (a, b) = ("a".repeat(1000), "b".repeat(1000));
        let (shown_a, shown_b) = ("a".repeat(60), "b".repeat(40));
        check(&format!("{a}^{b}"), &format!("...{shown_a}{shown_b}..."), 63);
        check(&format!("{a}^"), &format!("...{}", "a".repeat(100)), 103);
        check(&format!("{}^bb", &a[..98]), &format!("{}bb", &a[..98]), 98);
        check(&format!("^{b}"), &format!("{}...", "b".repeat(100)), 0);
    }
}
