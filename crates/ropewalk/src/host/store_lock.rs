//! The lock of an accessor's store.
//!
//! ```text
//!            lock                 open                    lock
//!   free  --------->  used by T  ------>  open to T  -----------> used by T ...
//!         <---------             <------             <-----------
//! ```
//!
//! One thread uses the store at a time. A host function with an accessor lets other code use the
//! store before it waits. Its activation is still on its thread's stack then, and activations end
//! in reverse order. So the store is open to that thread only. Other threads wait until it is free.

use std::ptr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Condvar, Mutex, MutexGuard};

/// A lock that its owner can open for its own thread.
#[derive(Debug, Default)]
pub(crate) struct StoreLock {
    /// [`FREE`], or the thread that uses the store, maybe with [`OPEN`].
    state: AtomicUsize,
    /// How many threads wait until the store is free.
    waiting: AtomicUsize,
    sleep: Mutex<()>,
    is_free: Condvar,
}

const FREE: usize = 0;
/// Other code on the thread may use the store.
const OPEN: usize = 1;

/// Identifies this thread: even, and not zero.
fn this_thread() -> usize {
    thread_local!(static HERE: u64 = const { 0 });
    HERE.with(|here| ptr::from_ref(here) as usize)
}

/// This thread uses the store until this is dropped.
#[derive(Debug)]
pub(crate) struct Using<'a> {
    lock: &'a StoreLock,
    before: usize,
}

/// Other code on this thread may use the store until this is dropped.
#[derive(Debug)]
pub(crate) struct Opened<'a>(&'a StoreLock);

impl StoreLock {
    /// Locks the store. `None` if this thread uses it and has not opened it.
    pub fn lock(&self) -> Option<Using<'_>> {
        let me = this_thread();
        for before in [FREE, me | OPEN] {
            if self.change(before, me) {
                return Some(Using { lock: self, before });
            }
        }
        // Only this thread can have set it.
        if self.state.load(Ordering::Relaxed) == me {
            return None;
        }
        self.wait_until_free(me);
        Some(Using { lock: self, before: FREE })
    }

    /// Opens the store for other code on this thread, which must use the store.
    pub fn open(&self) -> Opened<'_> {
        let me = this_thread();
        assert!(self.change(me, me | OPEN), "only the thread that uses a store opens it");
        Opened(self)
    }

    fn change(&self, from: usize, to: usize) -> bool {
        self.state.compare_exchange(from, to, Ordering::SeqCst, Ordering::SeqCst).is_ok()
    }

    #[cold]
    fn wait_until_free(&self, me: usize) {
        let mut sleep = self.sleep();
        // The thread that frees the store either sees this count, or has freed it before the loop.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        while !self.change(FREE, me) {
            sleep = self.is_free.wait(sleep).expect("nothing panics while it is locked");
        }
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }

    fn release(&self, before: usize) {
        self.state.store(before, Ordering::SeqCst);
        if before == FREE && self.waiting.load(Ordering::SeqCst) != 0 {
            drop(self.sleep());
            self.is_free.notify_one();
        }
    }

    fn sleep(&self) -> MutexGuard<'_, ()> {
        self.sleep.lock().expect("nothing panics while it is locked")
    }
}

impl Drop for Using<'_> {
    fn drop(&mut self) {
        self.lock.release(self.before);
    }
}

impl Drop for Opened<'_> {
    fn drop(&mut self) {
        let me = this_thread();
        assert!(self.0.change(me | OPEN, me), "the code that used the open store has ended");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::UnsafeCell;

    /// A counter that only the thread with the lock may use.
    #[derive(Default)]
    struct Counter(StoreLock, UnsafeCell<u64>);

    // SAFETY: it is used with the lock.
    unsafe impl Sync for Counter {}

    impl Counter {
        fn count(&self) {
            let _using = self.0.lock().expect("this thread has not locked it");
            // SAFETY: this thread has the lock.
            unsafe { *self.1.get() += 1 };
        }
    }

    #[test]
    fn a_thread_cannot_use_a_store_twice_unless_it_opens_it() {
        let lock = StoreLock::default();
        let using = lock.lock().expect("it is free");
        assert!(lock.lock().is_none());
        let opened = lock.open();
        let inner = lock.lock().expect("it is open");
        assert!(lock.lock().is_none());
        drop((inner, opened));
        assert!(lock.lock().is_none());
        drop(using);
        assert!(lock.lock().is_some());
    }

    #[test]
    fn an_open_store_stays_with_its_thread() {
        let lock = StoreLock::default();
        let using = lock.lock().expect("it is free");
        let opened = lock.open();
        std::thread::scope(|scope| {
            let other = scope.spawn(|| drop(lock.lock().expect("this thread has not locked it")));
            while lock.waiting.load(Ordering::Relaxed) == 0 {
                std::thread::yield_now();
            }
            drop(lock.lock().expect("it is open to this thread"));
            assert!(!other.is_finished());
            drop(opened);
            drop(using);
            other.join().expect("it gets the lock");
        });
    }

    #[test]
    fn no_thread_uses_a_store_while_another_does_and_none_waits_for_ever() {
        const ROUNDS: u64 = 2000;
        let counter = Counter::default();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..ROUNDS {
                        counter.count();
                    }
                });
            }
        });
        assert_eq!(counter.1.into_inner(), 4 * ROUNDS);
    }
}
