//! The addresses of all generated code of the process, for the signal handler.
//!
//! A store knows the code of its modules, but trampolines belong to the engine, and a lock that a
//! handler must not take protects them. This list is read without a lock.

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A piece of code; `start` is zero if the entry is free.
#[derive(Debug)]
struct Range {
    start: AtomicUsize,
    end: AtomicUsize,
}

const CHUNK: usize = 128;

/// A chunk of the list. Chunks are never freed.
struct Chunk {
    ranges: [Range; CHUNK],
    next: AtomicPtr<Chunk>,
}

impl Chunk {
    const fn new() -> Chunk {
        let ranges =
            [const { Range { start: AtomicUsize::new(0), end: AtomicUsize::new(0) } }; CHUNK];
        Chunk { ranges, next: AtomicPtr::new(ptr::null_mut()) }
    }
}

static FIRST: Chunk = Chunk::new();
/// Locked by each change.
static CHANGING: Mutex<()> = Mutex::new(());

fn chunks() -> impl Iterator<Item = &'static Chunk> {
    std::iter::successors(Some(&FIRST), |chunk| {
        // SAFETY: chunks are never freed.
        unsafe { chunk.next.load(Ordering::Acquire).as_ref() }
    })
}

/// Adds a piece of code.
pub(crate) fn add(start: usize, end: usize) {
    let _changing = CHANGING.lock().expect("the lock is never poisoned");
    let mut ranges = chunks().flat_map(|chunk| &chunk.ranges);
    let range = match ranges.find(|range| range.start.load(Ordering::Relaxed) == 0) {
        Some(range) => range,
        None => {
            let chunk: &'static Chunk = Box::leak(Box::new(Chunk::new()));
            let last = chunks().last().expect("there is a first one");
            last.next.store(ptr::from_ref(chunk).cast_mut(), Ordering::Release);
            &chunk.ranges[0]
        }
    };
    range.end.store(end, Ordering::Relaxed);
    range.start.store(start, Ordering::Release);
}

/// Removes the piece of code that begins at `start`.
pub(crate) fn remove(start: usize) {
    let _changing = CHANGING.lock().expect("the lock is never poisoned");
    let mut ranges = chunks().flat_map(|chunk| &chunk.ranges);
    if let Some(range) = ranges.find(|range| range.start.load(Ordering::Relaxed) == start) {
        range.start.store(0, Ordering::Relaxed);
    }
}

/// Whether generated code contains an address. Async-signal-safe: other threads may add and remove
/// code at the same time, but running code is never removed.
pub(crate) fn contains(address: usize) -> bool {
    chunks().flat_map(|chunk| &chunk.ranges).any(|range| {
        let start = range.start.load(Ordering::Acquire);
        start != 0 && (start..range.end.load(Ordering::Relaxed)).contains(&address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_known_as_long_as_it_is_there() {
        // Addresses without code, more than fit into one chunk.
        let starts: Vec<usize> = (1..=3 * CHUNK).map(|i| i << 4).collect();
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
