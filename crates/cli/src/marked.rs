//! Errors of binaries, with the place printed as text and marked.

use std::{fmt, io};

use ropewalk::{Error, ModuleError};
use wasmprinter::{Config, Print};

/// How many lines are shown before the place, and after it.
const BEFORE: usize = 3;
const AFTER: usize = 1;

/// How many bytes are shown of what cannot be printed.
const BYTES: usize = 8;

/// An error of a binary that shows the place.
#[derive(Debug)]
struct Marked {
    error: ModuleError,
    lines: String,
}

impl fmt::Display for Marked {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}\n{}", self.error, self.lines)
    }
}

impl std::error::Error for Marked {}

/// The error of a module with the place, if it is in a binary of which something can be
/// printed.
pub(crate) fn marked(binary: &[u8], error: Error) -> Error {
    match error.downcast::<ModuleError>() {
        Ok(error) => match error.offset().and_then(|offset| Listing::of(binary, offset)) {
            Some(listing) => Marked { error, lines: listing.around() }.into(),
            None => error.into(),
        },
        Err(error) => error,
    }
}

/// All lines of a binary up to what is wrong with it, which is marked.
pub(crate) fn up_to_error(binary: &[u8], error: &Error) -> Option<String> {
    let offset = error.downcast_ref::<ModuleError>()?.offset()?;
    Some(Listing::of(binary, offset)?.up_to_place())
}

/// A binary as text, as far as it can be printed.
struct Listing {
    lines: Vec<Line>,
    /// Which of them something is wrong with.
    place: usize,
}

struct Line {
    /// What it is of.
    offset: Option<u64>,
    text: String,
}

impl Listing {
    /// The lines of a binary in which something is wrong at an offset; nothing if none can be
    /// printed.
    fn of(binary: &[u8], offset: usize) -> Option<Listing> {
        let (mut lines, is_whole) = print(binary);
        if !is_whole {
            // The printer wants to tell all sections apart first. If it cannot, there is more of
            // what ends where it is wrong.
            let (cut, _) = print(&ropewalk_text::cut_at(binary, offset));
            if cut.len() > lines.len() {
                lines = cut;
            }
        }
        let is_before = |line: &Line| line.offset.is_some_and(|at| at <= offset as u64);
        let mut place = lines.iter().rposition(is_before)?;
        if !is_whole && lines[place].offset < Some(offset as u64) {
            // What is wrong cannot be printed, and nothing after it.
            lines.truncate(place + 1);
            lines.push(bytes_at(binary, offset, &lines[place].text));
            place += 1;
        }
        Some(Listing { lines, place })
    }

    /// The lines around the place.
    fn around(&self) -> String {
        let end = self.lines.len().min(self.place + AFTER + 1);
        self.shown(self.place.saturating_sub(BEFORE), end)
    }

    fn up_to_place(&self) -> String {
        self.shown(0, self.place + 1) + "\n"
    }

    /// Some lines, each with its offset, and a caret under the place.
    fn shown(&self, begin: usize, end: usize) -> String {
        let shown = &self.lines[begin..end];
        let width = shown.iter().map(|line| line.margin().len()).max().unwrap_or(0);
        let mut text = format!(" {:width$} |", "");
        for (index, line) in (begin..).zip(shown) {
            text += &format!("\n {:>width$} | {}", line.margin(), line.text);
            if index == self.place {
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

/// The bytes at an offset, as a line that is indented like another.
fn bytes_at(binary: &[u8], offset: usize, like: &str) -> Line {
    let indent = like.len() - like.trim_start().len();
    let bytes = binary.get(offset..).unwrap_or_default();
    let mut text = " ".repeat(indent);
    match bytes {
        [] => text += ";; the end of the file",
        _ => {
            let shown: Vec<String> =
                bytes.iter().take(BYTES).map(|byte| format!("{byte:02x}")).collect();
            let more = if bytes.len() > BYTES { " ..." } else { "" };
            text += &format!(";; bytes {}{more}", shown.join(" "));
        }
    }
    Line { offset: Some(offset as u64), text }
}

/// The lines of a binary up to what cannot be printed, and whether that is all.
fn print(binary: &[u8]) -> (Vec<Line>, bool) {
    let mut printed = Printed(Vec::new());
    let is_whole = Config::new().print(binary, &mut printed).is_ok();
    let mut lines = printed.0;
    lines.iter_mut().for_each(|line| line.text.truncate(line.text.trim_end().len()));
    lines.retain(|line| !line.text.is_empty());
    (lines, is_whole)
}

/// What was printed so far.
struct Printed(Vec<Line>);

impl Print for Printed {
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
