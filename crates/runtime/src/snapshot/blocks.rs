//! Blocks of the table of stacks as records of one size, which keep their place in a snapshot.
//!
//! Frames and marks, whose sizes vary, lie in a section of their own.

use super::error::SnapshotError;
use super::image::MarkImage;
use bytemuck::{Pod, Zeroable};
use ropewalk_abi::stack::Purpose;

pub(super) const RECORD: usize = size_of::<Record>();

const _: () = assert!(RECORD == 64);

/// The record of a block. Only stacks use all fields.
#[derive(Clone, Copy, Debug, Pod, Zeroable)]
#[repr(C)]
pub(super) struct Record {
    pub kind: u8,
    pub purpose: u8,
    pub flags: u8,
    pub is_grouped: u8,
    /// Numbers of other blocks. Zero is null, and [`NO_PARENT`] the parent of bases.
    pub parent: u32,
    pub innermost: u32,
    pub through: u32,
    pub extender: u32,
    /// Numbers of symbols, or `NOTHING`.
    pub handlers: u32,
    pub function: u32,
    pub entry: u32,
    /// The distance of the newest link from the end of the frames, or zero.
    pub fp: u32,
    /// The length of the frames.
    pub frames: u32,
    /// Where the frames begin, and the trailer after them.
    pub start: u64,
    pub reference: u64,
    pub sought: u64,
}

/// Stands for the parent of bases.
pub(super) const NO_PARENT: u32 = u32::MAX;

const VACANT: u8 = 0;
const RETIRED: u8 = 1;
const LOST: u8 = 2;
const SPENT: u8 = 3;
const STACK: u8 = 4;

/// Flags of records.
pub(super) const OWNS: u8 = 1;
/// The stack belongs to an activation, running or pending.
pub(super) const IS_ACTIVE: u8 = 2;
/// The host holds the stack.
pub(super) const IS_HELD: u8 = 4;
/// Its marks lie after its frames.
const HAS_MARKS: u8 = 8;

impl Record {
    pub fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

#[derive(Debug)]
pub(super) enum BlockImage {
    /// It has no stack. Its next stack gets this reference.
    Vacant(u64),
    /// It has no stack, and runs out of references.
    Retired,
    /// A task or fiber that will never be resumed.
    Lost {
        purpose: Purpose,
        reference: u64,
    },
    /// A freed root: the stacks `inside`, innermost first, end with its call.
    Spent {
        reference: u64,
        inside: Vec<usize>,
    },
    Stack {
        purpose: Purpose,
        record: Record,
        marks: Vec<MarkImage>,
    },
}

/// Appends the trailer of a block: what belongs after its frames.
pub(super) fn push_trailer(
    block: &BlockImage,
    frames: &mut Vec<u8>,
) -> Result<(), postcard::Error> {
    let trailer = match block {
        BlockImage::Stack { marks, .. } if !marks.is_empty() => postcard::to_allocvec(marks)?,
        BlockImage::Spent { inside, .. } => postcard::to_allocvec(inside)?,
        _ => return Ok(()),
    };
    frames.extend_from_slice(&(trailer.len() as u64).to_le_bytes());
    frames.extend_from_slice(&trailer);
    Ok(())
}

/// The record of a block whose frames and trailer begin at `start`.
pub(super) fn record(block: &BlockImage, start: u64) -> [u8; RECORD] {
    let blank = Record::zeroed();
    bytemuck::cast(match *block {
        BlockImage::Vacant(reference) => Record { kind: VACANT, reference, ..blank },
        BlockImage::Retired => Record { kind: RETIRED, ..blank },
        BlockImage::Lost { purpose, reference } => {
            Record { kind: LOST, purpose: purpose as u8, reference, ..blank }
        }
        BlockImage::Spent { reference, .. } => Record { kind: SPENT, reference, start, ..blank },
        BlockImage::Stack { purpose, record, ref marks } => {
            let has_marks = if marks.is_empty() { 0 } else { HAS_MARKS };
            let flags = record.flags | has_marks;
            Record { kind: STACK, purpose: purpose as u8, flags, start, ..record }
        }
    })
}

/// Reads a record, and its trailer in the section of frames.
pub(super) fn read(record: &[u8], frames: &[u8]) -> Result<BlockImage, SnapshotError> {
    let record: Record = bytemuck::pod_read_unaligned(record);
    let &Record { reference, .. } = &record;
    Ok(match record.kind {
        VACANT => BlockImage::Vacant(reference),
        RETIRED => BlockImage::Retired,
        LOST => BlockImage::Lost { purpose: purpose(record.purpose)?, reference },
        SPENT => BlockImage::Spent { reference, inside: read_trailer(frames, record.start)? },
        STACK => {
            let marks = match record.has(HAS_MARKS) {
                true => read_trailer(frames, record.start.saturating_add(record.frames.into()))?,
                false => Vec::new(),
            };
            BlockImage::Stack { purpose: purpose(record.purpose)?, record, marks }
        }
        _ => return Err(SnapshotError::Damaged("a block is of no kind")),
    })
}

/// The place and length of a block's frames and trailer, if it has any.
pub(super) fn place(record: &[u8], frames: &[u8]) -> Result<Option<(usize, usize)>, SnapshotError> {
    let record: Record = bytemuck::pod_read_unaligned(record);
    let trailer = match record.kind == SPENT || record.has(HAS_MARKS) {
        true => {
            let start = record.start.saturating_add(record.frames.into());
            let trailer = bytes_at(frames, start).ok_or(DAMAGED_TRAILER)?;
            trailer.len() + size_of::<u64>()
        }
        false => 0,
    };
    let len = record.frames as usize + trailer;
    Ok((len > 0).then_some((record.start as usize, len)))
}

/// Whether all state of a block is in its record.
pub(super) fn stands_alone(record: &[u8]) -> bool {
    let record: Record = bytemuck::pod_read_unaligned(record);
    matches!(record.kind, VACANT | STACK)
        && !record.has(IS_ACTIVE | IS_HELD)
        && record.purpose != Purpose::Root as u8
}

const DAMAGED_TRAILER: SnapshotError = SnapshotError::Damaged("marks cannot be read");

fn purpose(number: u8) -> Result<Purpose, SnapshotError> {
    use Purpose::*;
    let all = [Free, Continuation, Bag, Task, Fiber, FirstClass, Root];
    let found = all.into_iter().find(|purpose| *purpose as u8 == number);
    found.ok_or(SnapshotError::Damaged("a stack has no purpose"))
}

/// Reads a trailer, which begins with its length.
fn read_trailer<T: serde::de::DeserializeOwned>(
    frames: &[u8],
    start: u64,
) -> Result<T, SnapshotError> {
    let read = bytes_at(frames, start).and_then(|bytes| postcard::from_bytes(bytes).ok());
    read.ok_or(DAMAGED_TRAILER)
}

fn bytes_at(frames: &[u8], start: u64) -> Option<&[u8]> {
    let rest = frames.get(usize::try_from(start).ok()?..)?;
    let (len, rest) = rest.split_first_chunk()?;
    rest.get(..usize::try_from(u64::from_le_bytes(*len)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::super::image::{MarkKindImage, NOTHING};
    use super::*;

    fn comes_back(block: &BlockImage) {
        let start = 16;
        let mut frames = vec![7; start];
        if let BlockImage::Stack { record, .. } = block {
            frames.resize(start + record.frames as usize, 8);
        }
        push_trailer(block, &mut frames).unwrap();
        let again = read(&record(block, start as u64), &frames).unwrap();
        assert_eq!(format!("{again:?}"), format!("{block:?}"));
        let short = &frames[..frames.len() - 1];
        let is_short = !matches!(block, BlockImage::Stack { marks, .. } if marks.is_empty());
        let has_trailer = is_short && frames.len() > start;
        assert_eq!(read(&record(block, start as u64), short).is_err(), has_trailer);
    }

    #[test]
    fn every_kind_of_block_comes_back() {
        comes_back(&BlockImage::Vacant(77));
        comes_back(&BlockImage::Retired);
        comes_back(&BlockImage::Lost { purpose: Purpose::Fiber, reference: 5 });
        comes_back(&BlockImage::Spent { reference: 6, inside: vec![3, 4] });
        let mark =
            |depth| MarkImage { depth, serial: 9, kind: MarkKindImage::Redirect { boxed: 8 } };
        for marks in [vec![], vec![mark(1), mark(2)]] {
            let record = Record {
                kind: STACK,
                purpose: Purpose::FirstClass as u8,
                flags: OWNS | IS_HELD | if marks.is_empty() { 0 } else { HAS_MARKS },
                is_grouped: 2,
                parent: NO_PARENT,
                innermost: 1,
                through: 2,
                extender: 0,
                handlers: 3,
                function: NOTHING,
                entry: 4,
                fp: 48,
                frames: 64,
                start: 16,
                reference: u64::MAX - 1,
                sought: 1 << 40,
            };
            comes_back(&BlockImage::Stack { purpose: Purpose::FirstClass, record, marks });
        }
    }

    #[test]
    fn records_of_no_kind_or_purpose_are_errors() {
        let mut record = record(&BlockImage::Lost { purpose: Purpose::Task, reference: 1 }, 0);
        record[1] = 99;
        assert!(read(&record, &[]).is_err());
        record[0] = 99;
        assert!(read(&record, &[]).is_err());
    }
}
