//! What compiling allocates, counted. The number is the same each time.

use std::alloc::{GlobalAlloc, Layout, System};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// The system's allocator, which counts.
struct Counting;

static NOW: AtomicUsize = AtomicUsize::new(0);
static MOST: AtomicUsize = AtomicUsize::new(0);
static ALL: AtomicUsize = AtomicUsize::new(0);

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// From how many bytes on a request for bytes is the compiler's question whether there is as
/// much memory. It gives it back untouched.
const QUESTION: usize = 1 << 20;

fn is_question(layout: Layout) -> bool {
    layout.align() == 1 && layout.size() >= QUESTION
}

fn add(layout: Layout) {
    if !is_question(layout) {
        let now = NOW.fetch_add(layout.size(), Relaxed) + layout.size();
        MOST.fetch_max(now, Relaxed);
        ALL.fetch_add(layout.size(), Relaxed);
    }
}

fn remove(layout: Layout) {
    if !is_question(layout) {
        NOW.fetch_sub(layout.size(), Relaxed);
    }
}

// SAFETY: all is done by the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        add(layout);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        add(layout);
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, place: *mut u8, layout: Layout) {
        remove(layout);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(place, layout) }
    }

    unsafe fn realloc(&self, place: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        remove(layout);
        add(Layout::from_size_align(size, layout.align()).unwrap_or(layout));
        // SAFETY: the caller's promise.
        unsafe { System.realloc(place, layout, size) }
    }
}

/// What something has allocated.
#[derive(Clone, Copy, Debug)]
pub struct Allocated {
    /// How many bytes at once.
    pub at_once: usize,
    /// How many bytes altogether.
    pub all: usize,
}

/// Does something, and counts what the process allocates meanwhile.
pub fn count<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    let before = NOW.load(Relaxed);
    MOST.store(before, Relaxed);
    ALL.store(0, Relaxed);
    let result = work();
    let at_once = MOST.load(Relaxed).saturating_sub(before);
    (result, Allocated { at_once, all: ALL.load(Relaxed) })
}
