//! Reads a file, which may be truncated, or not be a trace.

use serde::Deserialize;

use super::block::{BlockKind, HEAD, Head};
use super::{MAGIC, VERSION};
use crate::{Event, EventKind, FramesId, FunctionId, TagId, Trace};

/// The contents of a file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// The trace, without incomplete items.
    pub trace: Trace,
    /// Whether the file is complete. A truncated file lacks the last events.
    pub is_whole: bool,
}

/// Why a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadTrace {
    /// The file does not start with the magic bytes of a trace.
    #[error("this is not a trace: expected a file that `ropewalk run --trace` wrote")]
    NotATrace,
    /// The file has another version of the format.
    #[error(
        "this trace has version {found} of the format, but version {VERSION} was expected: \
         record it again, or show it with the `ropewalk` that recorded it"
    )]
    OtherVersion {
        /// The version of the file.
        found: u32,
    },
    /// A block is damaged.
    #[error("this trace is damaged at byte {offset}: {what}")]
    Damaged {
        /// The offset of the damaged block.
        offset: usize,
        /// A description of the damage.
        what: &'static str,
    },
}

impl Trace {
    /// Reads a trace.
    ///
    /// All indices in it are checked: each refers to an item of the trace.
    pub fn read(bytes: &[u8]) -> Result<Reading, BadTrace> {
        let rest = bytes.strip_prefix(MAGIC).ok_or(BadTrace::NotATrace)?;
        let (version, _) = rest.split_first_chunk().ok_or(BadTrace::NotATrace)?;
        match u32::from_le_bytes(*version) {
            VERSION => {}
            found => return Err(BadTrace::OtherVersion { found }),
        }
        let mut reader = Reader { bytes, at: MAGIC.len() + 4, trace: Trace::default() };
        let is_whole = reader.blocks()?;
        Ok(Reading { trace: reader.trace, is_whole })
    }
}

struct Reader<'a> {
    bytes: &'a [u8],
    /// The offset of the next block.
    at: usize,
    trace: Trace,
}

impl Reader<'_> {
    /// Reads all blocks, and returns whether the last one is the end.
    fn blocks(&mut self) -> Result<bool, BadTrace> {
        while let Some((head, rest)) = self.bytes[self.at..].split_first_chunk::<HEAD>() {
            let head = Head::from_bytes(head);
            let kind =
                BlockKind::of(head.kind).ok_or(self.damaged("the kind of the block is unknown"))?;
            let Some(payload) = rest.get(..head.length) else {
                self.payload(kind, rest, true)?;
                return Ok(false);
            };
            if !head.fits(payload) {
                return Err(self.damaged("the checksum differs"));
            }
            self.payload(kind, payload, false)?;
            self.at += HEAD + head.length;
            if kind == BlockKind::End {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a payload, or the complete items of a truncated one.
    fn payload(&mut self, kind: BlockKind, payload: &[u8], is_cut: bool) -> Result<(), BadTrace> {
        let mut items = Items { rest: payload, is_cut };
        let known = CheckedSizes::of(&self.trace);
        let trace = &mut self.trace;
        let is_read = match kind {
            BlockKind::Name => items.each(|name| trace.name = name),
            BlockKind::Functions => items.each(|function| trace.functions.push(function)),
            BlockKind::Positions => items.each(|position| trace.positions.push(position)),
            BlockKind::Tags => items.each(|tag| trace.tags.push(tag)),
            BlockKind::Stacks => items.each(|stack| trace.stacks.push(stack)),
            BlockKind::Frames => items.each(|frame| trace.frames.push(frame)),
            BlockKind::Events => {
                let mut time = 0u64;
                items.each(|(difference, stack, frames, what): (i64, _, _, _)| {
                    time = time.wrapping_add(difference as u64);
                    trace.events.push(Event { time, stack, frames, what });
                })
            }
            BlockKind::End => items.each(|dropped| trace.dropped = dropped),
        };
        if !is_read {
            return Err(self.damaged("the block does not have the announced items"));
        }
        self.check(kind, known)
    }

    /// Checks the indices in the items of a block. They must refer to earlier items.
    fn check(&self, kind: BlockKind, known: CheckedSizes) -> Result<(), BadTrace> {
        let trace = &self.trace;
        let mut stacks = trace.stacks[known.stacks..].iter();
        let mut events = trace.events[known.events..].iter();
        let fits = match kind {
            BlockKind::Stacks => stacks.all(|stack| trace.has_function(stack.function)),
            BlockKind::Frames => {
                (known.frames..trace.frames.len()).all(|id| trace.has_all_of_frame(id))
            }
            BlockKind::Events => events.all(|event| trace.has_all_of(event)),
            _ => true,
        };
        if fits { Ok(()) } else { Err(self.damaged("an index refers to no item of the trace")) }
    }

    fn damaged(&self, what: &'static str) -> BadTrace {
        BadTrace::Damaged { offset: self.at, what }
    }
}

/// The sizes of the tables before a block, which were checked.
struct CheckedSizes {
    stacks: usize,
    frames: usize,
    events: usize,
}

impl CheckedSizes {
    fn of(trace: &Trace) -> CheckedSizes {
        CheckedSizes {
            stacks: trace.stacks.len(),
            frames: trace.frames.len(),
            events: trace.events.len(),
        }
    }
}

/// The items of a payload.
struct Items<'a> {
    rest: &'a [u8],
    is_cut: bool,
}

impl<'a> Items<'a> {
    /// Reads all items, and returns whether the payload has nothing else.
    fn each<T: Deserialize<'a>>(&mut self, mut take: impl FnMut(T)) -> bool {
        while !self.rest.is_empty() {
            match postcard::take_from_bytes(self.rest) {
                Ok((item, rest)) => {
                    take(item);
                    self.rest = rest;
                }
                Err(_) => return self.is_cut,
            }
        }
        true
    }
}

impl Trace {
    fn has_function(&self, function: Option<FunctionId>) -> bool {
        function.is_none_or(|function| function.index() < self.functions.len())
    }

    fn has_tag(&self, tag: Option<TagId>) -> bool {
        tag.is_none_or(|tag| tag.index() < self.tags.len())
    }

    fn has_frames(&self, frames: Option<FramesId>) -> bool {
        frames.is_none_or(|frames| frames.index() < self.frames.len())
    }

    fn has_all_of_frame(&self, index: usize) -> bool {
        let frame = &self.frames[index];
        frame.caller.is_none_or(|caller| caller.index() < index)
            && self.has_function(Some(frame.function))
            && frame.position.is_none_or(|position| position.index() < self.positions.len())
    }

    fn has_all_of(&self, event: &Event) -> bool {
        let what = &event.what;
        let (outermost, parent, function) = match *what {
            EventKind::Suspend { outermost, .. } | EventKind::Switch { outermost, .. } => {
                (Some(outermost), None, None)
            }
            EventKind::Clone { outermost, parent, .. } => (Some(outermost), parent, None),
            EventKind::HostCall { function } => (None, None, Some(function)),
            _ => (None, None, None),
        };
        let stacks = [Some(event.stack), what.target(), what.origin(), outermost, parent];
        stacks.into_iter().flatten().all(|stack| stack.index() < self.stacks.len())
            && self.has_frames(event.frames)
            && self.has_tag(what.tag())
            && self.has_function(function)
    }
}
