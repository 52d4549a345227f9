//! Edits of a source, and the map from the edited text back to the source.
//!
//! Text that no edit touches is copied byte for byte, with its comments. An edit writes pieces,
//! each with its byte of the source.

use std::cmp::Reverse;
use std::ops::Range;

/// New text, in pieces.
#[derive(Debug, Clone, Default)]
pub(crate) struct Pieces(Vec<Piece>);

#[derive(Debug, Clone)]
enum Piece {
    /// Text that maps to the byte `at` of the source. An error in it has the message `note`, if
    /// there is one.
    New { text: String, at: usize, note: Option<String> },
    /// A part of the source, with its edits.
    Moved(Range<usize>),
}

impl Pieces {
    pub fn new() -> Pieces {
        Pieces::default()
    }

    pub fn text(text: impl Into<String>, at: usize) -> Pieces {
        let mut pieces = Pieces::new();
        pieces.push(text, at);
        pieces
    }

    /// Adds text that maps to the byte `at` of the source.
    pub fn push(&mut self, text: impl Into<String>, at: usize) {
        self.0.push(Piece::New { text: text.into(), at, note: None });
    }

    /// Adds text for which any error has the message `note`.
    pub fn push_noted(&mut self, text: impl Into<String>, at: usize, note: impl Into<String>) {
        self.0.push(Piece::New { text: text.into(), at, note: Some(note.into()) });
    }

    /// Adds a part of the source, with all edits in it. Another edit should remove it from its old
    /// place.
    pub fn push_moved(&mut self, range: Range<usize>) {
        self.0.push(Piece::Moved(range));
    }

    pub fn is_empty(&self) -> bool {
        let is_empty = |piece: &Piece| matches!(piece, Piece::New { text, .. } if text.is_empty());
        self.0.iter().all(is_empty)
    }

    pub fn append(&mut self, other: Pieces) {
        self.0.extend(other.0);
    }
}

#[derive(Debug, Default)]
pub(crate) struct Edits(Vec<Edit>);

#[derive(Debug)]
struct Edit {
    /// The removed range; empty for an insertion.
    range: Range<usize>,
    pieces: Pieces,
    /// Whether it comes before other insertions at the same offset.
    is_early: bool,
}

impl Edits {
    /// Replaces a part of the source. Edits inside that part apply only where it is moved to.
    pub fn replace(&mut self, range: Range<usize>, pieces: Pieces) {
        self.0.push(Edit { range, pieces, is_early: false });
    }

    /// Inserts before the byte `at` of the source, after earlier insertions there.
    pub fn insert(&mut self, at: usize, pieces: Pieces) {
        self.replace(at..at, pieces);
    }

    /// Inserts before the byte `at` of the source, before all other insertions there.
    pub fn insert_early(&mut self, at: usize, pieces: Pieces) {
        self.0.push(Edit { range: at..at, pieces, is_early: true });
    }

    /// Applies the edits to a part of the source.
    pub fn render(mut self, source: &str, range: Range<usize>) -> Output {
        self.0.sort_by_key(|edit| {
            let Range { start, end } = edit.range;
            (start, !edit.range.is_empty(), !edit.is_early, Reverse(end))
        });
        let mut output = Output::default();
        let mut work = vec![Work::Copy(range)];
        while let Some(step) = work.pop() {
            match step {
                Work::Copy(range) => self.copy(source, range, &mut output, &mut work),
                Work::Write(Piece::Moved(range)) => work.push(Work::Copy(range)),
                Work::Write(Piece::New { text, at, note }) => output.write(&text, at, note),
            }
        }
        output
    }

    /// Copies the source up to the next edit, and pushes that edit and the remaining range as work.
    fn copy(
        &mut self,
        source: &str,
        range: Range<usize>,
        output: &mut Output,
        work: &mut Vec<Work>,
    ) {
        let first = self.0.partition_point(|edit| edit.range.start < range.start);
        let inside = |edit: &&mut Edit| !edit.pieces.0.is_empty() || !edit.range.is_empty();
        let next = self.0[first..]
            .iter_mut()
            .take_while(|edit| edit.range.start <= range.end)
            .filter(inside)
            .find(|edit| edit.range.end <= range.end);
        let Some(edit) = next else { return output.copy(source, range) };
        output.copy(source, range.start..edit.range.start);
        work.push(Work::Copy(edit.range.end..range.end));
        // An edit applies once: it becomes empty.
        let pieces = std::mem::take(&mut edit.pieces);
        edit.range = edit.range.start..edit.range.start;
        work.extend(pieces.0.into_iter().rev().map(Work::Write));
    }
}

/// The remaining work, last step first.
enum Work {
    Copy(Range<usize>),
    Write(Piece),
}

/// The edited text, with its map to the source.
#[derive(Debug, Default)]
pub(crate) struct Output {
    pub text: String,
    pub map: SpanMap,
}

/// Maps bytes of the edited text to bytes of its source.
#[derive(Debug, Default)]
pub(crate) struct SpanMap {
    segments: Vec<Segment>,
    notes: Vec<String>,
}

/// A part of the edited text, up to the next segment.
#[derive(Debug)]
struct Segment {
    start: u32,
    source: u32,
    /// Whether it is a copy, in which each byte maps to its own byte of the source.
    is_copy: bool,
    note: Option<u32>,
}

impl Output {
    fn copy(&mut self, source: &str, range: Range<usize>) {
        if !range.is_empty() {
            self.segment(range.start, true, None);
            self.text.push_str(&source[range]);
        }
    }

    fn write(&mut self, text: &str, at: usize, note: Option<String>) {
        if !text.is_empty() {
            self.segment(at, false, note);
            self.text.push_str(text);
        }
    }

    fn segment(&mut self, source: usize, is_copy: bool, note: Option<String>) {
        let start = self.text.len() as u32;
        let number = note.is_some().then_some(self.map.notes.len() as u32);
        self.map.notes.extend(note);
        self.map.segments.push(Segment { start, source: source as u32, is_copy, note: number });
    }
}

impl SpanMap {
    /// The offset in the source of a byte of the text.
    pub fn find(&self, offset: usize) -> usize {
        match self.segment(offset) {
            Some(segment) if segment.is_copy => {
                segment.source as usize + (offset - segment.start as usize)
            }
            Some(segment) => segment.source as usize,
            None => 0,
        }
    }

    /// The message for an error at a byte of the text, if one was set.
    pub fn note(&self, offset: usize) -> Option<&str> {
        let number = self.segment(offset)?.note?;
        self.notes.get(number as usize).map(String::as_str)
    }

    fn segment(&self, offset: usize) -> Option<&Segment> {
        let after = self.segments.partition_point(|segment| segment.start as usize <= offset);
        self.segments.get(after.checked_sub(1)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(edits: Edits, expected: &str) -> SpanMap {
        let output = edits.render("0123456789", 0..10);
        assert_eq!(output.text, expected);
        output.map
    }

    #[test]
    fn edits_in_any_order() {
        let mut edits = Edits::default();
        edits.replace(6..8, Pieces::text("bb", 6));
        edits.insert(6, Pieces::text("x", 2));
        edits.insert(6, Pieces::text("y", 3));
        edits.insert_early(6, Pieces::text("w", 1));
        edits.replace(1..2, Pieces::new());
        edits.insert(10, Pieces::text("z", 0));
        let map = check(edits, "02345wxybb89z");
        let found: Vec<usize> = (0..13).map(|offset| map.find(offset)).collect();
        assert_eq!(found, [0, 2, 3, 4, 5, 1, 2, 3, 6, 6, 8, 9, 0]);
    }

    #[test]
    fn moved_parts_keep_their_edits() {
        let mut edits = Edits::default();
        let mut moved = Pieces::text("[", 0);
        moved.push_moved(2..5);
        moved.push("]", 0);
        edits.insert(9, moved);
        edits.replace(2..6, Pieces::text("-", 2));
        edits.replace(3..4, Pieces::text("x", 3));
        edits.replace(5..6, Pieces::text("lost", 5));
        check(edits, "01-678[2x4]9");
    }

    #[test]
    fn notes() {
        let mut edits = Edits::default();
        let mut pieces = Pieces::new();
        pieces.push_noted("abc", 4, "wrong");
        edits.insert(0, pieces);
        let map = check(edits, "abc0123456789");
        assert_eq!((map.note(2), map.note(3)), (Some("wrong"), None));
    }
}
