//! When the embedder's panics continue.

use super::Store;
use std::panic::resume_unwind;

impl Store {
    /// Does something for the host that may call the embedder. If that panics, the panic continues
    /// afterwards, when the store is whole, and what was made is dropped.
    #[inline]
    pub fn with_embedder<R>(&mut self, work: impl FnOnce(&mut Store) -> R) -> R {
        let result = work(self);
        self.continue_panic();
        result
    }

    /// Continues a panic of the embedder's that was kept. The store must be whole.
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
