//! Code of compiled files that is checked when it is first executed.
//!
//! Most programs execute little of their code, so checking all of it would take too long. The code
//! is mapped twice:
//!
//! ```text
//!   file      | head, tables | code: piece 0 | piece 1 | piece 2 | ... |
//!   to read   | readable                                               |
//!   to run                   | executable    | nothing | nothing | ... |
//! ```
//!
//! Executing or reading an inaccessible piece faults. The [handler](crate::run::signal) checks the
//! piece: if its checksum matches, it becomes executable and the instruction is repeated. Otherwise
//! the call ends, and the store becomes unusable: a piece may end in the middle of a switch, with
//! links between stacks half changed. The first piece is checked at once, so small modules never
//! fault.
//!
//! Threads may check the same piece at the same time: all of them make it accessible.

use super::file::Precompiled;
use super::{PIECE, PrecompiledError};
use crate::os::mapping::{Map, PAGE, ProtFlags};
use std::fs::File;
use std::io;
use std::ops::Range;

/// Where the code of a file is executable.
#[derive(Debug)]
pub enum Code {
    /// In the bytes of the file. All of them were checked.
    InPlace(Range<usize>),
    /// In a map of its own, where it is checked lazily.
    Lazy(LazyCode),
}

/// The executable map of a file's code.
#[derive(Debug)]
pub struct LazyCode {
    map: Map,
    len: usize,
}

/// The result of checking a piece.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is intact, and executable now.
    Admitted,
    Damaged,
    /// The kernel did not make it executable.
    Refused,
}

impl LazyCode {
    /// Maps the code of a file, and checks the first piece or all of it.
    pub(super) fn map(
        file: &Precompiled,
        mapped: &File,
        part: &Range<usize>,
        at_once: bool,
    ) -> Result<LazyCode, PrecompiledError> {
        let map = Map::of_file(mapped, part, ProtFlags::empty())?;
        let code = LazyCode { map, len: part.len() };
        if at_once {
            file.check_code()?;
            code.open(0..code.len)?;
        } else if code.len == 0 || file.is_whole_piece(0) {
            code.open(0..PIECE)?;
        } else {
            return Err(PrecompiledError::Damaged("the checksum of its code does not match"));
        }
        Ok(code)
    }

    pub(crate) fn start(&self) -> usize {
        self.map.base() as usize
    }

    pub(crate) fn len(&self) -> usize {
        self.len
    }

    fn open(&self, part: Range<usize>) -> io::Result<()> {
        let end = part.end.min(self.len).next_multiple_of(PAGE);
        self.map.make_part_executable(part.start, end - part.start)
    }

    /// Makes the piece at an offset executable, if it is intact. Async-signal-safe.
    pub(crate) fn admit(&self, file: &Precompiled, offset: usize) -> Admission {
        let piece = offset / PIECE;
        if !file.is_whole_piece(piece) {
            return Admission::Damaged;
        }
        if self.open(piece * PIECE..(piece + 1) * PIECE).is_ok() {
            return Admission::Admitted;
        }
        // There are too many mappings. Making all code executable needs only one.
        match file.check_code() {
            Err(_) => Admission::Damaged,
            Ok(()) if self.open(0..self.len).is_ok() => Admission::Admitted,
            Ok(()) => Admission::Refused,
        }
    }
}
