//! Frees the continuations whose owners in the host were dropped.

use crate::store::Store;
use ropewalk_abi::stack::block_number;
use std::ptr;
use std::sync::atomic::Ordering;

impl Store {
    /// Frees continuations whose owners were dropped while the store was not accessible.
    #[inline]
    pub fn free_released(&mut self) {
        if self.running.released.any.load(Ordering::Acquire) {
            self.free_all_released();
        }
    }

    #[cold]
    fn free_all_released(&mut self) {
        let mut references =
            self.running.released.references.lock().expect("no panic while it is locked");
        let all = std::mem::take(&mut *references);
        self.running.released.any.store(false, Ordering::Relaxed);
        drop(references);
        all.into_iter().for_each(|reference| self.free_held(reference));
    }

    /// Frees a continuation that the host owns.
    pub fn free_held(&mut self, reference: u64) {
        let Some(block) = self.stacks.valid(reference) else { return };
        if self.is_poisoned() || !self.stacks.held.let_go(block_number(reference)) {
            return;
        }
        // The host was the only owner, so the next computation on the stack can use the reference.
        // SAFETY: what the host held is suspended or new, up to this block.
        unsafe {
            (*block).parent = ptr::null_mut();
            self.release_suspended(block);
        }
    }
}
