//! The allocator of the test program. It counts, fails, or keeps freed memory, as a test asks.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::ops::RangeInclusive;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicIsize, AtomicUsize, Ordering::Relaxed};

struct TestAllocator;

#[global_allocator]
static ALLOCATOR: TestAllocator = TestAllocator;

// SAFETY: the system's allocator does all work. An allocation may fail, and freed memory may stay
// allocated.
unsafe impl GlobalAlloc for TestAllocator {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        if !is_granted(layout) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        if !is_granted(layout) {
            return ptr::null_mut();
        }
        // SAFETY: the caller's promise.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        count_freed(layout);
        // SAFETY: the caller's promise.
        unsafe {
            if !keep(block, layout) {
                System.dealloc(block, layout);
            }
        }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        let new = Layout::from_size_align(size, layout.align()).unwrap_or(layout);
        if KEEPS.try_with(Cell::get).unwrap_or(false) {
            // SAFETY: the caller's promise; the blocks are different.
            unsafe {
                let moved = self.alloc(new);
                if !moved.is_null() {
                    ptr::copy_nonoverlapping(block, moved, layout.size().min(size));
                    self.dealloc(block, layout);
                }
                return moved;
            }
        }
        if !is_granted(new) {
            return ptr::null_mut();
        }
        count_freed(layout);
        // SAFETY: the caller's promise.
        unsafe { System.realloc(block, layout, size) }
    }
}

/// Whether an allocation may succeed. Counts those that may.
fn is_granted(layout: Layout) -> bool {
    let is_granted = !is_refused_size(layout.size()) && !is_chosen_to_fail();
    if is_granted {
        count_allocated(layout);
    }
    is_granted
}

// ---- one allocation fails

thread_local! {
    /// How many allocations of this thread succeed before one fails.
    static UNTIL_FAILURE: Cell<usize> = const { Cell::new(usize::MAX) };
}

/// Makes one allocation of this thread fail, after this many that succeed.
pub fn fail_once_after(count: usize) {
    UNTIL_FAILURE.set(count);
}

/// Whether the allocation that [`fail_once_after`] chose was reached. None fails after this.
pub fn has_failed() -> bool {
    UNTIL_FAILURE.replace(usize::MAX) == usize::MAX
}

fn is_chosen_to_fail() -> bool {
    UNTIL_FAILURE.try_with(|count| match count.get() {
        usize::MAX => false,
        0 => {
            count.set(usize::MAX);
            !is_for_an_error()
        }
        left => {
            count.set(left - 1);
            false
        }
    }) == Ok(true)
}

/// Whether the memory is for an error or its message. Those need memory, and get it.
fn is_for_an_error() -> bool {
    let trace = std::backtrace::Backtrace::force_capture().to_string();
    trace.lines().any(|line| {
        line.contains("anyhow::error::ErrorImpl") || line.contains("describe_exception")
    })
}

// ---- allocations of some sizes fail

/// The smallest and the largest size that fails, in all threads.
static REFUSED_SIZES: [AtomicUsize; 2] = [AtomicUsize::new(usize::MAX), AtomicUsize::new(0)];

fn is_refused_size(size: usize) -> bool {
    let [least, most] = REFUSED_SIZES.each_ref().map(|bound| bound.load(Relaxed));
    (least..=most).contains(&size)
}

/// Runs `work` while allocations of these sizes fail in the whole process.
pub fn refuse_sizes<R>(sizes: RangeInclusive<usize>, work: impl FnOnce() -> R) -> R {
    REFUSED_SIZES[1].store(*sizes.end(), Relaxed);
    REFUSED_SIZES[0].store(*sizes.start(), Relaxed);
    let result = work();
    REFUSED_SIZES[0].store(usize::MAX, Relaxed);
    result
}

// ---- allocations are counted

/// The requests from this size on that the compiler makes to learn whether there is as much
/// memory. It frees the memory untouched.
const PROBE: usize = 1 << 20;

static COUNTS: AtomicBool = AtomicBool::new(false);
static NOW: AtomicIsize = AtomicIsize::new(0);
static MOST: AtomicIsize = AtomicIsize::new(0);
static TOTAL: AtomicUsize = AtomicUsize::new(0);

fn is_counted(layout: Layout) -> bool {
    let is_probe = layout.align() == 1 && layout.size() >= PROBE;
    COUNTS.load(Relaxed) && !is_probe
}

fn count_allocated(layout: Layout) {
    if is_counted(layout) {
        let size = layout.size() as isize;
        let now = NOW.fetch_add(size, Relaxed) + size;
        MOST.fetch_max(now, Relaxed);
        TOTAL.fetch_add(layout.size(), Relaxed);
    }
}

fn count_freed(layout: Layout) {
    if is_counted(layout) {
        NOW.fetch_sub(layout.size() as isize, Relaxed);
    }
}

/// What a piece of work allocated.
#[derive(Clone, Copy, Debug)]
pub struct Allocated {
    /// The most bytes at a time.
    pub at_once: usize,
    /// All bytes, freed or not.
    pub total: usize,
}

/// Runs `work` and counts what the process allocates during it. The number is the same each time
/// if nothing else runs in the process.
pub fn count<T>(work: impl FnOnce() -> T) -> (T, Allocated) {
    for counter in [&NOW, &MOST] {
        counter.store(0, Relaxed);
    }
    TOTAL.store(0, Relaxed);
    COUNTS.store(true, Relaxed);
    let result = work();
    COUNTS.store(false, Relaxed);
    let at_once = usize::try_from(MOST.load(Relaxed)).expect("it is at least zero");
    (result, Allocated { at_once, total: TOTAL.load(Relaxed) })
}

// ---- freed memory is kept

/// The content of freed memory that is kept.
const FREED: u8 = 0xdd;

/// A freed block that is kept, in a list.
struct Kept {
    next: *mut Kept,
    block: *mut u8,
    size: usize,
}

thread_local! {
    /// Whether this thread keeps what it frees.
    static KEEPS: Cell<bool> = const { Cell::new(false) };
    static LAST_KEPT: Cell<*mut Kept> = const { Cell::new(ptr::null_mut()) };
}

/// Keeps a freed block, if this thread keeps such; returns whether it does.
///
/// # Safety
///
/// The block has this layout and is not used again.
unsafe fn keep(block: *mut u8, layout: Layout) -> bool {
    if !KEEPS.try_with(Cell::get).unwrap_or(false) {
        return false;
    }
    // SAFETY: the caller's promise; the new block has room for the entry.
    unsafe {
        block.write_bytes(FREED, layout.size());
        let kept = System.alloc(Layout::new::<Kept>()).cast::<Kept>();
        assert!(!kept.is_null(), "there is no memory for the list of freed blocks");
        let next = LAST_KEPT.replace(kept);
        kept.write(Kept { next, block, size: layout.size() });
    }
    true
}

/// Keeps all that this thread frees during `work`, and fails if any of it was written later.
#[track_caller]
pub fn check_freed_memory<R>(work: impl FnOnce() -> R) -> R {
    KEEPS.set(true);
    let result = work();
    KEEPS.set(false);
    let mut kept = LAST_KEPT.replace(ptr::null_mut());
    // The blocks stay allocated: there are few.
    while !kept.is_null() {
        // SAFETY: `keep` made the entry, and nothing frees its block.
        let (bytes, next) = unsafe {
            let Kept { next, block, size } = kept.read();
            (std::slice::from_raw_parts(block, size), next)
        };
        let changed = bytes.iter().position(|byte| *byte != FREED);
        assert_eq!(changed, None, "one of {} freed bytes was written", bytes.len());
        kept = next;
    }
    result
}
