//! A snapshot as bytes.
//!
//! ```text
//!   Header: magic, format, checksum, identity, identity of the base
//!   for each section: its length, then its runs of chunks
//!   run: first chunk, how many, and their bytes
//! ```
//!
//! The sections are what is [written](super::image) of the store, its heap, its frames, and
//! its memories. Each is a row of chunks of a page. Chunks that are all zero are left out; in a
//! snapshot that is based on another, chunks are too that are the same there.

use std::alloc::Layout;
use std::ops::Range;
use std::sync::Arc;
use xxhash_rust::xxh3::{xxh3_64, xxh3_128};

/// What snapshots begin with.
pub const MAGIC: [u8; 8] = *b"\x7Fropesnp";

/// Goes up when what is written changes.
const FORMAT: u32 = 2;

/// How many bytes a chunk has.
const CHUNK: usize = 4096;

/// How many bytes the header has.
const HEADER: usize = 8 + 4 + 4 + 8 + 16 + 16;

/// Why a store cannot be written down, or read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SnapshotError {
    /// Code was not compiled for it.
    #[error("the engine does not compile for snapshots (Config::snapshots)")]
    Disabled,
    /// The engine has panicked.
    #[error("the store cannot be used any more, so it cannot be written down")]
    Poisoned,
    /// There is a host function outside of the one that asks.
    /// Which function has called it, if that has a name.
    #[error(
        "a host function outside of this one{} has called WebAssembly, and functions of the host \
         cannot be written down; take the snapshot in a function that is called from the \
         outermost call", .0.as_ref().map(|name| format!(", which {name:?} has called,")).unwrap_or_default()
    )]
    Nested(Option<String>),
    /// The host has continued what runs, which is no continuation: a task, a fiber or a stack.
    #[error(
        "the host has continued {0} and waits for it; take the snapshot when it has come back, \
         or in a call of a function or of a continuation (Func::call, Continuation::resume)"
    )]
    Resumed(&'static str),
    /// Calls wait for a limiter.
    #[error(
        "{0} calls wait for the limiter of the store, whose futures cannot be written down; take \
         the snapshot when it has decided"
    )]
    Limiter(usize),
    /// The host holds something that has no name.
    #[error(
        "the host holds {0} continuations or stacks without a name in the snapshot, so they \
         would be lost (SnapshotOptions::name_continuation, name_bag_stack, \
         name_first_class_stack)"
    )]
    Unnamed(usize),
    /// The host does not hold any more what has a name.
    #[error(
        "the host does not hold the {what} any more that it has named {name:?}: it was resumed, \
         freed or given away since then; name what there is when the snapshot is taken"
    )]
    Gone {
        /// What has the name.
        what: &'static str,
        /// Its name.
        name: String,
    },
    /// The host has two names for what it can have only once.
    #[error(
        "what the host has named {name:?} has the name {before:?} already, and the host can hold \
         it only once; give it one name"
    )]
    NamedTwice {
        /// The second name.
        name: String,
        /// The first one.
        before: String,
    },
    /// A host function is a value, and not found by its import.
    #[error(
        "a function of the host is in a table, a global, an object or a frame, and no import \
         names it: only functions that are imported are found again"
    )]
    HostFunction,
    /// A value of the host cannot be written.
    #[error("a value of the host cannot be written down: {0}")]
    HostValue(String),
    /// A type that no module has.
    #[error("an object or function has a type of the host that no module of the store defines")]
    ForeignType,
    /// There is something that is not known.
    #[error("this is a bug of the engine: {0} at {1:#x} is not known")]
    Unknown(&'static str, usize),
    /// It is no snapshot.
    #[error("these bytes are no snapshot")]
    Other,
    /// Another version.
    #[error(
        "the snapshot was taken by another version of Ropewalk (format {0}, expected {FORMAT})"
    )]
    Format(u32),
    /// Bytes are missing or differ.
    #[error("the snapshot is damaged: {0}")]
    Damaged(&'static str),
    /// It needs another.
    #[error("the snapshot has only what has changed since another, which is needed too")]
    NeedsBase,
    /// It needs another than this.
    #[error("the snapshot is based on another one than this")]
    WrongBase,
    /// What differs.
    #[error("the snapshot was taken with another setting: {name} was {was}, and is {is}")]
    Setting {
        /// The setting.
        name: String,
        /// What it was.
        was: String,
        /// What it is now.
        is: String,
    },
    /// A module is not at hand.
    #[error(
        "the snapshot needs a module{} that is not among those given: compiled from the same \
         binary, by the same version with the same settings", .0.as_ref().map(|name| format!(" named {name:?}")).unwrap_or_default()
    )]
    MissingModule(Option<String>),
    /// A host function is not at hand.
    #[error(
        "the snapshot needs the host function {module:?} {name:?}, which the linker does not define"
    )]
    MissingImport {
        /// The module that is imported from.
        module: String,
        /// The name there.
        name: String,
    },
    /// There is nothing of that name.
    #[error("the snapshot has no {what} named {name:?}")]
    NoSuchName {
        /// What was asked for.
        what: &'static str,
        /// Its name.
        name: String,
    },
}

/// A snapshot: sections of bytes.
#[derive(Clone, Debug)]
pub struct Bytes {
    bytes: Arc<Vec<u8>>,
    /// Tells it from all others.
    identity: [u8; 16],
    base: [u8; 16],
    /// For each section: its length, and where its runs are.
    sections: Arc<Vec<(u64, Vec<Run>)>>,
}

/// Chunks one after another.
#[derive(Clone, Debug)]
struct Run {
    first: u64,
    /// Where their bytes are. The last chunk of a section may be shorter.
    bytes: Range<usize>,
}

const NO_BASE: [u8; 16] = [0; 16];

impl Bytes {
    /// Puts sections together; of another snapshot, if one is given, only what differs.
    pub(super) fn new(sections: &[&[u8]], base: Option<&Bytes>) -> Bytes {
        Bytes::put_together(sections, base, None)
    }

    /// The same, with another identity than its own.
    fn put_together(sections: &[&[u8]], base: Option<&Bytes>, identity: Option<[u8; 16]>) -> Bytes {
        let mut bytes = vec![0; HEADER];
        put(&mut bytes, sections.len() as u64);
        let mut written = Vec::new();
        for (number, section) in sections.iter().enumerate() {
            let base = base.map(|base| base.chunks(number));
            let runs = put_section(&mut bytes, section, base.as_deref());
            written.push((section.len() as u64, runs));
        }
        let content = xxh3_128(&bytes[HEADER..]).to_le_bytes();
        let base = base.map_or(NO_BASE, |base| base.identity);
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

    /// Whether it is based on another.
    pub fn is_based(&self) -> bool {
        self.base != NO_BASE
    }

    /// The same, with what it takes from its base.
    pub fn on(&self, base: &Bytes) -> Result<Bytes, SnapshotError> {
        if base.is_based() {
            return Err(SnapshotError::NeedsBase);
        }
        if self.base != base.identity {
            return Err(SnapshotError::WrongBase);
        }
        let sections: Vec<Vec<u8>> = (0..self.sections.len())
            .map(|number| {
                let len = self.sections[number].0 as usize;
                let known = base.section(number)?.unwrap_or_default();
                let mut section = zeroes(len)?;
                let same = known.len().min(len);
                section[..same].copy_from_slice(&known[..same]);
                self.fill(number, &mut section);
                Ok(section)
            })
            .collect::<Result<_, SnapshotError>>()?;
        let sections: Vec<&[u8]> = sections.iter().map(Vec::as_slice).collect();
        // Others may be based on this one.
        Ok(Bytes::put_together(&sections, None, Some(self.identity)))
    }

    /// How many sections there are.
    pub(super) fn count(&self) -> usize {
        self.sections.len()
    }

    /// The bytes of a section.
    pub(super) fn section(&self, number: usize) -> Result<Option<Vec<u8>>, SnapshotError> {
        let Some((len, _)) = self.sections.get(number) else { return Ok(None) };
        let mut section = zeroes(*len as usize)?;
        self.fill(number, &mut section);
        Ok(Some(section))
    }

    /// Puts the chunks of a section into memory that is zero, or is that of its base.
    pub(super) fn fill(&self, number: usize, section: &mut [u8]) {
        for run in &self.sections[number].1 {
            let start = run.first as usize * CHUNK;
            let bytes = &self.bytes[run.bytes.clone()];
            section[start..start + bytes.len()].copy_from_slice(bytes);
        }
    }

    /// How long a section is.
    pub(super) fn len(&self, number: usize) -> u64 {
        self.sections.get(number).map_or(0, |(len, _)| *len)
    }

    /// The chunks of a section; those that are left out are none.
    fn chunks(&self, number: usize) -> Vec<Option<&[u8]>> {
        let len = self.len(number) as usize;
        let mut chunks = vec![None; len.div_ceil(CHUNK)];
        let runs = self.sections.get(number).map_or(&[][..], |(_, runs)| runs);
        for run in runs {
            let bytes = self.bytes[run.bytes.clone()].chunks(CHUNK);
            for (chunk, bytes) in (run.first as usize..).zip(bytes) {
                chunks[chunk] = Some(bytes);
            }
        }
        chunks
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

/// Writes a section: its length, how many runs it has, and these, which are returned.
fn put_section(bytes: &mut Vec<u8>, section: &[u8], base: Option<&[Option<&[u8]>]>) -> Vec<Run> {
    put(bytes, section.len() as u64);
    let count = bytes.len();
    put(bytes, 0);
    let mut runs: Vec<Run> = Vec::new();
    let mut is_known = (0..).zip(section.chunks(CHUNK)).map(|(number, chunk)| {
        match base.and_then(|base| base.get(number)) {
            Some(Some(known)) => *known == chunk,
            // In a base, what is left out is zero; a longer chunk is another.
            Some(None) | None => is_zero(chunk),
        }
    });
    let mut number = 0;
    while let Some(is_left_out) = is_known.next() {
        let first = number;
        number += 1;
        if is_left_out {
            continue;
        }
        // All that follow and are not known go along.
        let mut end = number;
        for is_left_out in is_known.by_ref() {
            number += 1;
            if is_left_out {
                break;
            }
            end = number;
        }
        let run = &section[first * CHUNK..section.len().min(end * CHUNK)];
        put(bytes, first as u64);
        put(bytes, run.len() as u64);
        let start = bytes.len();
        bytes.extend_from_slice(run);
        runs.push(Run { first: first as u64, bytes: start..bytes.len() });
    }
    bytes[count..count + 8].copy_from_slice(&(runs.len() as u64).to_le_bytes());
    runs
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

    fn section(&mut self) -> Result<(u64, Vec<Run>), SnapshotError> {
        let damaged = SnapshotError::Damaged;
        let len = self.number()?;
        let count = self.number()?;
        let mut runs = Vec::new();
        for _ in 0..count {
            let (first, bytes) = (self.number()?, self.number()?);
            let start = first.checked_mul(CHUNK as u64);
            let end = start.and_then(|start| start.checked_add(bytes));
            if end.is_none_or(|end| end > len) {
                return Err(damaged("a run reaches beyond its section"));
            }
            let range = self.at..self.at.saturating_add(bytes as usize);
            self.at = range.end;
            if range.end > self.bytes.len() {
                return Err(damaged("it is cut off"));
            }
            runs.push(Run { first, bytes: range });
        }
        Ok((len, runs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sections_come_back_without_their_zeroes() {
        let mut long = vec![0; 10 * CHUNK + 5];
        (long[CHUNK], long[10 * CHUNK + 4]) = (1, 2);
        let written = Bytes::new(&[b"short", &long, b""], None);
        assert!(written.as_bytes().len() < 3 * CHUNK);
        let read = Bytes::read(written.as_bytes().to_vec()).unwrap();
        assert_eq!(read.section(0).unwrap().unwrap(), b"short");
        assert_eq!(read.section(1).unwrap().unwrap(), long);
        assert_eq!(read.section(2).unwrap().unwrap(), b"");
        assert!(read.section(3).unwrap().is_none());
    }

    #[test]
    fn a_based_one_has_what_differs_and_is_made_whole() {
        let mut section: Vec<u8> = (0..8 * CHUNK).map(|byte| (byte / 7) as u8).collect();
        let base = Bytes::new(&[&section, b"a"], None);
        section[3 * CHUNK] ^= 1;
        section[5 * CHUNK..6 * CHUNK].fill(0);
        section.extend([7; 100]);
        let based = Bytes::new(&[&section, b"a"], Some(&base));
        assert!(based.is_based() && based.as_bytes().len() < 4 * CHUNK);
        let whole = based.on(&base).unwrap();
        assert_eq!(
            (whole.section(0).unwrap().unwrap(), whole.section(1).unwrap().unwrap()),
            (section, b"a".to_vec())
        );
        assert!(matches!(based.on(&based), Err(SnapshotError::NeedsBase)));
        let other = Bytes::new(&[b"other"], None);
        assert!(matches!(based.on(&other), Err(SnapshotError::WrongBase)));
    }

    #[test]
    fn the_same_change_of_another_base_is_another_snapshot() {
        let bases = [[1; 4 * CHUNK], [2; 4 * CHUNK]].map(|section| Bytes::new(&[&section], None));
        let based = bases.each_ref().map(|base| {
            let mut section = base.section(0).unwrap().unwrap();
            section[CHUNK] = 9;
            section[CHUNK + 1..2 * CHUNK].fill(0);
            Bytes::new(&[&section], Some(base))
        });
        assert_eq!(based[0].as_bytes()[HEADER..], based[1].as_bytes()[HEADER..]);
        let [first, second] = [0, 1].map(|i| based[i].on(&bases[i]).unwrap());
        let next = Bytes::new(&[b"next"], Some(&first));
        assert!(next.on(&first).is_ok());
        assert!(matches!(next.on(&second), Err(SnapshotError::WrongBase)));
    }

    #[test]
    fn a_section_that_says_that_it_is_longer_than_memory_is_an_error() {
        let mut bytes = Bytes::new(&[b"some bytes"], None).as_bytes().to_vec();
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
        let bytes = Bytes::new(&[b"some bytes", b"more"], None).as_bytes().to_vec();
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
