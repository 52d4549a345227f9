//! Sets of numbers as sorted ranges.

use std::ops::Range;

/// Sorted ranges that do not touch each other.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Ranges(Vec<Range<usize>>);

impl Ranges {
    /// All numbers below `len`.
    pub fn all(len: usize) -> Ranges {
        let mut ranges = Ranges::default();
        ranges.push(0..len);
        ranges
    }

    /// Adds a range that begins after all others, or inside the last.
    pub fn push(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        match self.0.last_mut() {
            Some(last) if range.start <= last.end => last.end = last.end.max(range.end),
            _ => self.0.push(range),
        }
    }

    /// Makes a set of ranges in any order.
    pub fn sorted(mut ranges: Vec<Range<usize>>) -> Ranges {
        ranges.sort_unstable_by_key(|range| range.start);
        let mut sorted = Ranges::default();
        ranges.into_iter().for_each(|range| sorted.push(range));
        sorted
    }

    pub fn union(&self, other: &Ranges) -> Ranges {
        Ranges::sorted(self.0.iter().chain(&other.0).cloned().collect())
    }

    pub fn iter(&self) -> impl Iterator<Item = Range<usize>> {
        self.0.iter().cloned()
    }

    /// The set of all numbers divided by `size`, including every one that a range touches.
    pub fn divided(&self, size: usize) -> Ranges {
        let mut divided = Ranges::default();
        for Range { start, end } in self.iter() {
            divided.push(start / size..end.div_ceil(size));
        }
        divided
    }

    /// The set in which each number stands for `size` numbers.
    pub fn times(&self, size: usize) -> Ranges {
        Ranges(self.iter().map(|Range { start, end }| start * size..end * size).collect())
    }

    pub fn below(&self, limit: usize) -> Ranges {
        let mut below = Ranges::default();
        for Range { start, end } in self.iter() {
            below.push(start.min(limit)..end.min(limit));
        }
        below
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_that_touch_become_one() {
        let ranges = Ranges::sorted(vec![5..7, 0..2, 7..9, 6..8, 20..20, 12..15]);
        assert_eq!(ranges.iter().collect::<Vec<_>>(), [0..2, 5..9, 12..15]);
        let union = ranges.union(&Ranges::sorted(vec![2..3, 14..30]));
        assert_eq!(union.iter().collect::<Vec<_>>(), [0..3, 5..9, 12..30]);
        assert_eq!(union.below(13).iter().collect::<Vec<_>>(), [0..3, 5..9, 12..13]);
        assert_eq!(union.divided(4).iter().collect::<Vec<_>>(), [Range { start: 0, end: 8 }]);
        assert_eq!(Ranges::all(0), Ranges::default());
    }
}
