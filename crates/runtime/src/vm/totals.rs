//! Running totals of the memories and tables of a store.
//!
//! A module may have a hundred memories and a hundred thousand tables, too many to add up each
//! time that one of them grows.

use super::memory::Memory;
use super::table::Table;
use crate::embedder::bytes;

/// The sizes of the first memories and tables of a store; newer ones are added when a limit is
/// checked.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    memories: usize,
    pages: u64,
    tables: usize,
    elements: u64,
}

impl Totals {
    /// Adds the memories and tables that are newer than the totals.
    #[inline]
    pub fn update(&mut self, memories: &[Memory], tables: &[Table]) {
        if (self.memories, self.tables) != (memories.len(), tables.len()) {
            self.count_newer(memories, tables);
        }
    }

    fn count_newer(&mut self, memories: &[Memory], tables: &[Table]) {
        if self.memories > memories.len() || self.tables > tables.len() {
            // An instance could not be made, and its memories and tables were dropped.
            *self = Totals::default();
        }
        self.pages += memories[self.memories..].iter().map(Memory::size).sum::<u64>();
        let elements = tables[self.tables..].iter().map(|table| table.elements().len() as u64);
        self.elements += elements.sum::<u64>();
        (self.memories, self.tables) = (memories.len(), tables.len());
    }

    /// Whether memories and tables together stay within `maximum` bytes with these additional
    /// pages and elements.
    pub fn fits_bytes(&self, pages: u64, elements: u64, maximum: u64) -> bool {
        let pages = bytes(self.pages.saturating_add(pages)) as u64;
        let elements = Table::bytes(self.elements.saturating_add(elements));
        pages.saturating_add(elements) <= maximum
    }

    /// Whether all tables stay within `maximum` elements with these additional ones.
    pub fn fits_elements(&self, more: u64, maximum: u64) -> bool {
        self.elements.saturating_add(more) <= maximum
    }

    /// A counted memory has grown by `delta` pages.
    pub fn memory_has_grown(&mut self, delta: u64) {
        self.pages += delta;
    }

    /// A counted table has grown by `delta` elements.
    pub fn table_has_grown(&mut self, delta: u64) {
        self.elements += delta;
    }
}
