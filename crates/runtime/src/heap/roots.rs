//! References that the host owns.
//!
//! The host never has an address, but the index of an entry in a table that the collector updates.
//! An entry ends with its scope, which is that of the host function that made it. An owned entry
//! ends some time after its last owner is dropped. Outside of all scopes a fixed number of entries
//! is reused in turn.

use super::shared_word::SharedWord;
use ropewalk_abi::TrapCode;
use std::sync::atomic::Ordering;

/// A reference that is valid until its scope ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    /// Tells this root from others with the same index. Serial numbers are never reused: 64 bits do
    /// not run out.
    serial: u64,
    index: u32,
}

/// A reference that is valid as long as it has owners.
#[derive(Clone, Debug)]
pub struct OwnedRoot(SharedWord);

/// All references that the host owns.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    /// Each reference with its serial number.
    scoped: Vec<(u64, u64)>,
    /// The oldest entry outside of all scopes, once all of them are in use.
    oldest: usize,
    /// The number of open scopes that do not belong to a running host function.
    pub open_scopes: usize,
    serial: u64,
    owned: Vec<SharedWord>,
    /// The number of owned references when unused ones were last removed.
    owned_before: usize,
}

/// The number of unused owned references that are tolerated before they are removed.
const FEW_OWNED: usize = 64;

/// The number of references that stay valid outside of all scopes.
pub const UNSCOPED: usize = 10_000;

impl Roots {
    pub fn add_unscoped(&mut self, reference: u64) -> Root {
        if self.scoped.len() < UNSCOPED {
            return self.add(reference);
        }
        let index = self.oldest % UNSCOPED;
        self.oldest = index + 1;
        self.serial += 1;
        self.scoped[index] = (reference, self.serial);
        Root { serial: self.serial, index: index as u32 }
    }

    /// Makes room for more entries, so that adding them before a collection cannot fail.
    pub fn make_room(&mut self, count: usize) -> Result<(), TrapCode> {
        self.scoped.try_reserve(count).map_err(|_| TrapCode::OutOfMemory)
    }

    pub fn at(&self, number: usize) -> u64 {
        self.scoped[number].0
    }

    /// A root whose scope has already ended.
    pub fn ended(&mut self) -> Root {
        self.serial += 1;
        Root { serial: self.serial, index: u32::MAX }
    }

    /// Adds a reference to the current scope.
    pub fn add(&mut self, reference: u64) -> Root {
        self.serial += 1;
        // An index that does not fit refers to an entry with another serial number.
        let index = self.scoped.len() as u32;
        self.scoped.push((reference, self.serial));
        Root { serial: self.serial, index }
    }

    /// The reference of a root, unless its scope has ended.
    pub fn get(&self, root: Root) -> Option<u64> {
        let (reference, serial) = self.scoped.get(root.index as usize)?;
        (*serial == root.serial).then_some(*reference)
    }

    /// The number of entries, which is where a new scope begins.
    #[inline]
    pub fn len(&self) -> usize {
        self.scoped.len()
    }

    #[inline]
    pub fn truncate(&mut self, len: usize) {
        self.scoped.truncate(len);
    }

    /// Makes an owned reference, unless there is no memory.
    pub fn own(&mut self, reference: u64) -> Option<OwnedRoot> {
        let place = SharedWord::new(reference)?;
        // A collection would remove these, but there may never be one.
        if self.owned.len() > self.owned_before * 2 + FEW_OWNED {
            self.forget_without_owners();
        }
        self.owned.try_reserve(1).ok()?;
        self.owned.push(place.clone());
        Some(OwnedRoot(place))
    }

    /// Calls a function with each reference, and removes those without owners.
    pub fn visit(&mut self, mut visit: impl FnMut(&mut u64)) {
        for (reference, _) in &mut self.scoped {
            visit(reference);
        }
        self.forget_without_owners();
        for place in &self.owned {
            let mut reference = place.load(Ordering::Relaxed);
            visit(&mut reference);
            place.store(reference, Ordering::Relaxed);
        }
    }
}

impl Roots {
    /// The number of owned references, including some without owners.
    pub fn count_owned(&self) -> usize {
        self.owned.len()
    }

    pub fn forget_without_owners(&mut self) {
        self.owned.retain(|place| place.owners() > 1);
        self.owned_before = self.owned.len();
    }
}

impl OwnedRoot {
    pub(crate) fn reference(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stale_root_never_names_what_has_its_place_now() {
        // Serial numbers around the end of 32 bits.
        for last in [0, u64::from(u32::MAX) - 1, u64::from(u32::MAX)] {
            let mut roots = Roots { serial: last, ..Roots::default() };
            let stale = roots.add(4);
            assert_eq!(roots.get(stale), Some(4));
            roots.truncate(0);
            assert_eq!(roots.get(stale), None);
            roots.serial = last.wrapping_add(1 << 32);
            let next = roots.add(8);
            assert_eq!((roots.get(stale), roots.get(next)), (None, Some(8)));
        }
    }

    #[test]
    fn outside_of_all_scopes_the_newest_references_last() {
        let mut roots = Roots::default();
        let all: Vec<Root> = (0..25_000).map(|word| roots.add_unscoped(word)).collect();
        let begin = roots.len();
        let scoped = roots.add(1 << 40);
        assert_eq!((begin, roots.get(scoped)), (UNSCOPED, Some(1 << 40)));
        roots.truncate(begin);
        for (word, root) in (0..).zip(&all) {
            let expected = (word >= 15_000).then_some(word);
            assert_eq!(roots.get(*root), expected);
        }
    }

    #[test]
    fn places_without_owners_are_given_up_without_a_collection() {
        let mut roots = Roots::default();
        let kept = roots.own(4).unwrap();
        for _ in 0..10_000 {
            roots.own(8);
        }
        assert!(roots.owned.len() < 100, "{}", roots.owned.len());
        assert_eq!(kept.reference(), 4);
        assert!(roots.owned.iter().any(|place| place.load(Ordering::Relaxed) == 4));
    }
}
