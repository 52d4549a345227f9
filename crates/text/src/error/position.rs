//! Lines and columns.

/// A position in a source text. Lines and columns start at 1. A column is a character, whatever its
/// width and its length in bytes.
///
/// ```
/// use ropewalk_text::{Position, Text};
///
/// let error = Text::parse("(module\n  (fun))").unwrap_err();
/// let position = error.position().unwrap();
/// assert_eq!(position, Position { line: 2, column: 4 });
/// assert_eq!(position.to_string(), "2:4");
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Position {
    /// The line; the first line is 1.
    pub line: usize,
    /// The character in the line; the first character is 1.
    pub column: usize,
}

impl std::fmt::Display for Position {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.line, self.column)
    }
}

/// A line of a source text, and an offset in it.
pub(crate) struct Line<'a> {
    pub number: usize,
    /// The text without the line ending.
    pub text: &'a str,
    /// The offset from the start of the line.
    pub at: usize,
}

impl<'a> Line<'a> {
    /// The line of `offset`. Errors at the end of the source are shown right after its last
    /// character that is not white space.
    pub fn of(source: &'a str, offset: usize) -> Line<'a> {
        let offset = source.floor_char_boundary(offset.min(source.trim_end().len()));
        let (number, start) = line_starts(source)
            .take_while(|&start| start <= offset)
            .fold((1, 0), |(number, _), start| (number + 1, start));
        let text = source[start..].split(['\n', '\r']).next().unwrap_or_default();
        Line { number, text, at: offset - start }
    }

    pub fn position(&self) -> Position {
        Position { line: self.number, column: self.text[..self.at].chars().count() + 1 }
    }
}

/// The lines of a source text, without line endings.
pub(crate) fn lines(source: &str) -> impl Iterator<Item = &str> {
    let starts = std::iter::once(0).chain(line_starts(source));
    starts.map(|start| source[start..].split(['\n', '\r']).next().unwrap_or_default())
}

/// The start of each line but the first. As in the specification, a line ends with LF, CR or both.
fn line_starts(source: &str) -> impl Iterator<Item = usize> {
    let bytes = source.as_bytes();
    let ends_line = |index: usize| match bytes[index] {
        b'\n' => true,
        b'\r' => bytes.get(index + 1) != Some(&b'\n'),
        _ => false,
    };
    (0..bytes.len()).filter(move |&index| ends_line(index)).map(|index| index + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(source: &str, offset: usize, line: usize, column: usize, text: &str) {
        let found = Line::of(source, offset);
        assert_eq!(found.position(), Position { line, column });
        assert_eq!(found.text, text);
    }

    #[test]
    fn lines_end_with_lf_cr_or_both() {
        check("a\nbc\rd\r\nef", 0, 1, 1, "a");
        check("a\nbc\rd\r\nef", 3, 2, 2, "bc");
        check("a\nbc\rd\r\nef", 5, 3, 1, "d");
        check("a\nbc\rd\r\nef", 9, 4, 2, "ef");
    }

    #[test]
    fn columns_are_characters() {
        check("\té漢x", 6, 1, 4, "\té漢x");
        check("\té漢x", 4, 1, 3, "\té漢x");
    }

    #[test]
    fn the_end_is_after_the_last_character() {
        check("", 0, 1, 1, "");
        check(" \n ", 3, 1, 1, " ");
        check("ab\n(cd\n\n  ", 10, 2, 4, "(cd");
        check("ab", 99, 1, 3, "ab");
    }
}
