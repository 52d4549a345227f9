//! Slots: memory of equal size for the stacks that references name.
//!
//! ```text
//!   chunk | slot | slot | slot | ...
//!   slot  | guard | usable                                 |
//! ```

use super::arena::GUARD;
use crate::os::mapping::{Map, PAGE};
use std::collections::VecDeque;
use std::io;

const SLOTS_PER_CHUNK: usize = 256;
/// The number of slots that stay closed after a stack moved away, so that a stale address faults.
const QUARANTINE: usize = 64;

#[derive(Debug)]
pub(super) struct Slots {
    /// Sorted by address.
    chunks: Vec<Map>,
    /// The address of the newest chunk.
    newest: usize,
    used: usize,
    size: usize,
    /// Closed slots, the oldest first, with the offset of the inaccessible part.
    closed: VecDeque<(usize, usize)>,
}

impl Slots {
    pub fn new(usable: usize) -> Slots {
        let size = usable.next_multiple_of(PAGE).max(2 * PAGE) + GUARD;
        Slots {
            chunks: Vec::new(),
            newest: 0,
            used: SLOTS_PER_CHUNK,
            size,
            closed: VecDeque::new(),
        }
    }

    /// Takes an unused slot, whose guard is in place. Returns its lowest usable address and its
    /// end.
    pub fn take(&mut self) -> io::Result<(usize, usize)> {
        let slot = match self.closed.len() > QUARANTINE {
            true => self.reopen()?,
            false => self.next()?,
        };
        Ok((slot + GUARD, slot + self.size))
    }

    fn next(&mut self) -> io::Result<usize> {
        if self.used == SLOTS_PER_CHUNK {
            self.chunks.try_reserve(1).map_err(|_| io::ErrorKind::OutOfMemory)?;
            let chunk = Map::read_write(self.chunk())?;
            chunk.no_huge_pages();
            self.newest = chunk.base() as usize;
            self.chunks.insert(self.count_up_to(self.newest), chunk);
            self.used = 0;
        }
        let slot = self.newest + self.used * self.size;
        let (chunk, offset) = self.find(slot);
        chunk.guard(offset, GUARD)?;
        self.used += 1;
        Ok(slot)
    }

    fn reopen(&mut self) -> io::Result<usize> {
        let (slot, from) = self.closed.pop_front().expect("more than the quarantine");
        let (chunk, offset) = self.find(slot);
        chunk.unguard(offset + from, self.size - from)?;
        Ok(slot)
    }

    /// Makes the pages of a slot inaccessible that a stack was moved away from. The slot is reused
    /// later.
    pub fn close(&mut self, limit: usize, sp: usize) -> io::Result<()> {
        let slot = limit - GUARD;
        let from = (sp - slot) / PAGE * PAGE;
        let (chunk, offset) = self.find(slot);
        // The kernel limits the number of mappings. A larger guard needs no mapping of its own.
        chunk.guard(offset + from, self.size - from)?;
        self.closed.push_back((slot, from));
        Ok(())
    }

    /// Gives the memory of slots back to the kernel; it reads as zero afterwards. Adjacent slots go
    /// back in one call, and guards stay in place.
    pub fn give_back(&self, mut limits: Vec<usize>) {
        limits.sort_unstable();
        let begins_chunk = |slot: usize| self.find(slot).1 == 0;
        let continues = |a: &usize, b: &usize| a + self.size == *b && !begins_chunk(b - GUARD);
        for run in limits.chunk_by(continues) {
            let (chunk, offset) = self.find(run[0] - GUARD);
            chunk.give_back(offset + GUARD, run.len() * self.size - GUARD);
        }
    }

    /// The number of chunks that begin at an address or below.
    fn count_up_to(&self, address: usize) -> usize {
        self.chunks.partition_point(|chunk| chunk.base() as usize <= address)
    }

    /// The chunk of a slot, and the slot's offset in it.
    fn find(&self, slot: usize) -> (&Map, usize) {
        let chunk = &self.chunks[self.count_up_to(slot) - 1];
        (chunk, slot - chunk.base() as usize)
    }

    /// The size of a stack without its guard.
    pub fn usable(&self) -> usize {
        self.size - GUARD
    }

    pub fn chunk(&self) -> usize {
        SLOTS_PER_CHUNK * self.size
    }

    /// The end of the slot with this lowest usable address.
    pub fn end(&self, limit: usize) -> usize {
        limit + self.usable()
    }

    pub fn count(&self) -> usize {
        let chunks = self.chunks.len();
        (chunks * SLOTS_PER_CHUNK + self.used).saturating_sub(SLOTS_PER_CHUNK)
    }

    pub fn count_closed(&self) -> usize {
        self.closed.len()
    }

    pub fn reserved(&self) -> usize {
        self.chunks.iter().map(Map::len).sum()
    }

    pub fn committed(&self) -> usize {
        self.chunks.iter().map(Map::committed).sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Whether the kernel can read the byte at an address.
    fn is_readable(address: usize) -> bool {
        let (_reader, writer) = io::pipe().expect("a pipe");
        // SAFETY: the kernel checks the address itself.
        let written = unsafe {
            let fd = std::os::fd::AsRawFd::as_raw_fd(&writer);
            libc::write(fd, address as *const libc::c_void, 1)
        };
        written == 1
    }

    #[test]
    fn slots_that_go_back_together_are_zero_and_keep_their_guards() {
        let mut slots = Slots::new(3 * PAGE);
        let taken: Vec<_> = (0..600).map(|_| slots.take().expect("a slot")).collect();
        for (_, high) in &taken {
            // SAFETY: the word below the end of a slot is usable.
            unsafe { *((high - 8) as *mut u64) = 7 };
        }
        // All but one, unsorted, in several chunks.
        let kept = taken[300];
        let mut limits: Vec<_> = taken.iter().map(|(limit, _)| *limit).collect();
        limits.swap_remove(300);
        slots.give_back(limits);
        assert_eq!(slots.committed(), PAGE);
        for (limit, high) in &taken {
            // SAFETY: as above.
            let word = unsafe { *((high - 8) as *const u64) };
            assert_eq!(word, if *limit == kept.0 { 7 } else { 0 });
            assert!(!is_readable(limit - 1), "the guard is gone");
            assert!(is_readable(*limit));
        }
    }
}
