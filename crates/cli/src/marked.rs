//! Errors of binaries, with the place printed as text and marked.

use std::fmt;

use ropewalk::{Error, ModuleError};
use wasmprinter::Config;

/// How many lines are shown before the place, and after it.
const BEFORE: usize = 3;
const AFTER: usize = 1;

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

/// The error of a module with the place, if it is in a binary that can be printed.
pub(crate) fn marked(binary: &[u8], error: Error) -> Error {
    match error.downcast::<ModuleError>() {
        Ok(error) => match error.offset().and_then(|offset| around(binary, offset as u64)) {
            Some(lines) => Marked { error, lines }.into(),
            None => error.into(),
        },
        Err(error) => error,
    }
}

/// The lines around an offset, with a caret under the one that it is in.
fn around(binary: &[u8], offset: u64) -> Option<String> {
    let mut storage = String::new();
    let lines = Config::new().offsets_and_lines(binary, &mut storage).ok()?;
    let lines: Vec<(Option<u64>, &str)> = lines.collect();
    let is_before = |(at, _): &(Option<u64>, &str)| at.is_some_and(|at| at <= offset);
    let place = lines.iter().rposition(is_before)?;
    let shown = &lines[place.saturating_sub(BEFORE)..lines.len().min(place + AFTER + 1)];
    let width = shown.iter().map(|(at, _)| margin(*at).len()).max()?;
    let mut text = format!(" {:width$} |", "");
    for (index, (at, line)) in (place.saturating_sub(BEFORE)..).zip(shown) {
        let line = line.trim_end();
        text += &format!("\n {:>width$} | {line}", margin(*at));
        if index == place {
            let indent = line.len() - line.trim_start().len();
            text += &format!("\n {:width$} | {:indent$}^", "", "");
        }
    }
    Some(text)
}

fn margin(offset: Option<u64>) -> String {
    offset.map(|offset| format!("{offset:#x}")).unwrap_or_default()
}
