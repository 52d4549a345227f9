//! The memory of the stacks that references name: slots of equal size in
//! chunks.
//!
//! ```text
//!   chunk | slot | slot | slot | ...
//!   slot  | guard | usable                                 |
//! ```

use super::arena::GUARD;
use crate::map::{Map, PAGE};
use std::collections::VecDeque;
use std::io;

/// How many slots a chunk has.
const SLOTS_PER_CHUNK: usize = 256;
/// How many slots that stacks were moved away from stay closed, so that a stale
/// address faults.
const QUARANTINE: usize = 64;

/// All slots of a store.
#[derive(Debug)]
pub(super) struct Slots {
    chunks: Vec<Map>,
    /// How many slots of the last chunk are in use.
    used: usize,
    /// How many bytes of address space a slot has, with its guard.
    size: usize,
    /// Closed slots, the oldest first.
    closed: VecDeque<usize>,
}

impl Slots {
    /// Slots of at least so many usable bytes.
    pub fn new(usable: usize) -> Slots {
        let size = usable.next_multiple_of(PAGE).max(2 * PAGE) + GUARD;
        Slots { chunks: Vec::new(), used: SLOTS_PER_CHUNK, size, closed: VecDeque::new() }
    }

    /// The lowest usable address of an unused slot, whose guard is in place,
    /// and the address behind the highest.
    pub fn take(&mut self) -> io::Result<(usize, usize)> {
        let slot = match self.closed.len() > QUARANTINE {
            true => self.reopen()?,
            false => self.next()?,
        };
        Ok((slot + GUARD, slot + self.size))
    }

    fn next(&mut self) -> io::Result<usize> {
        if self.used == SLOTS_PER_CHUNK {
            let chunk = Map::read_write(SLOTS_PER_CHUNK * self.size)?;
            chunk.no_huge_pages();
            self.chunks.push(chunk);
            self.used = 0;
        }
        let chunk = self.chunks.last().expect("just made");
        let offset = self.used * self.size;
        chunk.guard(offset, GUARD)?;
        self.used += 1;
        Ok(chunk.base() as usize + offset)
    }

    fn reopen(&mut self) -> io::Result<usize> {
        let slot = self.closed.pop_front().expect("more than the quarantine");
        let (chunk, offset) = self.find(slot);
        chunk.unguard(offset + GUARD, self.size - GUARD)?;
        Ok(slot)
    }

    /// Makes a slot inaccessible that a stack was moved away from; it is used
    /// again later.
    pub fn close(&mut self, limit: usize) -> io::Result<()> {
        let slot = limit - GUARD;
        let (chunk, offset) = self.find(slot);
        // One guard more needs no mapping of its own, of which there may be few.
        chunk.guard(offset, self.size)?;
        self.closed.push_back(slot);
        Ok(())
    }

    /// Gives the memory of a slot back to the kernel; it is zero afterwards.
    pub fn give_back(&self, limit: usize) {
        let (chunk, offset) = self.find(limit - GUARD);
        chunk.give_back(offset + GUARD, self.size - GUARD);
    }

    fn find(&self, slot: usize) -> (&Map, usize) {
        let chunks = self.chunks.iter();
        let offset = |chunk: &Map| slot.checked_sub(chunk.base() as usize);
        let mut found = chunks.filter_map(|chunk| Some((chunk, offset(chunk)?)));
        found.find(|(chunk, offset)| *offset < chunk.len()).expect("slots lie in chunks")
    }

    /// How many bytes of address space the slots have.
    pub fn reserved(&self) -> usize {
        self.chunks.iter().map(Map::len).sum()
    }

    /// How many bytes of memory they have.
    pub fn committed(&self) -> usize {
        self.chunks.iter().map(Map::committed).sum()
    }
}
