//! Where all generated code of the process is, for the handler of signals.
//!
//! A store knows the code of its modules, but trampolines belong to the engine,
//! after a lock that a handler must not take. So each piece of code is noted
//! here, where it can be looked for without one.

use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, AtomicUsize, Ordering};

/// A piece of code; `start` is zero if there is none.
#[derive(Debug)]
struct Range {
    start: AtomicUsize,
    end: AtomicUsize,
}

/// How many pieces a chunk has room for.
const CHUNK: usize = 128;

/// Some pieces, and more of them. Chunks are never freed.
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
/// Held by whoever changes something.
static CHANGING: Mutex<()> = Mutex::new(());

fn chunks() -> impl Iterator<Item = &'static Chunk> {
    std::iter::successors(Some(&FIRST), |chunk| {
        // SAFETY: chunks are never freed.
        unsafe { chunk.next.load(Ordering::Acquire).as_ref() }
    })
}

/// Notes that there is code.
pub(crate) fn add(start: usize, end: usize) {
    let _changing = CHANGING.lock().expect("nobody panics with it");
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

/// Notes that the code that was there is about to go.
pub(crate) fn remove(start: usize) {
    let _changing = CHANGING.lock().expect("nobody panics with it");
    let mut ranges = chunks().flat_map(|chunk| &chunk.ranges);
    if let Some(range) = ranges.find(|range| range.start.load(Ordering::Relaxed) == start) {
        range.start.store(0, Ordering::Relaxed);
    }
}

/// Whether generated code is at an address. Async-signal-safe. That others add
/// and remove code meanwhile does not matter: what runs is not removed.
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
        // Addresses that no code has, more than fit into one chunk.
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
