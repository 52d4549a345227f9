//! References in the hands of the host.
//!
//! The host never has an address, but the number of a place in a table that
//! the collector updates. Places are given back when their scope ends (that of
//! the host function in which they were made), or, for owned ones, some time
//! after their last owner is dropped.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// A reference that is valid until its scope ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    index: u32,
    /// Tells it from others that had the same place.
    serial: u32,
}

/// A reference that is valid as long as somebody has it.
#[derive(Clone, Debug)]
pub struct OwnedRoot(Arc<AtomicU64>);

/// All references in the hands of the host.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    scoped: Vec<(u64, u32)>,
    serial: u32,
    owned: Vec<Arc<AtomicU64>>,
}

impl Roots {
    /// Gives a reference a place.
    pub fn add(&mut self, reference: u64) -> Root {
        self.serial = self.serial.wrapping_add(1);
        self.scoped.push((reference, self.serial));
        Root { index: (self.scoped.len() - 1) as u32, serial: self.serial }
    }

    /// The reference at a place, unless its scope has ended.
    pub fn get(&self, root: Root) -> Option<u64> {
        let (reference, serial) = self.scoped.get(root.index as usize)?;
        (*serial == root.serial).then_some(*reference)
    }

    /// How many places there are: where a new scope begins.
    #[inline]
    pub fn len(&self) -> usize {
        self.scoped.len()
    }

    /// Ends a scope.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.scoped.truncate(len);
    }

    /// Gives a reference a place of its own.
    pub fn own(&mut self, reference: u64) -> OwnedRoot {
        let place = Arc::new(AtomicU64::new(reference));
        self.owned.push(place.clone());
        OwnedRoot(place)
    }

    /// Calls a function with each reference, and forgets those without owners.
    pub fn visit(&mut self, mut visit: impl FnMut(&mut u64)) {
        for (reference, _) in &mut self.scoped {
            visit(reference);
        }
        self.owned.retain(|place| Arc::strong_count(place) > 1);
        for place in &self.owned {
            let mut reference = place.load(Ordering::Relaxed);
            visit(&mut reference);
            place.store(reference, Ordering::Relaxed);
        }
    }
}

impl OwnedRoot {
    pub(crate) fn reference(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}
