//! Continuations that the host has dropped.

use super::store_id::StoreId;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Continuations that the host dropped without access to their store.
#[derive(Debug)]
pub struct Released {
    store: StoreId,
    pub(crate) any: AtomicBool,
    pub(crate) references: Mutex<Vec<u64>>,
}

impl Released {
    pub(crate) fn of(store: StoreId) -> Released {
        Released { store, any: AtomicBool::default(), references: Mutex::default() }
    }

    /// The number of the store.
    pub fn store(&self) -> StoreId {
        self.store
    }

    /// Lets the store free a held continuation when it is used next.
    pub fn push(&self, reference: u64) {
        self.references.lock().expect("the lock is never poisoned").push(reference);
        self.any.store(true, Ordering::Release);
    }
}
