//! Size limits of single stacks: those of a continuation for which the host has set a limit.
//!
//! Limits are kept by block number. Generated code frees and reuses blocks by itself, so each limit
//! records its continuation. It is renewed or removed whenever that continuation comes back to the
//! host, and ends when the host gives the continuation away.

use std::collections::{HashMap, TryReserveError};
use std::sync::atomic::{AtomicBool, Ordering};

#[derive(Debug, Default)]
pub(crate) struct StackLimits(HashMap<usize, StackLimit>);

#[derive(Debug)]
struct StackLimit {
    bytes: usize,
    /// The last reference under which the host owned the continuation.
    of: u64,
    /// Set when the host gives the continuation away, through a shared reference to the store.
    is_over: AtomicBool,
}

impl StackLimits {
    pub fn get(&self, number: usize) -> Option<usize> {
        let limit = self.0.get(&number)?;
        (!limit.is_over.load(Ordering::Relaxed)).then_some(limit.bytes)
    }

    /// Limits the stacks of the continuation that the host owns under a reference. If there is no
    /// memory, some of them stay unlimited.
    pub fn set(
        &mut self,
        numbers: impl IntoIterator<Item = usize>,
        bytes: usize,
        of: u64,
    ) -> Result<(), TryReserveError> {
        for number in numbers {
            self.make_room()?;
            self.0.insert(number, StackLimit { bytes, of, is_over: AtomicBool::new(false) });
        }
        Ok(())
    }

    pub fn make_room(&mut self) -> Result<(), TryReserveError> {
        self.0.try_reserve(1)
    }

    /// Moves the limit to another block. There must be [room](Self::make_room).
    pub fn hand_over(&mut self, from: usize, to: usize) {
        if let Some(limit) = self.0.remove(&from) {
            self.0.insert(to, limit);
        }
    }

    pub fn forget(&mut self, number: usize) {
        if !self.is_empty() {
            self.0.remove(&number);
        }
    }

    /// Ends the limits of a continuation that the host no longer holds.
    pub fn give_away(&self, of: u64) {
        for limit in self.0.values().filter(|limit| limit.of == of) {
            limit.is_over.store(true, Ordering::Relaxed);
        }
    }

    /// Removes the limits of a continuation, except those of the blocks that stay, and all limits
    /// that have ended. Returns the limit that it had.
    pub fn end(&mut self, of: u64, stays: impl Fn(usize) -> bool) -> Option<usize> {
        let mut bytes = None;
        self.0.retain(|number, limit| {
            let is_of = limit.of == of;
            let is_over = *limit.is_over.get_mut();
            if is_of && !is_over {
                bytes = Some(limit.bytes);
            }
            !is_over && (!is_of || stays(*number))
        });
        bytes
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All limits, sorted: the block, the limit, and the reference of the continuation.
    pub fn list(&self) -> Vec<(usize, usize, u64)> {
        let limits = self.0.iter().filter(|(_, limit)| !limit.is_over.load(Ordering::Relaxed));
        let mut limits: Vec<_> =
            limits.map(|(number, limit)| (*number, limit.bytes, limit.of)).collect();
        limits.sort_unstable();
        limits
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_ends_with_its_continuation() {
        let mut limits = StackLimits::default();
        for (number, bytes, of) in [(1, 10, 77), (2, 10, 77), (3, 20, 88), (4, 30, 99)] {
            limits.set([number], bytes, of).unwrap();
        }
        limits.hand_over(1, 5);
        assert_eq!((limits.get(1), limits.get(5), limits.get(3)), (None, Some(10), Some(20)));
        limits.give_away(88);
        assert_eq!(limits.get(3), None);
        assert_eq!(limits.list(), [(2, 10, 77), (4, 30, 99), (5, 10, 77)]);
        assert_eq!(limits.end(77, |number| number == 5), Some(10));
        assert_eq!(limits.list(), [(4, 30, 99), (5, 10, 77)]);
        assert_eq!(limits.end(88, |_| false), None);
        limits.forget(4);
        assert_eq!(limits.end(77, |_| false), Some(10));
        assert!(limits.is_empty());
    }
}
