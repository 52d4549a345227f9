//! Resuming panics of the embedder's code.

use super::Store;
use std::panic::resume_unwind;

impl Store {
    /// Runs `work`, which may call the embedder. If the embedder panics, the panic resumes when the
    /// store is consistent again, and the result is dropped.
    #[inline]
    pub fn with_embedder<R>(&mut self, work: impl FnOnce(&mut Store) -> R) -> R {
        let result = work(self);
        self.continue_panic();
        result
    }

    /// Resumes a panic of the embedder that was kept. The store must be consistent.
    #[inline]
    pub fn continue_panic(&mut self) {
        if self.embedder.has_panicked() && !std::thread::panicking() {
            self.resume_kept_panic();
        }
    }

    #[cold]
    fn resume_kept_panic(&mut self) {
        if let Some(panic) = self.embedder.take_panic() {
            resume_unwind(panic);
        }
    }
}
