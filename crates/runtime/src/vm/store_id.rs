//! Numbers of stores.

use std::sync::atomic::{AtomicU64, Ordering};

/// Tells stores apart. Never reused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StoreId(u64);

impl StoreId {
    /// The number of the next store.
    pub(crate) fn next() -> StoreId {
        static NEXT: AtomicU64 = AtomicU64::new(1);
        StoreId(NEXT.fetch_add(1, Ordering::Relaxed))
    }
}
