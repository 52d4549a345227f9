//! A token whose observers can check whether it was dropped.

use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Weak};

/// A token for a handle. Handles move often, and few are observed. So a token is one word, which
/// is null until the first observer; then it is a count of an [`Arc`].
pub(super) struct LifetimeToken(AtomicPtr<()>);

impl LifetimeToken {
    #[inline]
    pub const fn new() -> LifetimeToken {
        LifetimeToken(AtomicPtr::new(ptr::null_mut()))
    }

    /// An observer: its last strong count ends with this token.
    pub fn observe(&self) -> Weak<()> {
        let shared = match self.0.load(Ordering::Acquire) {
            found if found.is_null() => self.share(),
            found => found,
        };
        // SAFETY: `share` made it of an `Arc` whose count this token owns until it is dropped. It
        // is borrowed now, and `ManuallyDrop` leaves it the count.
        let shared = unsafe { ManuallyDrop::new(Arc::from_raw(shared.cast_const())) };
        Arc::downgrade(&shared)
    }

    #[cold]
    fn share(&self) -> *mut () {
        let new = Arc::into_raw(Arc::new(())).cast_mut();
        let null = ptr::null_mut();
        match self.0.compare_exchange(null, new, Ordering::AcqRel, Ordering::Acquire) {
            Ok(_) => new,
            Err(found) => {
                // SAFETY: it was made above, and not shared.
                drop(unsafe { Arc::from_raw(new.cast_const()) });
                found
            }
        }
    }
}

impl Drop for LifetimeToken {
    #[inline]
    fn drop(&mut self) {
        let shared = *self.0.get_mut();
        if !shared.is_null() {
            release(shared);
        }
    }
}

/// Gives back the count of a token that is dropped.
#[cold]
fn release(shared: *mut ()) {
    // SAFETY: it came from `share`. The token owned the count, and does not use it again.
    drop(unsafe { Arc::from_raw(shared.cast_const()) });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_observers_learn_that_the_token_was_dropped() {
        let token = LifetimeToken::new();
        let (a, b) = (token.observe(), token.observe());
        assert!(a.upgrade().is_some() && a.ptr_eq(&b));
        let moved = token;
        assert!(b.upgrade().is_some());
        drop(moved);
        assert!(a.upgrade().is_none() && b.upgrade().is_none());
    }

    #[test]
    fn threads_that_observe_at_the_same_time_share_one_arc() {
        for _ in 0..100 {
            let token = LifetimeToken::new();
            let [a, b] = std::thread::scope(|scope| {
                [scope.spawn(|| token.observe()), scope.spawn(|| token.observe())]
                    .map(|thread| thread.join().expect("it does not panic"))
            });
            assert!(a.ptr_eq(&b) && a.upgrade().is_some());
            drop(token);
            assert!(a.upgrade().is_none());
        }
    }
}
