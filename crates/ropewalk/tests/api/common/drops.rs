//! Values that count how many of them are alive.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A value that counts while it is alive.
pub struct Counted(Arc<AtomicUsize>);

impl Counted {
    pub fn new(alive: &Arc<AtomicUsize>) -> Counted {
        alive.fetch_add(1, Ordering::Relaxed);
        Counted(alive.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        assert_ne!(self.0.fetch_sub(1, Ordering::Relaxed), 0, "dropped twice");
    }
}

/// A value that counts when it is dropped.
pub struct CountsDrop(pub Arc<AtomicUsize>);

impl Drop for CountsDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}
