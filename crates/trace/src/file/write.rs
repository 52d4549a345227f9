//! Writes a file, at once or while a program runs.

use std::io::{self, Write};

use serde::Serialize;

use super::block::{BlockKind, Head};
use super::{MAGIC, VERSION};
use crate::{Event, Trace};

/// The size at which a block is written.
const FULL: usize = 64 << 10;

/// Writes a trace piece by piece.
///
/// ```
/// use ropewalk_trace::{Design, Event, EventKind, Stack, StackId, Trace, Writer};
///
/// let mut file = Vec::new();
/// let mut writer = Writer::new(&mut file, "hello.wat")?;
/// let event = |time, what| Event { time, stack: StackId(0), frames: None, what };
/// // Each part has only its new items. Numbers count from the beginning of the trace.
/// writer.append(&Trace {
///     stacks: vec![Stack { design: Design::Root, function: None }],
///     events: vec![event(0, EventKind::Enter)],
///     ..Trace::default()
/// })?;
/// writer.append(&Trace { events: vec![event(70, EventKind::Leave)], ..Trace::default() })?;
/// writer.finish(0)?;
///
/// let reading = Trace::read(&file)?;
/// assert!(reading.is_whole);
/// assert_eq!(reading.trace.events.len(), 2);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Writer<W> {
    to: W,
    /// The payload of the current block.
    payload: Vec<u8>,
}

impl<W: Write> Writer<W> {
    /// Begins a file with the name of the program.
    pub fn new(mut to: W, name: &str) -> io::Result<Writer<W>> {
        to.write_all(MAGIC)?;
        to.write_all(&VERSION.to_le_bytes())?;
        let mut writer = Writer { to, payload: Vec::new() };
        writer.items(BlockKind::Name, [name])?;
        Ok(writer)
    }

    /// Adds the new items of each table, and the events. Ignores the name and the number of dropped
    /// events.
    pub fn append(&mut self, part: &Trace) -> io::Result<()> {
        self.items(BlockKind::Functions, &part.functions)?;
        self.items(BlockKind::Positions, &part.positions)?;
        self.items(BlockKind::Tags, &part.tags)?;
        self.items(BlockKind::Stacks, &part.stacks)?;
        self.items(BlockKind::Frames, &part.frames)?;
        self.events(&part.events)
    }

    /// Writes everything that was added to the file, so that it can be read without an end.
    pub fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }

    /// Ends the file with the number of dropped events.
    pub fn finish(mut self, dropped: u64) -> io::Result<()> {
        self.items(BlockKind::End, [dropped])?;
        self.to.flush()
    }

    fn items<T: Serialize>(
        &mut self,
        kind: BlockKind,
        items: impl IntoIterator<Item = T>,
    ) -> io::Result<()> {
        for item in items {
            self.item(&item)?;
            self.end_block(kind, FULL)?;
        }
        self.end_block(kind, 1)?;
        Ok(())
    }

    fn events(&mut self, events: &[Event]) -> io::Result<()> {
        let mut previous = 0;
        for Event { time, stack, frames, what } in events {
            let difference = time.wrapping_sub(previous) as i64;
            self.item(&(difference, stack, frames, what))?;
            previous = if self.end_block(BlockKind::Events, FULL)? { 0 } else { *time };
        }
        self.end_block(BlockKind::Events, 1)?;
        Ok(())
    }

    fn item(&mut self, item: &impl Serialize) -> io::Result<()> {
        let payload = std::mem::take(&mut self.payload);
        self.payload = postcard::to_extend(item, payload).map_err(io::Error::other)?;
        Ok(())
    }

    /// Writes the block if it has at least `at_least` bytes, and returns whether it did.
    fn end_block(&mut self, kind: BlockKind, at_least: usize) -> io::Result<bool> {
        if self.payload.len() < at_least {
            return Ok(false);
        }
        self.to.write_all(&Head::to_bytes(kind, &self.payload))?;
        self.to.write_all(&self.payload)?;
        self.payload.clear();
        Ok(true)
    }
}

impl Trace {
    /// Writes the whole trace.
    pub fn write(&self, to: impl Write) -> io::Result<()> {
        let mut writer = Writer::new(to, &self.name)?;
        writer.append(self)?;
        writer.finish(self.dropped)
    }
}
