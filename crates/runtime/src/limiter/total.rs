//! What the memories and the tables of a store may have together.
//!
//! Each is limited by itself too, but a module may have a hundred memories and a hundred thousand
//! tables. So many are not added up each time that one of them grows.

use super::bytes;
use crate::store::Store;

/// How much the first memories and tables of a store have together.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    memories: usize,
    pages: u64,
    tables: usize,
    elements: u64,
}

impl Store {
    /// Whether all memories together may have so many more pages.
    pub(super) fn has_room_for_pages(&mut self, more: u64) -> bool {
        let totals = &mut self.totals;
        if totals.memories > self.memories.len() {
            // Those of an instance are gone that could not be made.
            (totals.memories, totals.pages) = (0, 0);
        }
        let new = &self.memories[totals.memories..];
        totals.pages += new.iter().map(|memory| memory.size()).sum::<u64>();
        totals.memories += new.len();
        bytes(totals.pages.saturating_add(more)) as u64 <= self.options.max_total_memory
    }

    /// Whether all tables together may have so many more elements.
    pub(super) fn has_room_for_elements(&mut self, more: u64) -> bool {
        let totals = &mut self.totals;
        if totals.tables > self.tables.len() {
            (totals.tables, totals.elements) = (0, 0);
        }
        let new = &self.tables[totals.tables..];
        totals.elements += new.iter().map(|table| table.elements().len() as u64).sum::<u64>();
        totals.tables += new.len();
        totals.elements.saturating_add(more) <= self.options.tables.total
    }

    /// Grows a memory if there is room; returns the old size in pages.
    pub(crate) fn grow_memory_in_total(&mut self, index: usize, delta: u64) -> Option<u64> {
        if !self.has_room_for_pages(delta) {
            return None;
        }
        let grown = self.memories[index].grow(delta);
        self.totals.pages += grown.map_or(0, |_| delta);
        grown
    }

    /// Grows a table if there is room; returns the old size.
    pub(crate) fn grow_table_in_total(
        &mut self,
        index: usize,
        delta: u64,
        init: u64,
    ) -> Option<u64> {
        if !self.has_room_for_elements(delta) {
            return None;
        }
        let grown = self.tables[index].grow(delta, init);
        self.totals.elements += grown.map_or(0, |_| delta);
        grown
    }
}
