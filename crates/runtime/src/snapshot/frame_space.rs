//! Allocating space for the frames of each stack in a snapshot.

/// The place of each stack's frames, by the number of its block.
#[derive(Debug, Default)]
pub(super) struct FrameSpace {
    allocations: Vec<Allocation>,
    end: usize,
    /// The bytes that belong to no stack anymore.
    unused: usize,
}

#[derive(Clone, Copy, Debug, Default)]
struct Allocation {
    start: u64,
    room: u32,
}

/// The alignment of allocations.
const ALIGNMENT: usize = 8;

impl FrameSpace {
    /// Unallocated space of this many bytes.
    pub fn new(end: usize) -> FrameSpace {
        FrameSpace { allocations: Vec::new(), end, unused: end }
    }

    /// Allocates the place that a stack had.
    pub fn restore(&mut self, number: usize, start: usize, len: usize) {
        let room = len.next_multiple_of(ALIGNMENT).min(self.end.saturating_sub(start));
        self.allocations.resize(self.allocations.len().max(number + 1), Allocation::default());
        self.allocations[number] = Allocation { start: start as u64, room: room as u32 };
        self.unused = self.unused.saturating_sub(room);
    }

    /// The place for this many bytes of a stack: the one that it has, if there is room.
    pub fn find(&mut self, number: usize, len: usize) -> usize {
        if self.allocations.len() <= number {
            self.allocations.resize(number + 1, Allocation::default());
        }
        let place = &mut self.allocations[number];
        if len > place.room as usize {
            self.unused += place.room as usize;
            let room = len.next_multiple_of(ALIGNMENT);
            *place = Allocation { start: self.end as u64, room: room as u32 };
            self.end += room;
        }
        place.start as usize
    }

    /// Frees the place of an ended stack.
    pub fn vacate(&mut self, number: usize) {
        if let Some(place) = self.allocations.get_mut(number) {
            self.unused += std::mem::take(place).room as usize;
        }
    }

    /// The end of the last place.
    pub fn end(&self) -> usize {
        self.end
    }

    pub fn are_mostly_unused(&self) -> bool {
        self.unused > self.end / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stack_stays_where_it_is_until_it_grows() {
        let mut allocations = FrameSpace::default();
        assert_eq!((allocations.find(1, 20), allocations.find(7, 16)), (0, 24));
        assert_eq!((allocations.find(1, 24), allocations.find(1, 8)), (0, 0));
        assert_eq!(
            (allocations.find(1, 25), allocations.find(7, 16), allocations.end()),
            (40, 24, 72)
        );
        assert!(!allocations.are_mostly_unused());
        allocations.find(1, 200);
        allocations.find(1, 400);
        assert!(!allocations.are_mostly_unused());
        allocations.find(7, 1000);
        assert!(!allocations.are_mostly_unused());
        allocations.find(7, 8000);
        allocations.find(7, 8001);
        assert!(allocations.are_mostly_unused());
        let mut few = FrameSpace::default();
        (1..10).for_each(|number| assert_eq!(few.find(number, 80), (number - 1) * 80));
        (1..6).for_each(|number| few.vacate(number));
        few.vacate(5);
        assert!(few.are_mostly_unused());
        assert_eq!(few.find(1, 8), 720);
        let mut again = FrameSpace::new(100);
        again.restore(3, 40, 60);
        assert!(!again.are_mostly_unused());
        assert_eq!((again.find(3, 60), again.find(4, 8), again.end()), (40, 100, 108));
    }
}
