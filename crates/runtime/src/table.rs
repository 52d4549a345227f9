//! Tables: growable arrays of references, one word each.

use ropewalk_abi::{TableDef, TableType};
use std::ptr::NonNull;

/// How many elements a table may have at most.
pub const MAX_ELEMENTS: u64 = 10_000_000;

/// A table.
#[derive(Debug)]
pub struct Table {
    /// What generated code sees, inside an instance or in `own_def`.
    def: NonNull<TableDef>,
    /// The record of a table that belongs to no instance.
    _own_def: Option<Box<TableDef>>,
    elements: Vec<u64>,
    ty: TableType,
    /// Whether the collector follows its elements.
    is_collected: bool,
}

// SAFETY: a table is used only together with the store that owns it.
unsafe impl Send for Table {}
// SAFETY: as above.
unsafe impl Sync for Table {}

/// Why there is no table.
#[derive(Debug, thiserror::Error)]
#[error("cannot allocate a table of {0} elements")]
pub struct TableError(u64);

impl Table {
    /// A new table whose record is at `def`.
    ///
    /// # Safety
    ///
    /// `def` must stay valid as long as the table.
    pub(crate) unsafe fn new(
        ty: TableType,
        is_collected: bool,
        init: u64,
        def: NonNull<TableDef>,
    ) -> Result<Table, TableError> {
        let mut table = Table { def, _own_def: None, elements: Vec::new(), ty, is_collected };
        table.extend(ty.minimum, init).ok_or(TableError(ty.minimum))?;
        Ok(table)
    }

    /// A new table that belongs to no instance.
    pub(crate) fn standalone(
        ty: TableType,
        is_collected: bool,
        init: u64,
    ) -> Result<Table, TableError> {
        let mut own = Box::new(TableDef::EMPTY);
        // SAFETY: the record is on the heap, and the table owns it.
        let table = unsafe { Table::new(ty, is_collected, init, NonNull::from(&mut *own)) }?;
        Ok(Table { _own_def: Some(own), ..table })
    }

    /// Its record.
    pub fn def(&self) -> NonNull<TableDef> {
        self.def
    }

    /// Its type, with the present size as the minimum.
    pub fn ty(&self) -> TableType {
        TableType { minimum: self.elements.len() as u64, ..self.ty }
    }

    pub(crate) fn is_collected(&self) -> bool {
        self.is_collected
    }

    /// Its elements.
    pub fn elements(&self) -> &[u64] {
        &self.elements
    }

    /// Its elements, to change them.
    pub fn elements_mut(&mut self) -> &mut [u64] {
        &mut self.elements
    }

    /// Grows it; answers the old size.
    pub fn grow(&mut self, delta: u64, init: u64) -> Option<u64> {
        let old = self.elements.len() as u64;
        let new = old.checked_add(delta)?;
        let address_limit = if self.ty.table64 { u64::MAX } else { u64::from(u32::MAX) };
        if new > self.ty.maximum.unwrap_or(u64::MAX).min(address_limit) {
            return None;
        }
        self.extend(new, init)?;
        Some(old)
    }

    fn extend(&mut self, len: u64, init: u64) -> Option<()> {
        if len > MAX_ELEMENTS {
            return None;
        }
        let len = len as usize;
        self.elements.try_reserve(len - self.elements.len()).ok()?;
        self.elements.resize(len, init);
        // SAFETY: the record is valid as long as the table.
        unsafe { self.def.write(TableDef { base: self.elements.as_mut_ptr(), len }) };
        Some(())
    }
}
