//! References in the hands of the host.
//!
//! The host never has an address, but the number of a place in a table that
//! the collector updates. Places are given back when their scope ends (that of
//! the host function in which they were made), or, for owned ones, some time
//! after their last owner is dropped. Outside of all scopes there are so many places;
//! then the oldest is given to the next reference.

use super::shared_word::SharedWord;
use std::sync::atomic::Ordering;

/// A reference that is valid until its scope ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Root {
    /// Tells it from others that had the same place: no number is given twice,
    /// and 64 bits of them do not run out.
    serial: u64,
    index: u32,
}

/// A reference that is valid as long as somebody has it.
#[derive(Clone, Debug)]
pub struct OwnedRoot(SharedWord);

/// All references in the hands of the host.
#[derive(Debug, Default)]
pub(crate) struct Roots {
    /// Each reference with its serial number.
    scoped: Vec<(u64, u64)>,
    /// Which place of those outside of all scopes is the oldest, once all are given.
    oldest: usize,
    /// How many scopes are open that no running host function has.
    pub open_scopes: usize,
    /// The last serial number that was given.
    serial: u64,
    owned: Vec<SharedWord>,
    /// How many of those had owners the last time that somebody looked.
    owned_before: usize,
}

/// This many places may be without owners before somebody looks.
const FEW_OWNED: usize = 64;

/// How many references last outside of all scopes.
pub const UNSCOPED: usize = 10_000;

impl Roots {
    /// Gives a reference a place outside of all scopes.
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

    /// Makes room for so many places more; returns whether there is memory for them.
    pub fn make_room(&mut self, count: usize) -> bool {
        self.scoped.try_reserve(count).is_ok()
    }

    /// The reference at a place, by its number.
    pub fn at(&self, number: usize) -> u64 {
        self.scoped[number].0
    }

    /// What names no place: as if its scope had ended.
    pub fn ended(&mut self) -> Root {
        self.serial += 1;
        Root { serial: self.serial, index: u32::MAX }
    }

    /// Gives a reference a place.
    pub fn add(&mut self, reference: u64) -> Root {
        self.serial += 1;
        // An index that does not fit names a place with another serial number.
        let index = self.scoped.len() as u32;
        self.scoped.push((reference, self.serial));
        Root { serial: self.serial, index }
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

    /// Gives a reference a place of its own, unless there is no memory for it.
    pub fn own(&mut self, reference: u64) -> Option<OwnedRoot> {
        let place = SharedWord::new(reference)?;
        // There may never be a collection.
        if self.owned.len() > self.owned_before * 2 + FEW_OWNED {
            self.forget_without_owners();
        }
        self.owned.try_reserve(1).ok()?;
        self.owned.push(place.clone());
        Some(OwnedRoot(place))
    }

    /// Calls a function with each reference, and forgets those without owners.
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
    /// How many owned references there are, with some that nobody owns any more.
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
        // Around where a number of 32 bits would begin anew.
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
