//! A set of block numbers.

use std::collections::TryReserveError;
use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each block number.
#[derive(Debug, Default)]
pub(crate) struct BlockSet {
    /// Atomic, so that code that has the store to itself can remove numbers through a shared
    /// reference.
    words: Vec<AtomicU64>,
}

const BITS: usize = u64::BITS as usize;

impl BlockSet {
    /// Makes room for numbers below `count`.
    pub fn make_room(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.words.try_reserve(count.div_ceil(BITS).saturating_sub(self.words.len()))
    }

    /// Adds a number for which there is [room](Self::make_room). Returns whether it is new.
    #[inline]
    pub fn insert(&mut self, number: usize) -> bool {
        if self.words.len() <= number / BITS {
            self.grow(number);
        }
        let (word, bit) = (self.words[number / BITS].get_mut(), 1 << (number % BITS));
        let is_new = *word & bit == 0;
        *word |= bit;
        is_new
    }

    #[cold]
    fn grow(&mut self, number: usize) {
        let len = (number / BITS + 1).max(self.words.capacity());
        self.words.resize_with(len, AtomicU64::default);
    }

    /// Removes a number. Returns whether it was in the set.
    #[inline]
    pub fn remove(&self, number: usize) -> bool {
        let Some(word) = self.words.get(number / BITS) else { return false };
        let (before, bit) = (word.load(Ordering::Relaxed), 1 << (number % BITS));
        word.store(before & !bit, Ordering::Relaxed);
        before & bit != 0
    }

    pub fn contains(&self, number: usize) -> bool {
        let word = self.words.get(number / BITS);
        word.is_some_and(|word| word.load(Ordering::Relaxed) >> (number % BITS) & 1 == 1)
    }

    pub fn numbers(&self) -> impl Iterator<Item = usize> {
        let words = self.words.iter().enumerate();
        words.flat_map(|(i, word)| {
            let mut bits = word.load(Ordering::Relaxed);
            std::iter::from_fn(move || {
                let lowest = (bits != 0).then(|| bits.trailing_zeros() as usize)?;
                bits &= bits - 1;
                Some(i * BITS + lowest)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_listed_until_they_are_removed() {
        let mut set = BlockSet::default();
        for number in [0, 63, 64, 5000, 1] {
            assert!(set.insert(number) && !set.insert(number));
            assert!(set.contains(number));
        }
        assert!(!set.contains(2) && !set.contains(1_000_000));
        assert_eq!(set.numbers().collect::<Vec<_>>(), [0, 1, 63, 64, 5000]);
        assert!(set.remove(64) && !set.remove(64) && !set.remove(1_000_000));
        assert_eq!(set.numbers().collect::<Vec<_>>(), [0, 1, 63, 5000]);
    }
}
