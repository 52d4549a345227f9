//! Adds a listing of the instructions around an error to the errors of binaries.

use std::{fmt, io};

use ropewalk::{Error, ModuleError};
use wasmprinter::{Config, Print};

/// How many lines are shown before and after the error.
const BEFORE: usize = 3;
const AFTER: usize = 1;

/// How many bytes are shown where the binary cannot be printed.
const MAX_BYTES: usize = 8;

/// An error with a listing.
#[derive(Debug)]
struct ListedError {
    error: ModuleError,
    lines: String,
}

impl fmt::Display for ListedError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.error, self.lines)
    }
}

impl std::error::Error for ListedError {}

/// Adds a listing to the error of a module, if it is a binary and can be printed in part.
pub(crate) fn add(binary: &[u8], error: Error) -> Error {
    match error.downcast::<ModuleError>() {
        Ok(error) => match error.offset().and_then(|offset| Listing::of(binary, offset)) {
            Some(listing) => ListedError { error, lines: listing.around() }.into(),
            None => error.into(),
        },
        Err(error) => error,
    }
}

/// All lines of a binary up to the error, which is marked.
pub(crate) fn up_to_error(binary: &[u8], error: &Error) -> Option<String> {
    let offset = error.downcast_ref::<ModuleError>()?.offset()?;
    Some(Listing::of(binary, offset)?.up_to_error())
}

/// A binary as text, as far as it can be printed.
struct Listing {
    lines: Vec<Line>,
    /// The index of the line with the error.
    error: usize,
}

struct Line {
    /// The offset in the binary.
    offset: Option<u64>,
    text: String,
}

impl Listing {
    /// Lists a binary with an error at an offset. Returns nothing if no line can be printed.
    fn of(binary: &[u8], offset: usize) -> Option<Listing> {
        let (mut lines, is_whole) = print(binary);
        if !is_whole {
            // The printer prints nothing if a section header is malformed. Cutting the binary
            // at the error may give more lines.
            let (cut, _) = print(&ropewalk_text::cut_at(binary, offset));
            if cut.len() > lines.len() {
                lines = cut;
            }
        }
        let is_before = |line: &Line| line.offset.is_some_and(|at| at <= offset as u64);
        let mut error = lines.iter().rposition(is_before)?;
        if !is_whole && lines[error].offset < Some(offset as u64) {
            // The error and what follows cannot be printed.
            lines.truncate(error + 1);
            lines.push(bytes_at(binary, offset, &lines[error].text));
            error += 1;
        }
        Some(Listing { lines, error })
    }

    /// The lines around the error.
    fn around(&self) -> String {
        let end = self.lines.len().min(self.error + AFTER + 1);
        self.format(self.error.saturating_sub(BEFORE), end)
    }

    fn up_to_error(&self) -> String {
        self.format(0, self.error + 1) + "\n"
    }

    /// Formats lines with their offsets, and a caret under the error.
    fn format(&self, begin: usize, end: usize) -> String {
        let shown = &self.lines[begin..end];
        let width = shown.iter().map(|line| line.margin().len()).max().unwrap_or(0);
        let mut text = format!(" {:width$} |", "");
        for (index, line) in (begin..).zip(shown) {
            text += &format!("\n {:>width$} | {}", line.margin(), line.text);
            if index == self.error {
                let indent = line.text.len() - line.text.trim_start().len();
                text += &format!("\n {:width$} | {:indent$}^", "", "");
            }
        }
        text
    }
}

impl Line {
    fn margin(&self) -> String {
        self.offset.map(|offset| format!("{offset:#x}")).unwrap_or_default()
    }
}

/// The bytes at an offset, as a line with the indentation of another line.
fn bytes_at(binary: &[u8], offset: usize, like: &str) -> Line {
    let indent = like.len() - like.trim_start().len();
    let bytes = binary.get(offset..).unwrap_or_default();
    let mut text = " ".repeat(indent);
    match bytes {
        [] => text += ";; the end of the file",
        _ => {
            let shown: Vec<String> =
                bytes.iter().take(MAX_BYTES).map(|byte| format!("{byte:02x}")).collect();
            let more = if bytes.len() > MAX_BYTES { " ..." } else { "" };
            text += &format!(";; bytes {}{more}", shown.join(" "));
        }
    }
    Line { offset: Some(offset as u64), text }
}

/// The lines of a binary that can be printed, and whether they are complete.
fn print(binary: &[u8]) -> (Vec<Line>, bool) {
    let mut lines = Lines(Vec::new());
    let is_whole = Config::new().print(binary, &mut lines).is_ok();
    let mut lines = lines.0;
    lines.iter_mut().for_each(|line| line.text.truncate(line.text.trim_end().len()));
    lines.retain(|line| !line.text.is_empty());
    (lines, is_whole)
}

/// Collects the lines that the printer writes.
struct Lines(Vec<Line>);

impl Print for Lines {
    fn write_str(&mut self, text: &str) -> io::Result<()> {
        match self.0.last_mut() {
            Some(line) => line.text.push_str(text),
            None => self.0.push(Line { offset: None, text: text.to_owned() }),
        }
        Ok(())
    }

    fn start_line(&mut self, offset: Option<u64>) {
        self.0.push(Line { offset, text: String::new() });
    }
}
