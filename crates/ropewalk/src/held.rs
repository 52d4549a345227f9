//! What only the host has.

use crate::misuse::WrongStore;
use crate::store;
use ropewalk_runtime::{Released, Store as RuntimeStore, StoreId};
use std::mem::ManuallyDrop;
use std::ptr;
use std::sync::Arc;

/// The only valid reference to what is suspended, or has not begun. If it is dropped,
/// the stacks are freed.
pub(crate) struct Held {
    store: StoreId,
    reference: u64,
    released: Arc<Released>,
}

impl Held {
    /// What the host holds under a reference.
    pub fn new(runtime: &RuntimeStore, reference: u64) -> Held {
        Held { store: runtime.id(), reference, released: runtime.released().clone() }
    }

    /// Fails unless it is of a store.
    #[inline]
    pub fn check(&self, runtime: &RuntimeStore, name: &'static str) -> Result<(), WrongStore> {
        store::check(runtime, self.store, name)
    }

    #[inline]
    pub fn reference(&self) -> u64 {
        self.reference
    }

    /// The word of it, which the host gives away.
    pub fn into_word(self, runtime: &RuntimeStore) -> u64 {
        let taken = self.taken();
        runtime.let_go(taken.reference);
        taken.reference
    }

    /// Frees its stacks at once.
    pub fn free(self, runtime: &mut RuntimeStore) {
        runtime.free_held(self.taken().reference);
    }

    /// Takes it apart: its stacks are not freed with it.
    #[inline]
    pub fn taken(self) -> Taken {
        let this = ManuallyDrop::new(self);
        // SAFETY: `this` is never dropped, so what it has is read once.
        Taken { reference: this.reference, released: unsafe { ptr::read(&this.released) } }
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        self.released.push(self.reference);
    }
}

/// What is left of what the host has continued.
pub(crate) struct Taken {
    pub reference: u64,
    released: Arc<Released>,
}

impl Taken {
    /// What the host holds now.
    #[inline]
    pub fn held_again(self, runtime: &RuntimeStore, reference: u64) -> Held {
        Held { store: runtime.id(), reference, released: self.released }
    }
}
