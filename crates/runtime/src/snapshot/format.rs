//! The file format of snapshots.
//!
//! ```text
//!   Header: magic, format, checksum, identity, identity of the base
//!   for each section: its length, how much of its base is kept, then its runs
//!   run: where in the section it begins, its length, and its bytes
//! ```
//!
//! The sections are the [image](super::image) of the store, its heap, its stacks, its memories and
//! tables. Runs are in order. Bytes between them are zero. In an incremental snapshot they are as
//! in the base, up to the kept length.

use super::error::SnapshotError;
use super::section::{KnownBytes, LeaveOut, Run, Runs, Section, SectionReader, put, put_section};
use super::tracking::COPIED;
use std::alloc::Layout;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// The first bytes of a snapshot.
pub const MAGIC: [u8; 8] = *b"\x7Fropesnp";

/// The version of the format.
pub(super) const FORMAT: u32 = 5;

/// The length of the header.
const HEADER: usize = 8 + 4 + 4 + 8 + 16 + 16;

/// Distinguishes a snapshot from all others.
pub(crate) type Identity = [u8; 16];

/// A snapshot: encoded sections.
#[derive(Clone, Debug)]
pub struct Bytes {
    bytes: Arc<Vec<u8>>,
    identity: Identity,
    base: Identity,
    sections: Arc<Vec<Runs>>,
}

const NO_BASE: Identity = [0; 16];

/// The base of a snapshot: the lengths of its sections, and its bytes if they are available.
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

impl Bytes {
    /// Encodes sections; with a base, only what differs from it.
    pub(super) fn new(sections: &mut [Section<'_>], base: Option<&BasedOn<'_>>) -> Bytes {
        let identity = base.map_or(NO_BASE, |base| base.identity);
        let leave_out = |number| base.map_or(LeaveOut::Zeroes, |on| LeaveOut::Known(on, number));
        Bytes::put_together(sections, leave_out, identity, None)
    }

    /// Encodes sections, with another identity than that of the contents if one is given.
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
        // Two bases may be followed by the same changes.
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

    /// Decodes a snapshot.
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
        let mut reader = SectionReader { bytes: &bytes, at: HEADER };
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

    pub(crate) fn identity(&self) -> Identity {
        self.identity
    }

    /// Whether it is incremental.
    pub fn is_based(&self) -> bool {
        self.base != NO_BASE
    }

    /// Merges an incremental snapshot with its base. If that is incremental too, so is the result.
    pub fn on(&self, base: &Bytes) -> Result<Bytes, SnapshotError> {
        if self.base != base.identity {
            return Err(SnapshotError::WrongBase);
        }
        let mut sections: Vec<Section<'_>> =
            (0..self.count()).map(|number| self.section_on(base, number)).collect();
        // A new zero must hide the byte of the base's base.
        let leave_out = |_| if base.is_based() { LeaveOut::Nothing } else { LeaveOut::Zeroes };
        // Other snapshots may be based on this one.
        Ok(Bytes::put_together(&mut sections, leave_out, base.base, Some(self.identity)))
    }

    /// Merges a section with that of the base.
    fn section_on<'a>(&'a self, base: &'a Bytes, number: usize) -> Section<'a> {
        let Runs { len, kept, .. } = self.sections[number];
        // No more of the base's base counts than the base keeps.
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

    /// The runs of a section, cut at some length.
    fn pieces(&self, number: usize, len: usize) -> impl Iterator<Item = (usize, &[u8])> {
        self.runs(number).iter().take_while(move |run| run.start < len).map(move |run| {
            let bytes = &self.bytes[run.bytes.clone()];
            (run.start, &bytes[..bytes.len().min(len - run.start)])
        })
    }

    pub(super) fn lens(&self) -> Vec<u64> {
        self.sections.iter().map(|section| section.len as u64).collect()
    }

    pub(super) fn count(&self) -> usize {
        self.sections.len()
    }

    pub(super) fn section(&self, number: usize) -> Result<Option<Vec<u8>>, SnapshotError> {
        if number >= self.count() {
            return Ok(None);
        }
        let mut section = zeroes(self.len(number) as usize)?;
        self.fill(number, &mut section);
        Ok(Some(section))
    }

    /// The bytes of a section that is small enough to keep a copy.
    pub(super) fn small_section(&self, number: usize) -> Result<Option<Vec<u8>>, SnapshotError> {
        match self.len(number) as usize <= COPIED {
            true => self.section(number),
            false => Ok(None),
        }
    }

    /// Copies the runs of a section into memory that is zero or has the bytes of the base.
    pub(super) fn fill(&self, number: usize, section: &mut [u8]) {
        for run in self.runs(number) {
            let bytes = &self.bytes[run.bytes.clone()];
            let Some(place) = section.get_mut(run.start..) else { break };
            let len = bytes.len().min(place.len());
            place[..len].copy_from_slice(&bytes[..len]);
        }
    }

    pub(super) fn len(&self, number: usize) -> u64 {
        self.sections.get(number).map_or(0, |section| section.len as u64)
    }

    fn runs(&self, number: usize) -> &[Run] {
        self.sections.get(number).map_or(&[], |section| &section.runs)
    }

    /// The bytes of a part of a section, if they are known.
    pub(super) fn known(&self, number: usize, part: Range<usize>) -> Option<KnownBytes<'_>> {
        let runs = self.runs(number);
        let after = runs.partition_point(|run| run.start <= part.start);
        if let Some(run) = after.checked_sub(1).map(|last| &runs[last])
            && part.start < run.end()
        {
            let start = run.bytes.start + (part.start - run.start);
            let is_inside = part.end <= run.end();
            return is_inside.then(|| KnownBytes::Bytes(&self.bytes[start..start + part.len()]));
        }
        let is_between = runs.get(after).is_none_or(|next| part.end <= next.start);
        (is_between && !self.is_based()).then_some(KnownBytes::Zero)
    }
}

/// Zeroes that take no memory until they are written. Fails if there is not enough memory.
fn zeroes(len: usize) -> Result<Vec<u8>, SnapshotError> {
    if len == 0 {
        return Ok(Vec::new());
    }
    let too_long = SnapshotError::Damaged("a section is longer than there is memory");
    let Ok(layout) = Layout::array::<u8>(len) else { return Err(too_long) };
    // SAFETY: the layout is not empty; the bytes are initialized, and allocated as a vector does.
    unsafe {
        let bytes = std::alloc::alloc_zeroed(layout);
        if bytes.is_null() { Err(too_long) } else { Ok(Vec::from_raw_parts(bytes, len, len)) }
    }
}

/// The checksum of the header and of a hash of the contents.
fn checksum(header: &[u8], content: &[u8; 16]) -> u64 {
    xxh3_64(&[header, content].concat())
}

#[cfg(test)]
mod tests {
    use super::super::ranges::Ranges;
    use super::super::section::CHUNK;
    use super::*;

    fn written(sections: &[&[u8]], base: Option<&Bytes>) -> Bytes {
        let mut sections: Vec<_> = sections.iter().map(|bytes| Section::whole(*bytes)).collect();
        Bytes::new(&mut sections, base.map(BasedOn::from).as_ref())
    }

    fn content(bytes: &Bytes, number: usize) -> Vec<u8> {
        bytes.section(number).unwrap().unwrap()
    }

    #[test]
    fn sections_come_back_without_their_zeroes() {
        let mut long = vec![0; 10 * CHUNK + 5];
        (long[CHUNK], long[10 * CHUNK + 4]) = (1, 2);
        let sections = written(&[b"short", &long, b""], None);
        assert!(sections.as_bytes().len() < 3 * CHUNK);
        let read = Bytes::read(sections.as_bytes().to_vec()).unwrap();
        assert_eq!(content(&read, 0), b"short");
        assert_eq!(content(&read, 1), long);
        assert_eq!(content(&read, 2), b"");
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
        assert_eq!((content(&whole, 0), content(&whole, 1)), (section, b"a".to_vec()));
        assert!(matches!(based.on(&based), Err(SnapshotError::WrongBase)));
        let other = written(&[b"other"], None);
        assert!(matches!(based.on(&other), Err(SnapshotError::WrongBase)));
    }

    /// Pseudo-random numbers.
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
                assert!(content(&whole, 0) == states[3], "seed {seed}");
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
            assert!(content(&whole, 0) == long);
        }
    }

    #[test]
    fn the_same_change_of_another_base_is_another_snapshot() {
        let bases = [[1; 4 * CHUNK], [2; 4 * CHUNK]].map(|section| written(&[&section], None));
        let based = bases.each_ref().map(|base| {
            let mut section = content(base, 0);
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
