//! A shared word, like an `Arc<AtomicU64>` whose allocation can fail.

use crate::os::try_box::try_box;
use std::ops::Deref;
use std::process::abort;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering, fence};

/// A word, which is freed with its last owner.
#[derive(Debug)]
pub(super) struct SharedWord(NonNull<Inner>);

#[derive(Debug)]
struct Inner {
    owners: AtomicUsize,
    word: AtomicU64,
}

// SAFETY: the word is atomic, and lives as long as it has owners.
unsafe impl Send for SharedWord {}
// SAFETY: as for `Send`.
unsafe impl Sync for SharedWord {}

impl SharedWord {
    pub fn new(word: u64) -> Option<SharedWord> {
        let inner = Inner { owners: AtomicUsize::new(1), word: AtomicU64::new(word) };
        let inner = try_box(inner).ok()?;
        Some(SharedWord(NonNull::from(Box::leak(inner))))
    }

    fn inner(&self) -> &Inner {
        // SAFETY: the word lives until its last owner is dropped, and this is an owner.
        unsafe { self.0.as_ref() }
    }

    /// The number of owners. The only owner remains the only one until it is cloned.
    pub fn owners(&self) -> usize {
        self.inner().owners.load(Ordering::Relaxed)
    }
}

impl Deref for SharedWord {
    type Target = AtomicU64;

    fn deref(&self) -> &AtomicU64 {
        &self.inner().word
    }
}

impl Clone for SharedWord {
    fn clone(&self) -> SharedWord {
        // Only leaked owners can be this many. The count must not overflow.
        if self.inner().owners.fetch_add(1, Ordering::Relaxed) > isize::MAX as usize {
            abort();
        }
        SharedWord(self.0)
    }
}

impl Drop for SharedWord {
    fn drop(&mut self) {
        if self.inner().owners.fetch_sub(1, Ordering::Release) != 1 {
            return;
        }
        // All accesses by other owners happen before the word is freed.
        fence(Ordering::Acquire);
        // SAFETY: the pointer came from a box, and this was its last owner.
        drop(unsafe { Box::from_raw(self.0.as_ptr()) });
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn owners_are_counted_and_see_the_same_word() {
        let word = SharedWord::new(7).unwrap();
        let threads: Vec<_> = (0..4)
            .map(|_| {
                let word = word.clone();
                std::thread::spawn(move || {
                    for _ in 0..1000 {
                        word.clone().fetch_add(1, Ordering::Relaxed);
                    }
                })
            })
            .collect();
        assert!(word.owners() >= 1);
        threads.into_iter().for_each(|thread| thread.join().unwrap());
        assert_eq!((word.owners(), word.load(Ordering::Relaxed)), (1, 4007));
    }
}
