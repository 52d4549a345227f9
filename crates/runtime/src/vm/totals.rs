//! The total size of the memories and of the tables of a store.
//!
//! A module may have too many memories and tables to add up each time one of them grows.

use super::memory::Memory;
use super::table::Table;
use crate::embedder::bytes;

/// The total size of the memories and of the tables counted so far.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    memories: usize,
    pages: u64,
    tables: usize,
    elements: u64,
}

impl Totals {
    /// Whether the memories together may have this many more pages.
    pub fn has_room_for_pages(&mut self, memories: &[Memory], more: u64, maximum: u64) -> bool {
        if self.memories > memories.len() {
            // The objects of an instance that could not be made are gone.
            (self.memories, self.pages) = (0, 0);
        }
        let new = &memories[self.memories..];
        self.pages += new.iter().map(|memory| memory.size()).sum::<u64>();
        self.memories += new.len();
        bytes(self.pages.saturating_add(more)) as u64 <= maximum
    }

    /// Whether the tables together may have this many more elements.
    pub fn has_room_for_elements(&mut self, tables: &[Table], more: u64, maximum: u64) -> bool {
        if self.tables > tables.len() {
            (self.tables, self.elements) = (0, 0);
        }
        let new = &tables[self.tables..];
        self.elements += new.iter().map(|table| table.elements().len() as u64).sum::<u64>();
        self.tables += new.len();
        self.elements.saturating_add(more) <= maximum
    }

    pub fn memory_has_grown(&mut self, delta: u64) {
        self.pages += delta;
    }

    pub fn table_has_grown(&mut self, delta: u64) {
        self.elements += delta;
    }
}
