//! Tables: growable arrays of references, one word each.
//!
//! The elements of a small table lie on the host's heap, those of a larger one in a mapping:
//! unwritten pages take no memory, and growing moves pages instead of copying them. Null is zero,
//! so a table of nulls is never written.

use crate::os::limits::OsLimit;
use crate::os::mapping::{Map, PAGE};
use crate::os::memory_size::machine_memory;
use crate::vm::memory::beyond_total;
use ropewalk_abi::{TableDef, TableType};
use std::ops::Range;
use std::ptr::NonNull;

/// Limits on tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TableLimits {
    /// The maximum length of a table.
    pub elements: u64,
    /// The maximum number of non-null elements that the tables of an instance begin with, in total.
    pub filled: u64,
    /// The maximum total number of elements in a store. Default: a quarter of the machine's memory.
    pub total: u64,
}

impl Default for TableLimits {
    fn default() -> Self {
        let total = machine_memory() / 4 / size_of::<u64>();
        TableLimits { elements: 10_000_000, filled: 20_000_000, total: total as u64 }
    }
}

/// The longest table that is not mapped.
const SMALL: usize = 4096;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// The record for generated code, inside an instance or in `own_def`.
    def: NonNull<TableDef>,
    /// The record of a table that belongs to no instance.
    _own_def: Option<Box<TableDef>>,
    elements: Elements,
    len: usize,
    ty: TableType,
    /// The maximum length.
    limit: u64,
    /// Whether the collector follows its elements.
    is_collected: bool,
}

// SAFETY: a table is used only together with its store.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// The storage of the elements. Words beyond the last element are zero.
#[derive(Debug)]
enum Elements {
    Small(Vec<u64>),
    Mapped(Map),
}

/// Why a table cannot be made.
#[derive(Debug, thiserror::Error)]
pub enum TableError {
    /// The table is too long.
    #[error(
        "a table of {elements} elements: at most {limit} are allowed (Config::max_table_elements)"
    )]
    TooLarge {
        /// The requested length.
        elements: u64,
        /// The limit.
        limit: u64,
    },
    /// The tables of an instance begin with too many non-null elements.
    #[error(
        "tables that begin with {elements} elements that are not null: at most {limit} are allowed (Config::max_filled_elements)"
    )]
    TooFull {
        /// The number of such elements.
        elements: u64,
        /// The limit.
        limit: u64,
    },
    /// The tables of the store would exceed their limit.
    #[error(
        "a table of {elements} elements: all tables of a store may have at most {limit} (Config::max_total_table_elements)"
    )]
    TooManyElements {
        /// The requested length.
        elements: u64,
        /// The limit.
        limit: u64,
    },
    /// The memories and tables of the store would exceed their common limit in bytes.
    #[error("cannot allocate a table of {elements} elements: {}", beyond_total(*limit))]
    BeyondTotal {
        /// The elements of the table.
        elements: u64,
        /// How many bytes are allowed.
        limit: u64,
    },
    /// There is no memory for it.
    #[error("cannot allocate a table of {elements} elements: {reason}")]
    NoMemory {
        /// The requested length.
        elements: u64,
        /// The OS limit.
        reason: String,
    },
}

fn no_memory(elements: u64) -> TableError {
    let bytes = Table::bytes(elements) as usize;
    TableError::NoMemory { elements, reason: OsLimit::found(bytes).to_string() }
}

impl Table {
    /// How many bytes this many elements take.
    pub(crate) fn bytes(elements: u64) -> u64 {
        elements.saturating_mul(size_of::<u64>() as u64)
    }

    /// A new table whose record is at `def`.
    ///
    /// # Safety
    ///
    /// `def` must stay valid as long as the table.
    pub(crate) unsafe fn new(
        ty: TableType,
        is_collected: bool,
        init: u64,
        limit: u64,
        def: NonNull<TableDef>,
    ) -> Result<Table, TableError> {
        if ty.minimum > limit {
            return Err(TableError::TooLarge { elements: ty.minimum, limit });
        }
        let elements = Elements::Small(Vec::new());
        let mut table = Table { def, _own_def: None, elements, len: 0, ty, limit, is_collected };
        table.extend(ty.minimum, init).ok_or_else(|| no_memory(ty.minimum))?;
        Ok(table)
    }

    /// Makes a table that belongs to no instance.
    pub(crate) fn standalone(
        ty: TableType,
        is_collected: bool,
        init: u64,
        limit: u64,
    ) -> Result<Table, TableError> {
        let mut own = Box::new(TableDef::EMPTY);
        // SAFETY: the table owns the boxed record.
        let table = unsafe { Table::new(ty, is_collected, init, limit, NonNull::from(&mut *own)) }?;
        Ok(Table { _own_def: Some(own), ..table })
    }

    /// The record for generated code.
    pub fn def(&self) -> NonNull<TableDef> {
        self.def
    }

    /// The type, with the current length as the minimum.
    pub fn ty(&self) -> TableType {
        TableType { minimum: self.len as u64, ..self.ty }
    }

    pub(crate) fn is_collected(&self) -> bool {
        self.is_collected
    }

    /// The elements.
    pub fn elements(&self) -> &[u64] {
        // SAFETY: the storage has at least this many words, which are written with the store
        // borrowed.
        unsafe { std::slice::from_raw_parts(self.elements.base(), self.len) }
    }

    /// The mapping of the elements, if they are mapped.
    pub(crate) fn map(&self) -> Option<Range<*const u8>> {
        match &self.elements {
            Elements::Small(_) => None,
            Elements::Mapped(map) => Some(map.addresses()),
        }
    }

    /// The elements, mutably.
    pub fn elements_mut(&mut self) -> &mut [u64] {
        // SAFETY: as in `elements`, and the store is borrowed mutably.
        unsafe { std::slice::from_raw_parts_mut(self.elements.base_mut(), self.len) }
    }

    /// Grows the table; returns the old length.
    pub fn grow(&mut self, delta: u64, init: u64) -> Option<u64> {
        let old = self.len as u64;
        let new = old.checked_add(delta)?;
        let address_limit = if self.ty.table64 { u64::MAX } else { u64::from(u32::MAX) };
        if new > self.ty.maximum.unwrap_or(u64::MAX).min(address_limit) {
            return None;
        }
        self.extend(new, init)?;
        Some(old)
    }

    fn extend(&mut self, len: u64, init: u64) -> Option<()> {
        if len > self.limit {
            return None;
        }
        let (old, len) = (self.len, usize::try_from(len).ok()?);
        if len > self.elements.capacity() {
            self.elements = self.elements.enlarged(old, self.room_for(len))?;
        }
        self.len = len;
        if init != 0 {
            self.elements_mut()[old..].fill(init);
        }
        // SAFETY: the record is valid as long as the table.
        unsafe { self.def.write(TableDef { base: self.elements.base_mut(), len }) };
        Some(())
    }

    /// The capacity for this many elements, with room to grow if the table has grown before.
    fn room_for(&self, len: usize) -> usize {
        let most = self.ty.maximum.unwrap_or(u64::MAX).min(self.limit) as usize;
        let wanted = if self.len == 0 { len } else { len.saturating_mul(2) };
        wanted.min(most).max(len)
    }
}

impl Elements {
    fn base(&self) -> *const u64 {
        match self {
            Elements::Small(words) => words.as_ptr(),
            Elements::Mapped(map) => map.base().cast(),
        }
    }

    fn base_mut(&mut self) -> *mut u64 {
        match self {
            Elements::Small(words) => words.as_mut_ptr(),
            Elements::Mapped(map) => map.base().cast(),
        }
    }

    fn capacity(&self) -> usize {
        match self {
            Elements::Small(words) => words.len(),
            Elements::Mapped(map) => map.len() / size_of::<u64>(),
        }
    }

    /// Storage for `room` words that begins with the first `len` words of this one.
    fn enlarged(&mut self, len: usize, room: usize) -> Option<Elements> {
        if let (Elements::Small(words), true) = (&mut *self, room <= SMALL) {
            // Without memory, the words stay where they are.
            words.try_reserve_exact(room - words.len()).ok()?;
            words.resize(room, 0);
            return Some(Elements::Small(std::mem::take(words)));
        }
        let bytes = room.checked_mul(size_of::<u64>())?.checked_next_multiple_of(PAGE)?;
        let mut map = Map::read_write(bytes).ok()?;
        match self {
            Elements::Mapped(old) => map.take_pages(old, old.len()).ok()?,
            // SAFETY: both have room for this many words, and do not overlap.
            Elements::Small(words) => unsafe {
                std::ptr::copy_nonoverlapping(words.as_ptr(), map.base().cast(), len);
            },
        }
        Some(Elements::Mapped(map))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ropewalk_abi::RefType;

    fn table(minimum: u64, maximum: Option<u64>, init: u64) -> Table {
        let ty = TableType { element: RefType::FUNCREF, minimum, maximum, table64: false };
        Table::standalone(ty, false, init, TableLimits::default().elements).unwrap()
    }

    fn committed(table: &Table) -> usize {
        match &table.elements {
            Elements::Small(words) => words.len() * size_of::<u64>(),
            Elements::Mapped(map) => map.committed(),
        }
    }

    #[test]
    fn elements_that_nobody_has_written_take_no_memory() {
        let mut table = table(10_000_000, None, 0);
        assert_eq!(committed(&table), 0);
        table.elements_mut()[5_000_000] = 7;
        assert!(committed(&table) <= 1 << 21, "a page, even if it is a large one");
        assert_eq!(table.elements()[4_999_999..5_000_002], [0, 7, 0]);
    }

    #[test]
    fn growing_keeps_the_elements_and_fills_the_new_ones() {
        let mut table = table(3, None, 5);
        let mut expected = vec![5; 3];
        for (delta, init) in [(1, 0), (10, 8), (SMALL as u64, 9), (100_000, 0), (1_000_000, 6)] {
            assert_eq!(table.grow(delta, init), Some(expected.len() as u64));
            expected.resize(expected.len() + delta as usize, init);
            assert!(table.elements() == expected);
            // SAFETY: the record is the table's own.
            let def = unsafe { table.def().read() };
            assert_eq!((def.base.cast_const(), def.len), (table.elements.base(), expected.len()));
        }
    }

    #[test]
    fn growing_beyond_the_maximum_or_the_limit_changes_nothing() {
        let mut small = table(1, Some(3), 0);
        assert_eq!(small.grow(3, 0), None);
        assert_eq!(small.grow(2, 0), Some(1));
        let mut large = table(1, None, 0);
        assert_eq!(large.grow(10_000_000, 0), None);
        assert_eq!(large.grow(u64::MAX, 0), None);
        assert_eq!(large.grow(9_999_999, 0), Some(1));
        assert_eq!(large.elements().len(), 10_000_000);
    }

    #[test]
    fn more_elements_than_bytes_can_be_counted_for_are_refused() {
        let ty = TableType { element: RefType::FUNCREF, minimum: 1, maximum: None, table64: true };
        let unlimited =
            |minimum| Table::standalone(TableType { minimum, ..ty }, false, 5, u64::MAX);
        for minimum in [(1 << 61) - 1, 1 << 61, 1 << 60, u64::MAX] {
            assert!(unlimited(minimum).is_err());
        }
        let mut table = unlimited(1).unwrap();
        // Twice as many are one page less than all bytes.
        for delta in [(1 << 60) - 2, (1 << 60) - 1, (1 << 61) - 2, (1 << 61) - 1, u64::MAX - 1] {
            assert_eq!(table.grow(delta, 5), None);
        }
        assert_eq!(table.elements(), [5]);
    }
}
