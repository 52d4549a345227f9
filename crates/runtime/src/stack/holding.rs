//! The set of stacks that the host owns: continuations that only the host can resume.

use std::collections::TryReserveError;
use std::sync::atomic::{AtomicU64, Ordering};

/// A bit for each block number. It is set exactly while the host owns the stack. The stack is
/// suspended or new, and the outermost of its group.
#[derive(Debug, Default)]
pub(crate) struct Holding {
    /// Atomic, because an owner that has the store to itself clears bits through a shared
    /// reference.
    words: Vec<AtomicU64>,
}

const BITS: usize = u64::BITS as usize;

impl Holding {
    pub fn make_room_for_blocks(&mut self, count: usize) -> Result<(), TryReserveError> {
        self.words.try_reserve(count.div_ceil(BITS).saturating_sub(self.words.len()))
    }

    /// Adds a stack for whose number there is [room](Self::make_room_for_blocks).
    #[inline]
    pub fn hold(&mut self, number: usize) {
        if self.words.len() <= number / BITS {
            self.grow(number);
        }
        *self.words[number / BITS].get_mut() |= 1 << (number % BITS);
    }

    #[cold]
    fn grow(&mut self, number: usize) {
        let len = (number / BITS + 1).max(self.words.capacity());
        self.words.resize_with(len, AtomicU64::default);
    }

    /// Removes a stack. Returns whether the host owned it.
    #[inline]
    pub fn let_go(&self, number: usize) -> bool {
        let Some(word) = self.words.get(number / BITS) else { return false };
        let (before, bit) = (word.load(Ordering::Relaxed), 1 << (number % BITS));
        word.store(before & !bit, Ordering::Relaxed);
        before & bit != 0
    }

    pub fn has(&self, number: usize) -> bool {
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
    fn what_is_held_is_listed_until_it_is_let_go() {
        let mut held = Holding::default();
        for number in [0, 63, 64, 5000, 1] {
            held.hold(number);
            assert!(held.has(number));
        }
        assert!(!held.has(2) && !held.has(1_000_000));
        assert_eq!(held.numbers().collect::<Vec<_>>(), [0, 1, 63, 64, 5000]);
        assert!(held.let_go(64) && !held.let_go(64) && !held.let_go(1_000_000));
        assert_eq!(held.numbers().collect::<Vec<_>>(), [0, 1, 63, 5000]);
    }
}
