//! From which lines of its source the code of a module comes, for tools that want all of them.

use crate::code::LoadedModule;
use ropewalk_abi::code::{NO_POSITION, Position};
use std::collections::HashMap;
use std::sync::Arc;

/// From an offset on, code comes from a line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Line {
    /// The offset in the code.
    pub offset: u32,
    /// The file; of a text that was read from none, `<text>`.
    pub file: Arc<str>,
    /// The line; the first is 1.
    pub line: u32,
    /// The character of the line, or zero.
    pub column: u32,
}

/// How many positions are looked for at most; code after them has no lines. It keeps a module that
/// has very many from taking long and much memory.
const MOST: usize = 1 << 22;

/// The lines of a module, by offset; nothing if its source is not known. Code that no instruction
/// stands for belongs to the line before it.
pub(crate) fn lines_of(module: &LoadedModule) -> Vec<Line> {
    let Some(source) = &module.source else { return Vec::new() };
    let mut files: HashMap<String, Arc<str>> = HashMap::new();
    let mut lines: Vec<Line> = Vec::new();
    for &Position { offset, position } in module.code.tables().positions.iter().take(MOST) {
        if position == NO_POSITION {
            continue;
        }
        // That of the innermost function, if functions were inlined.
        let Some(place) = source.places(position).into_iter().next() else { continue };
        let file = place.file().unwrap_or("<text>").to_string();
        let file = files.entry(file).or_insert_with_key(|file| file.as_str().into()).clone();
        let line = u32::try_from(place.line()).unwrap_or(0);
        let column = place.column().and_then(|column| u32::try_from(column).ok()).unwrap_or(0);
        lines.push(Line { offset, file, line, column });
    }
    lines
}
