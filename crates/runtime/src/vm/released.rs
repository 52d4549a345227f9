//! Continuations that nobody in the host owns any more.

use super::store_id::StoreId;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

/// Continuations whose owners have dropped them where the store was not at hand.
#[derive(Debug)]
pub struct Released {
    store: StoreId,
    pub(crate) any: AtomicBool,
    pub(crate) references: Mutex<Vec<u64>>,
}

impl Released {
    /// Those of a store.
    pub(crate) fn of(store: StoreId) -> Released {
        Released { store, any: AtomicBool::default(), references: Mutex::default() }
    }

    /// The store.
    pub fn store(&self) -> StoreId {
        self.store
    }

    /// Has the store free a continuation that the host holds when it is next used.
    pub fn push(&self, reference: u64) {
        self.references.lock().expect("nobody panics with it").push(reference);
        self.any.store(true, Ordering::Release);
    }
}
