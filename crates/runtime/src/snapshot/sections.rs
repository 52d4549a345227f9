//! A snapshot as bytes.
//!
//! ```text
//!   Header: magic, format, checksum, identity, identity of the base
//!   for each section: its length, how much of its base is kept, then its runs
//!   run: where in the section it begins, its length, and its bytes
//! ```
//!
//! The sections are what is [written](super::image) of the store, its heap, its stacks, its
//! memories and tables. Runs are in order. What lies between them is zero; in a snapshot that is
//! based on another, it is the same as there, as far as that is kept.

use super::error::SnapshotError;
use super::ranges::Ranges;
use super::since::COPIED;
use std::alloc::Layout;
use std::borrow::Cow;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// What snapshots begin with.
pub const MAGIC: [u8; 8] = *b"\x7Fropesnp";

/// Goes up when what is written changes.
pub(super) const FORMAT: u32 = 3;

/// How many bytes are looked at together, whether they are zero or known.
const CHUNK: usize = 4096;

/// How many of those that are not known are written together at least.
pub(super) const GRAIN: usize = 64;

/// How many bytes the header has.
const HEADER: usize = 8 + 4 + 4 + 8 + 16 + 16;

/// Tells a snapshot from all others.
pub(crate) type Identity = [u8; 16];

/// A snapshot: sections of bytes.
#[derive(Clone, Debug)]
pub struct Bytes {
    bytes: Arc<Vec<u8>>,
    identity: Identity,
    base: Identity,
    sections: Arc<Vec<Runs>>,
}

/// What is written of a section.
#[derive(Clone, Debug)]
struct Runs {
    /// How long it is.
    len: usize,
    /// How much of the section of the base counts. What was beyond is zero, unless it is in a run.
    kept: usize,
    /// In order.
    runs: Vec<Run>,
}

/// Bytes of a section, one after another.
#[derive(Clone, Debug)]
struct Run {
    /// Where in the section.
    start: usize,
    /// Where in the snapshot.
    bytes: Range<usize>,
}

impl Run {
    fn end(&self) -> usize {
        self.start + self.bytes.len()
    }
}

const NO_BASE: Identity = [0; 16];

/// What is to be written of a section.
#[derive(Debug, Default)]
pub(super) struct Section<'a> {
    /// How long it is.
    pub len: usize,
    /// Pieces of it, where each begins. What is in none is zero, or that of the base.
    pub pieces: Vec<(usize, Cow<'a, [u8]>)>,
    /// How much of the base counts, if not all of it does.
    kept: Option<usize>,
}

impl<'a> Section<'a> {
    /// All of a section.
    pub fn whole(bytes: impl Into<Cow<'a, [u8]>>) -> Section<'a> {
        let bytes = bytes.into();
        Section { len: bytes.len(), pieces: vec![(0, bytes)], kept: None }
    }

    /// A section of some length, without any piece yet.
    pub fn of_len(len: usize) -> Section<'a> {
        Section { len, ..Section::default() }
    }

    /// Parts of bytes that are the whole section.
    pub fn parts(bytes: &'a [u8], parts: &Ranges) -> Section<'a> {
        let parts = parts.below(bytes.len());
        let pieces = parts.iter().map(|part| (part.start, Cow::from(&bytes[part]))).collect();
        Section { len: bytes.len(), pieces, kept: None }
    }

    /// Adds a piece.
    pub fn put(&mut self, start: usize, bytes: &[u8]) {
        self.len = self.len.max(start + bytes.len());
        if let Some((last, piece)) = self.pieces.last_mut()
            && *last + piece.len() == start
        {
            return piece.to_mut().extend_from_slice(bytes);
        }
        self.pieces.push((start, Cow::from(bytes.to_vec())));
    }

    /// Adds a piece that is kept elsewhere, after all others.
    fn add(&mut self, start: usize, bytes: &'a [u8]) {
        if !bytes.is_empty() {
            self.pieces.push((start, Cow::from(bytes)));
        }
    }

    /// The bytes of a section of which nothing is missing.
    pub fn bytes(&self) -> &[u8] {
        debug_assert!(self.pieces.len() <= 1);
        self.pieces.first().map_or(&[], |(_, bytes)| bytes)
    }

    /// Parts of a section of which nothing is missing.
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

/// A snapshot that another is based on: how long its sections are, and its bytes, if they are at
/// hand.
#[derive(Clone, Debug)]
pub(super) struct BasedOn<'a> {
    pub identity: Identity,
    pub lens: Vec<u64>,
    pub bytes: Option<&'a Bytes>,
}

impl<'a> From<&'a Bytes> for BasedOn<'a> {
    fn from(bytes: &'a Bytes) -> BasedOn<'a> {
        BasedOn { identity: bytes.identity, lens: bytes.lens(), bytes: Some(bytes) }
    }
}

/// What of a section is not written.
#[derive(Clone, Copy)]
enum LeaveOut<'a> {
    Nothing,
    Zeroes,
    /// What the base is known to have, in the section with a number.
    Known(&'a BasedOn<'a>, usize),
}

impl Bytes {
    /// Puts sections together; if they are based on another snapshot, only what differs.
    pub(super) fn new(sections: &mut [Section<'_>], base: Option<&BasedOn<'_>>) -> Bytes {
        let identity = base.map_or(NO_BASE, |base| base.identity);
        let leave_out = |number| base.map_or(LeaveOut::Zeroes, |on| LeaveOut::Known(on, number));
        Bytes::put_together(sections, leave_out, identity, None)
    }

    /// The same, with another identity than its own.
    fn put_together<'a>(
        sections: &mut [Section<'_>],
        leave_out: impl Fn(usize) -> LeaveOut<'a>,
        base: Identity,
        identity: Option<Identity>,
    ) -> Bytes {
        let mut bytes = vec![0; HEADER];
        put(&mut bytes, sections.len() as u64);
        let mut written = Vec::new();
        for (number, section) in sections.iter_mut().enumerate() {
            section.pieces.sort_unstable_by_key(|(start, _)| *start);
            written.push(put_section(&mut bytes, section, leave_out(number)));
        }
        let content = xxh3_128(&bytes[HEADER..]).to_le_bytes();
        // The same may have changed since two others.
        let identity =
            identity.unwrap_or_else(|| xxh3_128(&[content, base].concat()).to_le_bytes());
        bytes[..8].copy_from_slice(&MAGIC);
        bytes[8..12].copy_from_slice(&FORMAT.to_le_bytes());
        bytes[24..40].copy_from_slice(&identity);
        bytes[40..56].copy_from_slice(&base);
        let checksum = checksum(&bytes[24..HEADER], &content);
        bytes[16..24].copy_from_slice(&checksum.to_le_bytes());
        Bytes { identity, base, sections: written.into(), bytes: bytes.into() }
    }

    /// Reads a snapshot.
    pub fn read(bytes: Vec<u8>) -> Result<Bytes, SnapshotError> {
        if bytes.len() < 8 || bytes[..8] != MAGIC {
            return Err(SnapshotError::Other);
        }
        if bytes.len() < HEADER {
            return Err(SnapshotError::Damaged("it is cut off"));
        }
        let format = u32::from_le_bytes(bytes[8..12].try_into().expect("four bytes"));
        if format != FORMAT {
            return Err(SnapshotError::Format(format));
        }
        let content = xxh3_128(&bytes[HEADER..]).to_le_bytes();
        let expected = u64::from_le_bytes(bytes[16..24].try_into().expect("eight bytes"));
        if expected != checksum(&bytes[24..HEADER], &content) {
            return Err(SnapshotError::Damaged("its checksum differs"));
        }
        let identity = bytes[24..40].try_into().expect("sixteen bytes");
        let base = bytes[40..56].try_into().expect("sixteen bytes");
        let mut reader = Reader { bytes: &bytes, at: HEADER };
        let count = reader.number()?;
        let mut sections = Vec::new();
        for _ in 0..count {
            sections.push(reader.section()?);
        }
        Ok(Bytes { identity, base, sections: sections.into(), bytes: bytes.into() })
    }

    /// The bytes.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// What tells it from all others.
    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether it is based on another.
    pub fn is_based(&self) -> bool {
        self.base != NO_BASE
    }

    /// The same, with what it takes from its base. If that is itself based on another, the result
    /// is too.
    pub fn on(&self, base: &Bytes) -> Result<Bytes, SnapshotError> {
        if self.base != base.identity {
            return Err(SnapshotError::WrongBase);
        }
        let mut sections: Vec<Section<'_>> =
            (0..self.count()).map(|number| self.section_on(base, number)).collect();
        // What became zero hides what was there.
        let leave_out = |_| if base.is_based() { LeaveOut::Nothing } else { LeaveOut::Zeroes };
        // Others may be based on this one.
        Ok(Bytes::put_together(&mut sections, leave_out, base.base, Some(self.identity)))
    }

    /// The runs of a section, and those of the base where it has none.
    fn section_on<'a>(&'a self, base: &'a Bytes, number: usize) -> Section<'a> {
        let Runs { len, kept, .. } = self.sections[number];
        // Of the base of the base no more counts than of the base.
        let kept_there = base.sections.get(number).map_or(0, |section| section.kept);
        let mut section = Section { len, kept: Some(kept.min(kept_there)), ..Section::default() };
        let mut known = base.pieces(number, kept);
        let mut next = known.next();
        for (start, piece) in self.pieces(number, len) {
            let end = start + piece.len();
            while let Some((at, bytes)) = next.filter(|(at, _)| *at < end) {
                let before = bytes.len().min(start.saturating_sub(at));
                section.add(at, &bytes[..before]);
                next = match bytes.get(end - at..).filter(|rest| !rest.is_empty()) {
                    Some(rest) => Some((end, rest)),
                    None => known.next(),
                };
            }
            section.add(start, piece);
        }
        next.into_iter().chain(known).for_each(|(at, bytes)| section.add(at, bytes));
        section
    }

    /// The runs of a section below some length.
    fn pieces(&self, number: usize, len: usize) -> impl Iterator<Item = (usize, &[u8])> {
        self.runs(number).iter().take_while(move |run| run.start < len).map(move |run| {
            let bytes = &self.bytes[run.bytes.clone()];
            (run.start, &bytes[..bytes.len().min(len - run.start)])
        })
    }

    /// How long its sections are.
    pub(super) fn lens(&self) -> Vec<u64> {
        self.sections.iter().map(|section| section.len as u64).collect()
    }

    /// How many sections there are.
    pub(super) fn count(&self) -> usize {
        self.sections.len()
    }

    /// The bytes of a section.
    pub(super) fn section(&self, number: usize) -> Result<Option<Vec<u8>>, SnapshotError> {
        if number >= self.count() {
            return Ok(None);
        }
        let mut section = zeroes(self.len(number) as usize)?;
        self.fill(number, &mut section);
        Ok(Some(section))
    }

    /// The bytes of a section that is so small that a copy is kept of it.
    pub(super) fn small_section(&self, number: usize) -> Result<Option<Vec<u8>>, SnapshotError> {
        match self.len(number) as usize <= COPIED {
            true => self.section(number),
            false => Ok(None),
        }
    }

    /// Puts the runs of a section, as far as it goes, into memory that is zero, or is that of its
    /// base.
    pub(super) fn fill(&self, number: usize, section: &mut [u8]) {
        for run in self.runs(number) {
            let bytes = &self.bytes[run.bytes.clone()];
            let Some(place) = section.get_mut(run.start..) else { break };
            let len = bytes.len().min(place.len());
            place[..len].copy_from_slice(&bytes[..len]);
        }
    }

    /// How long a section is.
    pub(super) fn len(&self, number: usize) -> u64 {
        self.sections.get(number).map_or(0, |section| section.len as u64)
    }

    fn runs(&self, number: usize) -> &[Run] {
        self.sections.get(number).map_or(&[], |section| &section.runs)
    }

    /// What a part of a section is known to be, if it is.
    fn known(&self, number: usize, part: Range<usize>) -> Option<Known<'_>> {
        let runs = self.runs(number);
        let after = runs.partition_point(|run| run.start <= part.start);
        if let Some(run) = after.checked_sub(1).map(|last| &runs[last])
            && part.start < run.end()
        {
            let start = run.bytes.start + (part.start - run.start);
            let is_inside = part.end <= run.end();
            return is_inside.then(|| Known::Bytes(&self.bytes[start..start + part.len()]));
        }
        let is_between = runs.get(after).is_none_or(|next| part.end <= next.start);
        (is_between && !self.is_based()).then_some(Known::Zero)
    }
}

/// What a part of a section is.
#[derive(Clone, Copy)]
enum Known<'a> {
    Bytes(&'a [u8]),
    Zero,
}

impl Known<'_> {
    fn is(&self, bytes: &[u8]) -> bool {
        match self {
            Known::Bytes(known) => *known == bytes,
            Known::Zero => is_zero(bytes),
        }
    }
}

/// So many bytes, which take no memory until they are written. What is zero is not in a snapshot,
/// so nobody knows before whether there are as many.
fn zeroes(len: usize) -> Result<Vec<u8>, SnapshotError> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let too_long = SnapshotError::Damaged("a section is longer than there is memory");
    let Ok(layout) = Layout::array::<u8>(len) else { return Err(too_long) };
    // SAFETY: the layout has bytes; they are initialised, and were allocated as a vector does.
    unsafe {
        let bytes = std::alloc::alloc_zeroed(layout);
        if bytes.is_null() { Err(too_long) } else { Ok(Vec::from_raw_parts(bytes, len, len)) }
    }
}

fn put(bytes: &mut Vec<u8>, number: u64) {
    bytes.extend_from_slice(&number.to_le_bytes());
}

/// The checksum of what stands in the header, and of a hash of all that follows.
fn checksum(header: &[u8], content: &[u8; 16]) -> u64 {
    xxh3_64(&[header, content].concat())
}

/// Writes a section: its length, how much of the base is kept, how many runs it has, and these.
/// Returns what was written.
fn put_section(bytes: &mut Vec<u8>, section: &Section<'_>, leave_out: LeaveOut<'_>) -> Runs {
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

/// Writes what of some bytes of a section the base is not known to have.
fn put_unknown(
    writer: &mut RunWriter<'_>,
    at: usize,
    chunk: &[u8],
    base: &BasedOn<'_>,
    section: usize,
) {
    let is_new = base.lens.get(section).is_none_or(|len| at as u64 >= *len);
    let known = match base.bytes {
        // What is beyond its end is zero.
        _ if is_new => Some(Known::Zero),
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
            Known::Bytes(known) => Known::Bytes(&known[from..from + grain.len()]).is(grain),
            Known::Zero => is_zero(grain),
        };
        if !same {
            writer.put(place, grain);
        }
    }
}

/// Bytes that begin at a place, cut where places are multiples of a size.
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
    /// Adds bytes after all others of the section, to the last run if they follow it.
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

    /// Says how long the last run is.
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

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn number(&mut self) -> Result<u64, SnapshotError> {
        let bytes = self.bytes.get(self.at..self.at + 8);
        self.at += 8;
        let bytes = bytes.ok_or(SnapshotError::Damaged("it is cut off"))?;
        Ok(u64::from_le_bytes(bytes.try_into().expect("eight bytes")))
    }

    fn section(&mut self) -> Result<Runs, SnapshotError> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn written(sections: &[&[u8]], base: Option<&Bytes>) -> Bytes {
        let mut sections: Vec<_> = sections.iter().map(|bytes| Section::whole(*bytes)).collect();
        Bytes::new(&mut sections, base.map(BasedOn::from).as_ref())
    }

    #[test]
    fn sections_come_back_without_their_zeroes() {
        let mut long = vec![0; 10 * CHUNK + 5];
        (long[CHUNK], long[10 * CHUNK + 4]) = (1, 2);
        let sections = written(&[b"short", &long, b""], None);
        assert!(sections.as_bytes().len() < 3 * CHUNK);
        let read = Bytes::read(sections.as_bytes().to_vec()).unwrap();
        assert_eq!(read.section(0).unwrap().unwrap(), b"short");
        assert_eq!(read.section(1).unwrap().unwrap(), long);
        assert_eq!(read.section(2).unwrap().unwrap(), b"");
        assert!(read.section(3).unwrap().is_none());
    }

    #[test]
    fn a_based_one_has_what_differs_and_is_made_whole() {
        let mut section: Vec<u8> = (0..8 * CHUNK).map(|byte| (byte / 7) as u8).collect();
        let base = written(&[&section, b"a"], None);
        section[3 * CHUNK] ^= 1;
        section[5 * CHUNK..6 * CHUNK].fill(0);
        section.extend([7; 100]);
        let based = written(&[&section, b"a"], Some(&base));
        assert!(based.is_based() && based.as_bytes().len() < 4 * CHUNK);
        let whole = based.on(&base).unwrap();
        assert_eq!(
            (whole.section(0).unwrap().unwrap(), whole.section(1).unwrap().unwrap()),
            (section, b"a".to_vec())
        );
        assert!(matches!(based.on(&based), Err(SnapshotError::WrongBase)));
        let other = written(&[b"other"], None);
        assert!(matches!(based.on(&other), Err(SnapshotError::WrongBase)));
    }

    /// Numbers that look random.
    fn numbers(seed: u64) -> impl FnMut(usize) -> usize {
        let mut state = seed;
        move |below| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(99);
            (state >> 33) as usize % below
        }
    }

    #[test]
    fn those_in_a_row_are_put_together_in_any_order() {
        for seed in 0..200 {
            let mut below = numbers(seed);
            let mut states = vec![vec![1; below(3 * CHUNK)]];
            for _ in 0..3 {
                let mut next = states[states.len() - 1].clone();
                next.resize(below(3 * CHUNK), 0);
                for _ in 0..below(6) {
                    let (start, value) = (below(next.len() + 1), below(3) as u8);
                    let end = next.len().min(start + below(CHUNK));
                    next[start..end].fill(value);
                }
                states.push(next);
            }
            let mut all = vec![written(&[&states[0]], None)];
            for state in &states[1..] {
                let next = written(&[state], all.last());
                all.push(next);
            }
            let [first, a, b, c] = all.try_into().unwrap();
            let one_by_one = c.on(&b.on(&a.on(&first).unwrap()).unwrap()).unwrap();
            let at_once = c.on(&b).unwrap().on(&a).unwrap();
            assert!(at_once.is_based() && !one_by_one.is_based());
            let at_once = Bytes::read(at_once.as_bytes().to_vec()).unwrap().on(&first).unwrap();
            for whole in [one_by_one, at_once] {
                assert!(whole.section(0).unwrap().unwrap() == states[3], "seed {seed}");
                assert_eq!(whole.identity, c.identity);
            }
        }
    }

    #[test]
    fn what_is_new_and_zero_is_not_written() {
        let base = written(&[&[1; 100]], None);
        let based = written(&[&[1; 200]], Some(&base));
        let mut long = vec![1; 200];
        long.resize(100 * CHUNK, 0);
        for on in [BasedOn::from(&based), BasedOn { bytes: None, ..BasedOn::from(&based) }] {
            let mut parts = Ranges::default();
            parts.push(CHUNK..long.len());
            let mut section = [Section::parts(&long, &parts)];
            let next = Bytes::new(&mut section, Some(&on));
            assert!(next.as_bytes().len() < CHUNK);
            let whole = next.on(&based.on(&base).unwrap()).unwrap();
            assert!(whole.section(0).unwrap().unwrap() == long);
        }
    }

    #[test]
    fn the_same_change_of_another_base_is_another_snapshot() {
        let bases = [[1; 4 * CHUNK], [2; 4 * CHUNK]].map(|section| written(&[&section], None));
        let based = bases.each_ref().map(|base| {
            let mut section = base.section(0).unwrap().unwrap();
            section[CHUNK] = 9;
            section[CHUNK + 1..2 * CHUNK].fill(0);
            written(&[&section], Some(base))
        });
        assert_eq!(based[0].as_bytes()[HEADER..], based[1].as_bytes()[HEADER..]);
        let [first, second] = [0, 1].map(|i| based[i].on(&bases[i]).unwrap());
        let next = written(&[b"next"], Some(&first));
        assert!(next.on(&first).is_ok());
        assert!(matches!(next.on(&second), Err(SnapshotError::WrongBase)));
    }

    #[test]
    fn a_section_that_says_that_it_is_longer_than_memory_is_an_error() {
        let mut bytes = written(&[b"some bytes"], None).as_bytes().to_vec();
        for len in [u64::MAX, 1 << 62, 1 << 55] {
            bytes[HEADER + 8..HEADER + 16].copy_from_slice(&len.to_le_bytes());
            let content = xxh3_128(&bytes[HEADER..]).to_le_bytes();
            let checksum = checksum(&bytes[24..HEADER], &content);
            bytes[16..24].copy_from_slice(&checksum.to_le_bytes());
            let read = Bytes::read(bytes.clone()).unwrap();
            assert!(matches!(read.section(0), Err(SnapshotError::Damaged(_))));
        }
    }

    #[test]
    fn every_damaged_or_cut_off_byte_is_found() {
        let bytes = written(&[b"some bytes", b"more"], None).as_bytes().to_vec();
        for len in 0..bytes.len() {
            assert!(Bytes::read(bytes[..len].to_vec()).is_err(), "cut off at {len}");
        }
        for at in (0..bytes.len()).filter(|at| !(12..16).contains(at)) {
            let mut bytes = bytes.clone();
            bytes[at] ^= 0x40;
            assert!(Bytes::read(bytes).is_err(), "changed at {at}");
        }
    }
}
