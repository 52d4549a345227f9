//! Reading a file that may be cut off, or no trace at all.

use serde::Deserialize;

use super::block::{HEAD, Head, Kind};
use super::{MAGIC, VERSION};
use crate::{Event, FramesId, FunctionId, StackId, TagId, Trace, What};

/// A file that was read.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Reading {
    /// All that was written whole.
    pub trace: Trace,
    /// Whether the file has its end. One that was cut off lacks its last events.
    pub is_whole: bool,
}

/// Why a file cannot be read.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BadTrace {
    /// It begins differently.
    #[error("this is not a trace: expected a file that `ropewalk run --trace` wrote")]
    NotATrace,
    /// It was written by another version.
    #[error(
        "this trace has version {found} of the format, and expected was version {VERSION}: \
         record it again, or show it with the `ropewalk` that recorded it"
    )]
    OtherVersion {
        /// The version of the file.
        found: u32,
    },
    /// Its bytes are not those that were written.
    #[error("this trace is damaged at byte {offset}: {what}")]
    Damaged {
        /// Where the block begins that is damaged.
        offset: usize,
        /// What is wrong with it.
        what: &'static str,
    },
}

impl Trace {
    /// Reads a trace.
    ///
    /// All numbers in it are checked: each refers to something that the trace has.
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
    /// Where the next block begins.
    at: usize,
    trace: Trace,
}

impl Reader<'_> {
    /// Reads all blocks, and says whether the last of them is the end.
    fn blocks(&mut self) -> Result<bool, BadTrace> {
        while let Some((head, rest)) = self.bytes[self.at..].split_first_chunk::<HEAD>() {
            let head = Head::from_bytes(head);
            let kind = Kind::of(head.kind).ok_or(self.damaged("there is no block of this kind"))?;
            let Some(payload) = rest.get(..head.length) else {
                self.payload(kind, rest, true)?;
                return Ok(false);
            };
            if !head.fits(payload) {
                return Err(self.damaged("the checksum differs"));
            }
            self.payload(kind, payload, false)?;
            self.at += HEAD + head.length;
            if kind == Kind::End {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a payload; of one that is cut off, what is whole.
    fn payload(&mut self, kind: Kind, payload: &[u8], is_cut: bool) -> Result<(), BadTrace> {
        let mut items = Items { rest: payload, is_cut };
        let known = Known::of(&self.trace);
        let trace = &mut self.trace;
        let is_read = match kind {
            Kind::Name => items.each(|name| trace.name = name),
            Kind::Functions => items.each(|function| trace.functions.push(function)),
            Kind::Positions => items.each(|position| trace.positions.push(position)),
            Kind::Tags => items.each(|tag| trace.tags.push(tag)),
            Kind::Stacks => items.each(|stack| trace.stacks.push(stack)),
            Kind::Frames => items.each(|frame| trace.frames.push(frame)),
            Kind::Events => {
                let mut time = 0u64;
                items.each(|(difference, stack, frames, what): (i64, _, _, _)| {
                    time = time.wrapping_add(difference as u64);
                    trace.events.push(Event { time, stack, frames, what });
                })
            }
            Kind::End => items.each(|dropped| trace.dropped = dropped),
        };
        if !is_read {
            return Err(self.damaged("it does not have the items that it says"));
        }
        self.check(kind, known)
    }

    /// Checks the numbers in what was read. What they refer to has to be there already.
    fn check(&self, kind: Kind, known: Known) -> Result<(), BadTrace> {
        let trace = &self.trace;
        let mut stacks = trace.stacks[known.stacks..].iter();
        let mut events = trace.events[known.events..].iter();
        let fits = match kind {
            Kind::Stacks => stacks.all(|stack| trace.has_function(stack.function)),
            Kind::Frames => (known.frames..trace.frames.len()).all(|id| trace.has_all_of_frame(id)),
            Kind::Events => events.all(|event| trace.has_all_of(event)),
            _ => true,
        };
        if fits { Ok(()) } else { Err(self.damaged("it refers to what the trace does not have")) }
    }

    fn damaged(&self, what: &'static str) -> BadTrace {
        BadTrace::Damaged { offset: self.at, what }
    }
}

/// How much was read and checked before a block.
struct Known {
    stacks: usize,
    frames: usize,
    events: usize,
}

impl Known {
    fn of(trace: &Trace) -> Known {
        Known { stacks: trace.stacks.len(), frames: trace.frames.len(), events: trace.events.len() }
    }
}

/// The items of a payload.
struct Items<'a> {
    rest: &'a [u8],
    is_cut: bool,
}

impl<'a> Items<'a> {
    /// Reads one after the other. Says whether there is nothing but items.
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

    fn has_stack(&self, stack: StackId) -> bool {
        stack.index() < self.stacks.len()
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
        self.has_stack(event.stack)
            && self.has_frames(event.frames)
            && match &event.what {
                What::Create { created } => self.has_stack(*created),
                What::Clone { created, origin, parent, outermost } => {
                    [*created, *origin, *outermost].iter().all(|stack| self.has_stack(*stack))
                        && parent.is_none_or(|parent| self.has_stack(parent))
                }
                What::Resume { target, .. } => self.has_stack(*target),
                What::Suspend { to, outermost, tag, .. } => {
                    self.has_stack(*to) && self.has_stack(*outermost) && self.has_tag(*tag)
                }
                What::Switch { target, outermost, tag, .. } => {
                    self.has_stack(*target) && self.has_stack(*outermost) && self.has_tag(*tag)
                }
                What::Return { to, .. } => self.has_stack(*to),
                What::Throw { to, tag } => {
                    to.is_none_or(|to| self.has_stack(to)) && self.has_tag(*tag)
                }
                What::HostCall { function } => self.has_function(Some(*function)),
                What::Enter
                | What::Leave
                | What::Trap { .. }
                | What::Drop
                | What::Collect { .. }
                | What::Grow { .. }
                | What::Park
                | What::Unpark
                | What::HostReturn => true,
            }
    }
}
