//! What the memories and the tables of a store may have together.
//!
//! Each is limited by itself too, but a module may have a hundred memories and a hundred thousand
//! tables, which are too many to add up each time that one of them grows.

use super::memory::Memory;
use super::table::Table;
use crate::embedder::bytes;

/// How much the first memories and tables of a store have together.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    memories: usize,
    pages: u64,
    tables: usize,
    elements: u64,
}

impl Totals {
    /// Whether all memories together may have this many more pages.
    pub fn has_room_for_pages(&mut self, memories: &[Memory], more: u64, maximum: u64) -> bool {
        if self.memories > memories.len() {
            // Those of an instance are gone that could not be made.
            (self.memories, self.pages) = (0, 0);
        }
        let new = &memories[self.memories..];
        self.pages += new.iter().map(|memory| memory.size()).sum::<u64>();
        self.memories += new.len();
        bytes(self.pages.saturating_add(more)) as u64 <= maximum
    }

    /// Whether all tables together may have this many more elements.
    pub fn has_room_for_elements(&mut self, tables: &[Table], more: u64, maximum: u64) -> bool {
        if self.tables > tables.len() {
            (self.tables, self.elements) = (0, 0);
        }
        let new = &tables[self.tables..];
        self.elements += new.iter().map(|table| table.elements().len() as u64).sum::<u64>();
        self.tables += new.len();
        self.elements.saturating_add(more) <= maximum
    }

    /// A memory has grown by this many pages.
    pub fn memory_has_grown(&mut self, delta: u64) {
        self.pages += delta;
    }

    /// A table has grown by this many elements.
    pub fn table_has_grown(&mut self, delta: u64) {
        self.elements += delta;
    }
}
