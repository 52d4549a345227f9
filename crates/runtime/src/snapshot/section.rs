//! One section of a snapshot: its contents, and its encoding as runs of bytes.

use super::error::SnapshotError;
use super::format::BasedOn;
use super::ranges::Ranges;
use std::borrow::Cow;
use std::ops::Range;

/// The size of the pieces that are compared at once.
pub(super) const CHUNK: usize = 4096;

/// The least size of a difference.
pub(super) const GRAIN: usize = 64;

/// The contents of a section to save.
#[derive(Debug, Default)]
pub(super) struct Section<'a> {
    pub len: usize,
    /// Its pieces, with their offsets. All else is zero, or as in the base.
    pub pieces: Vec<(usize, Cow<'a, [u8]>)>,
    /// How much of the base is kept, if not all.
    pub kept: Option<usize>,
}

impl<'a> Section<'a> {
    pub fn whole(bytes: impl Into<Cow<'a, [u8]>>) -> Section<'a> {
        let bytes = bytes.into();
        Section { len: bytes.len(), pieces: vec![(0, bytes)], kept: None }
    }

    /// A section of some length, without pieces.
    pub fn of_len(len: usize) -> Section<'a> {
        Section { len, ..Section::default() }
    }

    /// Parts of a whole section.
    pub fn parts(bytes: &'a [u8], parts: &Ranges) -> Section<'a> {
        let parts = parts.below(bytes.len());
        let pieces = parts.iter().map(|part| (part.start, Cow::from(&bytes[part]))).collect();
        Section { len: bytes.len(), pieces, kept: None }
    }

    pub fn put(&mut self, start: usize, bytes: &[u8]) {
        self.len = self.len.max(start + bytes.len());
        if let Some((last, piece)) = self.pieces.last_mut()
            && *last + piece.len() == start
        {
            return piece.to_mut().extend_from_slice(bytes);
        }
        self.pieces.push((start, Cow::from(bytes.to_vec())));
    }

    /// Adds a piece that is borrowed, after all others.
    pub fn add(&mut self, start: usize, bytes: &'a [u8]) {
        if !bytes.is_empty() {
            self.pieces.push((start, Cow::from(bytes)));
        }
    }

    /// The bytes of a whole section.
    pub fn bytes(&self) -> &[u8] {
        debug_assert!(self.pieces.len() <= 1);
        self.pieces.first().map_or(&[], |(_, bytes)| bytes)
    }

    /// Parts of a whole section.
    pub fn cut(self, parts: &Ranges) -> Section<'a> {
        if *parts == Ranges::all(self.len) {
            return self;
        }
        match self.pieces.first() {
            Some((_, Cow::Borrowed(bytes))) => Section::parts(bytes, parts),
            _ => {
                let mut section = Section::of_len(self.len);
                let parts = parts.below(self.len);
                parts.iter().for_each(|part| section.put(part.start, &self.bytes()[part]));
                section
            }
        }
    }
}

/// An encoded section.
#[derive(Clone, Debug)]
pub(super) struct Runs {
    pub len: usize,
    /// How much of the base's section is kept. All beyond is zero, unless it is in a run.
    pub kept: usize,
    /// In order.
    pub runs: Vec<Run>,
}

/// Consecutive bytes of a section.
#[derive(Clone, Debug)]
pub(super) struct Run {
    /// The offset in the section.
    pub start: usize,
    /// The place in the snapshot.
    pub bytes: Range<usize>,
}

impl Run {
    pub fn end(&self) -> usize {
        self.start + self.bytes.len()
    }
}

/// The bytes that a section omits.
#[derive(Clone, Copy)]
pub(super) enum LeaveOut<'a> {
    Nothing,
    Zeroes,
    /// What the base has, in its section with this number.
    Known(&'a BasedOn<'a>, usize),
}

/// What the base has in a part of a section.
#[derive(Clone, Copy)]
pub(super) enum KnownBytes<'a> {
    Bytes(&'a [u8]),
    Zero,
}

impl KnownBytes<'_> {
    fn is(&self, bytes: &[u8]) -> bool {
        match self {
            KnownBytes::Bytes(known) => *known == bytes,
            KnownBytes::Zero => is_zero(bytes),
        }
    }
}

pub(super) fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

/// Encodes a section: its length, the kept length of the base, the number of runs, the runs.
pub(super) fn put_section(
    bytes: &mut Vec<u8>,
    section: &Section<'_>,
    leave_out: LeaveOut<'_>,
) -> Runs {
    let len = section.len;
    let kept = match leave_out {
        LeaveOut::Known(base, number) => base.lens.get(number).map_or(0, |len| *len as usize),
        LeaveOut::Zeroes | LeaveOut::Nothing => 0,
    };
    let kept = section.kept.unwrap_or(kept).min(len);
    put(bytes, len as u64);
    put(bytes, kept as u64);
    let count = bytes.len();
    put(bytes, 0);
    let mut writer = RunWriter { bytes, runs: Vec::new() };
    for (start, piece) in &section.pieces {
        for (at, chunk) in pieces_of(piece, *start, CHUNK) {
            match leave_out {
                LeaveOut::Zeroes if is_zero(chunk) => {}
                LeaveOut::Zeroes | LeaveOut::Nothing => writer.put(at, chunk),
                LeaveOut::Known(base, number) => put_unknown(&mut writer, at, chunk, base, number),
            }
        }
    }
    let runs = writer.finish();
    bytes[count..count + 8].copy_from_slice(&(runs.len() as u64).to_le_bytes());
    Runs { len, kept, runs }
}

/// Encodes what differs from the base.
fn put_unknown(
    writer: &mut RunWriter<'_>,
    at: usize,
    chunk: &[u8],
    base: &BasedOn<'_>,
    section: usize,
) {
    let is_new = base.lens.get(section).is_none_or(|len| at as u64 >= *len);
    let known = match base.bytes {
        // Bytes beyond the end of the base are zero.
        _ if is_new => Some(KnownBytes::Zero),
        bytes => bytes.and_then(|base| base.known(section, at..at + chunk.len())),
    };
    let Some(known) = known else {
        return writer.put(at, chunk);
    };
    if known.is(chunk) {
        return;
    }
    for (place, grain) in pieces_of(chunk, at, GRAIN) {
        let from = place - at;
        let same = match known {
            KnownBytes::Bytes(known) => {
                KnownBytes::Bytes(&known[from..from + grain.len()]).is(grain)
            }
            KnownBytes::Zero => is_zero(grain),
        };
        if !same {
            writer.put(place, grain);
        }
    }
}

/// Pieces of bytes that begin at `start`, cut at multiples of `size`.
fn pieces_of(bytes: &[u8], start: usize, size: usize) -> impl Iterator<Item = (usize, &[u8])> {
    let mut at = 0;
    std::iter::from_fn(move || {
        let rest = bytes.get(at..).filter(|rest| !rest.is_empty())?;
        let place = start + at;
        let len = (size - place % size).min(rest.len());
        at += len;
        Some((place, &rest[..len]))
    })
}

struct RunWriter<'a> {
    bytes: &'a mut Vec<u8>,
    runs: Vec<Run>,
}

impl RunWriter<'_> {
    /// Appends bytes, to the last run if they follow it.
    fn put(&mut self, at: usize, bytes: &[u8]) {
        if self.runs.last().is_none_or(|last| last.end() != at) {
            self.end();
            put(self.bytes, at as u64);
            put(self.bytes, 0);
            let start = self.bytes.len();
            self.runs.push(Run { start: at, bytes: start..start });
        }
        self.bytes.extend_from_slice(bytes);
        if let Some(last) = self.runs.last_mut() {
            last.bytes.end = self.bytes.len();
        }
    }

    /// Sets the length of the last run.
    fn end(&mut self) {
        if let Some(Run { bytes, .. }) = self.runs.last() {
            let len = (bytes.len() as u64).to_le_bytes();
            self.bytes[bytes.start - 8..bytes.start].copy_from_slice(&len);
        }
    }

    fn finish(mut self) -> Vec<Run> {
        self.end();
        self.runs
    }
}

fn is_zero(chunk: &[u8]) -> bool {
    let (words, rest) = chunk.as_chunks::<16>();
    words.iter().all(|word| u128::from_ne_bytes(*word) == 0) && rest.iter().all(|byte| *byte == 0)
}

pub(super) struct SectionReader<'a> {
    pub bytes: &'a [u8],
    pub at: usize,
}

impl SectionReader<'_> {
    pub fn number(&mut self) -> Result<u64, SnapshotError> {
        let bytes = self.bytes.get(self.at..self.at + 8);
        self.at += 8;
        let bytes = bytes.ok_or(SnapshotError::Damaged("it is cut off"))?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    pub fn section(&mut self) -> Result<Runs, SnapshotError> {
        let damaged = SnapshotError::Damaged;
        let (len, kept, count) = (self.number()?, self.number()?, self.number()?);
        let (mut runs, mut last) = (Vec::new(), 0);
        for _ in 0..count {
            let (start, bytes) = (self.number()?, self.number()?);
            let end = start.checked_add(bytes);
            let end = end.filter(|end| *end <= len);
            let end = end.ok_or(damaged("a run reaches beyond its section"))?;
            if start < last {
                return Err(damaged("runs are not in order"));
            }
            last = end;
            let range = self.at..self.at.saturating_add(bytes as usize);
            self.at = range.end;
            if range.end > self.bytes.len() {
                return Err(damaged("it is cut off"));
            }
            runs.push(Run { start: start as usize, bytes: range });
        }
        Ok(Runs { len: len as usize, kept: kept as usize, runs })
    }
}
