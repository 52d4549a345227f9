//! Numbers of stores.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number of a store, never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreId(u64);

impl StoreId {
    pub(crate) fn next() -> StoreId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        StoreId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
