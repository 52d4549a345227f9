//! Code in files that is checked when it is executed first.
//!
//! Most programs execute little of their code, so checking all of it would be most of what
//! loading a large one costs. It is mapped twice:
//!
//! ```text
//!   file      | head, tables | code: piece 0 | piece 1 | piece 2 | ... |
//!   to read   | readable                                               |
//!   to run                   | executable    | nothing | nothing | ... |
//! ```
//!
//! What executes or reads a piece that is not accessible yet faults, and the
//! [handler](crate::run::signal) has it checked: if its bytes are what was written, they can be
//! executed from then on, and the instruction is tried again. If not, the call ends. A piece may
//! end in the middle of a switch, with links between stacks half changed, so its store is not
//! used again. The first piece is checked at once, so that a small module never faults.
//!
//! Any number of threads may do that at the same time: each does the same, and nothing
//! changes but that the piece becomes accessible.

use super::file::Precompiled;
use super::{PIECE, PrecompiledError};
use crate::os::mapping::{Map, PAGE};
use std::fs::File;
use std::io;
use std::ops::Range;

/// Where the code of a file can be executed.
#[derive(Debug)]
pub enum Code {
    /// In the bytes of the file, all of which were checked.
    InPlace(Range<usize>),
    /// In memory of its own, where it is checked later.
    Later(LaterCode),
}

/// The code of a file, mapped to be executed.
#[derive(Debug)]
pub struct LaterCode {
    map: Map,
    len: usize,
}

/// What became of a piece that was executed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Admission {
    /// It is as it was written, and can be executed.
    Admitted,
    /// It is damaged.
    Damaged,
    /// The kernel did not let us.
    Refused,
}

impl LaterCode {
    /// Maps the code of a file, and checks the first piece, or all of it.
    pub(super) fn map(
        file: &Precompiled,
        mapped: &File,
        part: &Range<usize>,
        at_once: bool,
    ) -> Result<LaterCode, PrecompiledError> {
        let map = Map::of_inaccessible_file(mapped, part)?;
        let code = LaterCode { map, len: part.len() };
        if at_once {
            file.check_code()?;
            code.open(0..code.len)?;
        } else if code.len == 0 || file.is_whole_piece(0) {
            code.open(0..PIECE)?;
        } else {
            return Err(PrecompiledError::Damaged("its code is not what was written"));
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

    /// Lets the piece that an offset lies in be executed, if it is whole. Async-signal-safe.
    pub(crate) fn admit(&self, file: &Precompiled, offset: usize) -> Admission {
        let piece = offset / PIECE;
        if !file.is_whole_piece(piece) {
            return Admission::Damaged;
        }
        if self.open(piece * PIECE..(piece + 1) * PIECE).is_ok() {
            return Admission::Admitted;
        }
        // Too many parts of the address space differ. Here, none has to.
        match file.check_code() {
            Err(_) => Admission::Damaged,
            Ok(()) if self.open(0..self.len).is_ok() => Admission::Admitted,
            Ok(()) => Admission::Refused,
        }
    }
}
