//! The addresses of all generated code of the process, for the signal handler.
//!
//! A store knows the code of its modules, but trampolines belong to the engine, and a lock that a
//! handler must not take protects them. This list is read without a lock.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A piece of code; `start` is zero if the entry is free.
struct Range {
    start: AtomicUsize,
    end: AtomicUsize,
}

/// Entries are never removed, and reading them takes only atomic loads.
static RANGES: boxcar::Vec<Range> = boxcar::Vec::new();
/// Locked by each change.
static CHANGING: Mutex<()> = Mutex::new(());

/// The entry that begins at `start`.
fn find(start: usize) -> Option<&'static Range> {
    let mut ranges = RANGES.iter().map(|(_, range)| range);
    ranges.find(|range| range.start.load(Ordering::Relaxed) == start)
}

/// Adds a piece of code.
pub(crate) fn add(start: usize, end: usize) {
    let _changing = CHANGING.lock().expect("the lock is never poisoned");
    if let Some(range) = find(0) {
        range.end.store(end, Ordering::Relaxed);
        range.start.store(start, Ordering::Release);
        return;
    }
    RANGES.push(Range { start: AtomicUsize::new(start), end: AtomicUsize::new(end) });
}

/// Removes the piece of code that begins at `start`.
pub(crate) fn remove(start: usize) {
    let _changing = CHANGING.lock().expect("the lock is never poisoned");
    if let Some(range) = find(start) {
        range.start.store(0, Ordering::Relaxed);
    }
}

/// Whether generated code contains an address. Async-signal-safe: other threads may add and remove
/// code at the same time, but running code is never removed.
pub(crate) fn contains(address: usize) -> bool {
    RANGES.iter().any(|(_, range)| {
        let start = range.start.load(Ordering::Acquire);
        start != 0 && (start..range.end.load(Ordering::Relaxed)).contains(&address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_known_as_long_as_it_is_there() {
        // Addresses without code.
        let starts: Vec<usize> = (1..=400).map(|i| i << 4).collect();
        for start in &starts {
            add(*start, start + 8);
        }
        assert!(starts.iter().all(|start| contains(*start) && contains(start + 7)));
        assert!(!starts.iter().any(|start| contains(start + 8) || contains(start - 1)));
        for start in starts.iter().step_by(2) {
            remove(*start);
        }
        let is_left = |(i, start): (usize, &usize)| contains(*start) == (i % 2 == 1);
        assert!(starts.iter().enumerate().all(is_left));
        starts.iter().for_each(|start| remove(*start));
        assert!(!starts.iter().any(|start| contains(*start)));
    }
}
