//! How others learn that something has ended.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Weak};

/// What others can watch: it ends with whoever has it. Few are watched, and all are moved
/// often, so it is one word, and takes memory only if it is watched: null, or a count of an
/// [`Arc`] of its own.
pub(crate) struct Alive(AtomicPtr<()>);

impl Alive {
    /// One that nobody watches.
    #[inline]
    pub const fn new() -> Alive {
        Alive(AtomicPtr::new(ptr::null_mut()))
    }

    /// Ends with this.
    pub fn watch(&self) -> Weak<()> {
        let shared = match self.0.load(Ordering::Acquire) {
            found if found.is_null() => self.share(),
            found => found,
        };
        // SAFETY: it came from an `Arc` whose count this has until it is dropped, which it
        // cannot be meanwhile; the count is not taken from it here.
        let shared = unsafe { ManuallyDrop::new(Arc::from_raw(shared.cast_const())) };
        Arc::downgrade(&shared)
    }

    /// Makes what is watched, unless another thread has just done so; returns it.
    #[cold]
    fn share(&self) -> *mut () {
        let new = Arc::into_raw(Arc::new(())).cast_mut();
        let null = ptr::null_mut();
        match self.0.compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(found) => {
                // SAFETY: it was made here, and nobody else has got it.
                drop(unsafe { Arc::from_raw(new.cast_const()) });
                found
            }
        }
    }
}

impl Drop for Alive {
    #[inline]
    fn drop(&mut self) {
        let shared = *self.0.get_mut();
        if !shared.is_null() {
            end(shared);
        }
    }
}

/// Gives back the count of an [`Alive`] that is dropped.
#[cold]
fn end(shared: *mut ()) {
    // SAFETY: it came from `share`, and the count was that of the `Alive`, which uses it no more.
    drop(unsafe { Arc::from_raw(shared.cast_const()) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_who_watch_learn_that_it_has_ended() {
        let alive = Alive::new();
        let (a, b) = (alive.watch(), alive.watch());
        assert!(a.upgrade().is_some() && a.ptr_eq(&b));
        let moved = alive;
        assert!(b.upgrade().is_some());
        drop(moved);
        assert!(a.upgrade().is_none() && b.upgrade().is_none());
    }

    #[test]
    fn threads_that_begin_to_watch_at_once_watch_the_same() {
        for _ in 0..100 {
            let alive = Alive::new();
            let [a, b] = std::thread::scope(|scope| {
                [scope.spawn(|| alive.watch()), scope.spawn(|| alive.watch())]
                    .map(|thread| thread.join().expect("it does not panic"))
            });
            assert!(a.ptr_eq(&b) && a.upgrade().is_some());
            drop(alive);
            assert!(a.upgrade().is_none());
        }
    }
}
