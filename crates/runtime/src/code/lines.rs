//! The source lines of all code of a module, for native tools.

use crate::code::LoadedModule;
use ropewalk_abi::code::{FunctionCode, NO_POSITION, Position};
use std::collections::HashMap;
use std::sync::Arc;

/// Code from an offset on comes from a source line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    pub offset: u32,
    /// The file; `<text>` for a text that was not read from a file.
    pub file: Arc<str>,
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, or zero.
    pub column: u32,
}

/// How many positions are looked up at most, to bound time and memory. Later code has no lines.
const MOST: usize = 1 << 22;

/// The lines of a module, by offset. Code without an instruction belongs to the previous line.
pub(crate) fn lines_of(module: &LoadedModule) -> Vec<Line> {
    let Some(source) = &module.source else { return Vec::new() };
    let mut files: HashMap<String, Arc<str>> = HashMap::new();
    let mut lines: Vec<Line> = Vec::new();
    for &Position { offset, position } in module.code.tables().positions.iter().take(MOST) {
        if position == NO_POSITION {
            continue;
        }
        // With inlining, the place in the innermost function.
        let Some(place) = source.places(position).into_iter().next() else { continue };
        let file = place.file().unwrap_or("<text>").to_string();
        let file = files.entry(file).or_insert_with_key(|file| file.as_str().into()).clone();
        let line = u32::try_from(place.line()).unwrap_or(0);
        let column = place.column().and_then(|column| u32::try_from(column).ok()).unwrap_or(0);
        lines.push(Line { offset, file, line, column });
    }
    lines
}

/// The lines of a function, and the offsets where they begin. The prologue counts as the first line.
pub(crate) fn lines_of_function<'a>(
    lines: &'a [Line],
    function: &FunctionCode,
) -> impl Iterator<Item = (u32, &'a Line)> + Clone {
    let start = lines.partition_point(|line| line.offset < function.start);
    let end = lines.partition_point(|line| line.offset < function.end);
    let lines = &lines[start..end];
    let prologue = lines.first().filter(|first| first.offset > function.start);
    let prologue = prologue.map(|first| (function.start, first));
    prologue.into_iter().chain(lines.iter().map(|line| (line.offset, line)))
}
