//! Blocks of the table of stacks as records of one size, so that unchanged blocks keep their place
//! in a snapshot.
//!
//! Frames and marks, whose sizes vary, lie in a section of their own.

use super::error::SnapshotError;
use super::image::{BlockImage, Frames, MarkImage, NO_PARENT, StackImage};
use bytemuck::{Pod, Zeroable};
use ropewalk_abi::stack::Purpose;

/// The size of the record of a block.
pub(super) const RECORD: usize = size_of::<Record>();

const _: () = assert!(RECORD == 64);

#[derive(Clone, Copy, Pod, Zeroable)]
#[repr(C)]
struct Record {
    kind: u8,
    purpose: u8,
    flags: u8,
    is_grouped: u8,
    parent: u32,
    innermost: u32,
    through: u32,
    extender: u32,
    handlers: u32,
    function: u32,
    entry: u32,
    fp: u32,
    /// The length of the frames.
    frames: u32,
    /// Where the frames begin, and the trailer after them.
    start: u64,
    reference: u64,
    sought: u64,
}

const VACANT: u8 = 0;
const RETIRED: u8 = 1;
const LOST: u8 = 2;
const SPENT: u8 = 3;
const STACK: u8 = 4;

const OWNS: u8 = 1;
const IS_ACTIVE: u8 = 2;
const IS_HELD: u8 = 4;
/// Its marks lie after its frames.
const HAS_MARKS: u8 = 8;

/// Appends the trailer of a block: what belongs after its frames.
pub(super) fn bytes_beside(
    block: &BlockImage,
    frames: &mut Vec<u8>,
) -> Result<(), postcard::Error> {
    let beside = match block {
        BlockImage::Stack(stack) if !stack.marks.is_empty() => postcard::to_allocvec(&stack.marks)?,
        BlockImage::Spent { inside, .. } => postcard::to_allocvec(inside)?,
        _ => return Ok(()),
    };
    frames.extend_from_slice(&(beside.len() as u64).to_le_bytes());
    frames.extend_from_slice(&beside);
    Ok(())
}

/// The record of a block whose frames and trailer begin at `start`.
pub(super) fn record(block: &BlockImage, start: u64) -> [u8; RECORD] {
    let record = match block {
        BlockImage::Vacant(reference) => {
            Record { kind: VACANT, reference: *reference, ..Record::zeroed() }
        }
        BlockImage::Retired => Record { kind: RETIRED, ..Record::zeroed() },
        BlockImage::Lost { purpose, reference } => {
            let purpose = *purpose as u8;
            Record { kind: LOST, purpose, reference: *reference, ..Record::zeroed() }
        }
        BlockImage::Spent { reference, .. } => {
            Record { kind: SPENT, reference: *reference, start, ..Record::zeroed() }
        }
        BlockImage::Stack(stack) => of_stack(stack, start),
    };
    bytemuck::cast(record)
}

fn of_stack(stack: &StackImage, start: u64) -> Record {
    let flag = |is_set: bool, flag: u8| if is_set { flag } else { 0 };
    let flags = flag(stack.owns, OWNS)
        | flag(stack.is_active, IS_ACTIVE)
        | flag(stack.is_held, IS_HELD)
        | flag(!stack.marks.is_empty(), HAS_MARKS);
    Record {
        kind: STACK,
        purpose: stack.purpose as u8,
        flags,
        is_grouped: stack.is_grouped as u8,
        parent: number(stack.parent),
        innermost: number(stack.innermost),
        through: number(stack.through),
        extender: number(stack.extender),
        handlers: stack.handlers,
        function: stack.function,
        entry: stack.entry,
        fp: stack.fp,
        frames: stack.frames.len,
        start,
        reference: stack.reference,
        sought: stack.sought,
    }
}

/// The number of a block. There are fewer blocks than numbers.
fn number(block: usize) -> u32 {
    match block {
        NO_PARENT => u32::MAX,
        block => block as u32,
    }
}

fn number_of(block: u32) -> usize {
    match block {
        u32::MAX => NO_PARENT,
        block => block as usize,
    }
}

/// Reads a record, and its trailer in the section of frames.
pub(super) fn read(record: &[u8], frames: &[u8]) -> Result<BlockImage, SnapshotError> {
    let record: Record = bytemuck::pod_read_unaligned(record);
    let &Record { reference, .. } = &record;
    Ok(match record.kind {
        VACANT => BlockImage::Vacant(reference),
        RETIRED => BlockImage::Retired,
        LOST => BlockImage::Lost { purpose: purpose(record.purpose)?, reference },
        SPENT => BlockImage::Spent { reference, inside: read_beside(frames, record.start)? },
        STACK => BlockImage::Stack(Box::new(stack(&record, frames)?)),
        _ => return Err(SnapshotError::Damaged("a block is of no kind")),
    })
}

/// The place and length of a block's frames and trailer, if it has any.
pub(super) fn place(record: &[u8], frames: &[u8]) -> Result<Option<(usize, usize)>, SnapshotError> {
    let record: Record = bytemuck::pod_read_unaligned(record);
    let has_beside = record.kind == SPENT || record.flags & HAS_MARKS != 0;
    let beside = match has_beside {
        true => {
            bytes_at(frames, record.start.saturating_add(record.frames.into()))
                .ok_or(SnapshotError::Damaged("marks cannot be read"))?
                .len()
                + size_of::<u64>()
        }
        false => 0,
    };
    let len = record.frames as usize + beside;
    Ok((len > 0).then_some((record.start as usize, len)))
}

/// Whether all state of a block is in its record.
pub(super) fn stands_alone(record: &[u8]) -> bool {
    let record: Record = bytemuck::pod_read_unaligned(record);
    matches!(record.kind, VACANT | STACK)
        && record.flags & (IS_ACTIVE | IS_HELD) == 0
        && record.purpose != Purpose::Root as u8
}

fn stack(record: &Record, frames: &[u8]) -> Result<StackImage, SnapshotError> {
    let has = |flag| record.flags & flag != 0;
    let marks: Vec<MarkImage> = match has(HAS_MARKS) {
        true => read_beside(frames, record.start.saturating_add(record.frames.into()))?,
        false => Vec::new(),
    };
    Ok(StackImage {
        purpose: purpose(record.purpose)?,
        reference: record.reference,
        parent: number_of(record.parent),
        innermost: number_of(record.innermost),
        through: number_of(record.through),
        extender: number_of(record.extender),
        is_grouped: record.is_grouped.into(),
        sought: record.sought,
        owns: has(OWNS),
        handlers: record.handlers,
        function: record.function,
        entry: record.entry,
        is_active: has(IS_ACTIVE),
        is_held: has(IS_HELD),
        fp: record.fp,
        frames: Frames { start: record.start, len: record.frames },
        marks,
    })
}

fn purpose(number: u8) -> Result<Purpose, SnapshotError> {
    use Purpose::*;
    let all = [Free, Continuation, Bag, Task, Fiber, FirstClass, Root];
    let found = all.into_iter().find(|purpose| *purpose as u8 == number);
    found.ok_or(SnapshotError::Damaged("a stack has no purpose"))
}

/// Reads a trailer, which begins with its length.
fn read_beside<T: serde::de::DeserializeOwned>(
    frames: &[u8],
    start: u64,
) -> Result<T, SnapshotError> {
    let read = bytes_at(frames, start).and_then(|bytes| postcard::from_bytes(bytes).ok());
    read.ok_or(SnapshotError::Damaged("marks cannot be read"))
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
        if let BlockImage::Stack(stack) = block {
            frames.resize(start + stack.frames.len as usize, 8);
        }
        bytes_beside(block, &mut frames).unwrap();
        let again = read(&record(block, start as u64), &frames).unwrap();
        assert_eq!(format!("{again:?}"), format!("{block:?}"));
        let short = &frames[..frames.len() - 1];
        let is_short = !matches!(block, BlockImage::Stack(stack) if stack.marks.is_empty());
        let has_beside = is_short && frames.len() > start;
        assert_eq!(read(&record(block, start as u64), short).is_err(), has_beside);
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
            comes_back(&BlockImage::Stack(Box::new(StackImage {
                purpose: Purpose::FirstClass,
                reference: u64::MAX - 1,
                parent: NO_PARENT,
                innermost: 1,
                through: 2,
                extender: 0,
                is_grouped: 2,
                sought: 1 << 40,
                owns: true,
                handlers: 3,
                function: NOTHING,
                entry: 4,
                is_active: false,
                is_held: true,
                fp: 48,
                frames: Frames { start: 16, len: 64 },
                marks,
            })));
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
