//! [`TextError`]: an error that shows the line of source.

use std::fmt;

use super::position::{Line, Position, lines};
use super::snippet::Snippet;
use crate::error::Error;

/// An error at a position of a source text.
///
/// It is printed with the line and a caret under the position:
///
/// ```
/// let error = ropewalk_text::Text::parse("(func\n  local.get $y)").unwrap_err();
/// assert_eq!(error.message(), "unknown local: failed to find name `$y`");
/// assert_eq!(
///     error.to_string(),
///     "\
/// unknown local: failed to find name `$y`
///   --> 2:13
///    |
///  2 |   local.get $y)
///    |             ^"
/// );
/// ```
#[derive(Debug, Clone)]
pub struct TextError {
    message: String,
    path: Option<String>,
    place: Option<Box<ErrorLine>>,
    invalid: bool,
}

/// The position of an error, and the lines that it shows.
#[derive(Debug, Clone)]
struct ErrorLine {
    position: Position,
    snippet: Snippet,
    around: LinesAround,
}

/// The lines before and after an error, unless they are blank.
#[derive(Debug, Clone, Default)]
struct LinesAround {
    before: Option<String>,
    after: Option<String>,
}

impl LinesAround {
    fn of(source: &str, line: usize) -> LinesAround {
        let shown = |line: &str| {
            (!line.trim().is_empty()).then(|| Snippet::new(line, 0).text.trim_end().to_owned())
        };
        let mut lines = lines(source).skip(line.saturating_sub(2));
        let before = if line > 1 { lines.next() } else { None };
        LinesAround { before: before.and_then(shown), after: lines.nth(1).and_then(shown) }
    }
}

impl TextError {
    pub(crate) fn new(source: &str, error: Error) -> TextError {
        let line = Line::of(source, error.offset);
        let place = ErrorLine {
            position: line.position(),
            snippet: Snippet::new(line.text, line.at),
            around: LinesAround::of(source, line.number),
        };
        let place = Some(Box::new(place));
        TextError { message: error.message, path: None, place, invalid: error.invalid }
    }

    /// An error about a source as a whole.
    pub(crate) fn whole(message: impl Into<String>) -> TextError {
        TextError { message: message.into(), path: None, place: None, invalid: false }
    }

    /// The message, without the position.
    pub fn message(&self) -> &str {
        &self.message
    }

    /// Whether the text is well-formed but the module is invalid: a type or a condition is wrong.
    /// Otherwise the text is malformed: it has unknown words or names.
    pub fn is_invalid(&self) -> bool {
        self.invalid
    }

    /// The position, unless the error concerns the text as a whole.
    pub fn position(&self) -> Option<Position> {
        self.place.as_ref().map(|place| place.position)
    }

    /// The file that has the error, if it is known.
    pub fn path(&self) -> Option<&str> {
        self.path.as_deref()
    }

    /// Adds the path of the file that has the error.
    ///
    /// ```
    /// let error = ropewalk_text::Text::parse("(modul)").unwrap_err().with_path("lib/sum.wat");
    /// assert!(error.to_string().contains("--> lib/sum.wat:1:2"));
    /// ```
    #[must_use]
    pub fn with_path(self, path: impl Into<String>) -> TextError {
        TextError { path: Some(path.into()), ..self }
    }
}

impl std::error::Error for TextError {}

/// The alternate form (`{:#}`) also shows the lines before and after the error.
impl fmt::Display for TextError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match (&self.place, &self.path) {
            (Some(place), Some(path)) => {
                write_line(f, place, format_args!("{path}:{}", place.position))
            }
            (Some(place), None) => write_line(f, place, format_args!("{}", place.position)),
            (None, Some(path)) => write!(f, "\n --> {path}"),
            (None, None) => Ok(()),
        }
    }
}

fn write_line(
    f: &mut fmt::Formatter<'_>,
    place: &ErrorLine,
    name: fmt::Arguments<'_>,
) -> fmt::Result {
    let ErrorLine { position, snippet, around } = place;
    let around = if f.alternate() { around } else { &LinesAround::default() };
    let number = position.line;
    let width = (number + usize::from(around.after.is_some())).to_string().len();
    let margin = " ".repeat(width + 1);
    let Snippet { text, caret } = snippet;
    write!(f, "\n{margin}--> {name}\n{margin} |")?;
    if let Some(before) = &around.before {
        write!(f, "\n {:>width$} | {before}", number - 1)?;
    }
    write!(f, "\n {number:>width$} | {text}")?;
    write!(f, "\n{margin} | {:caret$}^", "")?;
    match &around.after {
        Some(after) => write!(f, "\n {:>width$} | {after}", number + 1),
        None => Ok(()),
    }
}
