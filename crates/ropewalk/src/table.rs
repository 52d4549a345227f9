//! Tables.

use crate::store::{self, AsContext, AsContextMut};
use crate::val::Val;
use anyhow::{Result, bail, ensure};
use ropewalk_abi::{RawVal, TableType, ValType};
use ropewalk_runtime::{Store as RuntimeStore, StoreId};

/// A table of a store.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    store: StoreId,
    index: usize,
}

impl Table {
    /// A new table that belongs to no instance, full of `init`.
    pub fn new(mut store: impl AsContextMut, ty: TableType, init: Val) -> Result<Table> {
        if ty.maximum.is_some_and(|maximum| maximum < ty.minimum) {
            bail!("the maximum of a table must not be less than its minimum: {ty}");
        }
        let runtime = &mut store.as_context_mut().0.runtime;
        crate::engine::check_type(runtime.types(), ValType::Ref(ty.element))?;
        let init = init.to_raw(runtime, ValType::Ref(ty.element))?;
        let index = runtime.add_table(ty, init.u64())?;
        Ok(Table::from_index(runtime, index))
    }

    pub(crate) fn from_index(runtime: &RuntimeStore, index: usize) -> Table {
        Table { store: runtime.id(), index }
    }

    pub(crate) fn in_store(&self, runtime: &RuntimeStore) -> Result<usize> {
        store::check(runtime, self.store, "table")?;
        Ok(self.index)
    }

    /// Its type; the minimum is the present size.
    pub fn ty(&self, store: impl AsContext) -> Result<TableType> {
        let runtime = store.as_context().runtime();
        Ok(runtime.table(self.in_store(runtime)?).ty())
    }

    /// How many elements it has.
    pub fn size(&self, store: impl AsContext) -> Result<u64> {
        Ok(self.ty(store)?.minimum)
    }

    /// The element at an index.
    pub fn get(&self, mut store: impl AsContextMut, index: u64) -> Result<Val> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let table = runtime.table(self.in_store(runtime)?);
        let elements = table.elements();
        let element = usize::try_from(index).ok().and_then(|index| elements.get(index));
        let Some(&word) = element else { bail!(beyond(index, elements.len())) };
        let ty = ValType::Ref(table.ty().element);
        // SAFETY: the elements of a table have its type.
        Ok(unsafe { Val::from_raw(runtime, &RawVal::from_u64(word), ty) })
    }

    /// Sets the element at an index.
    pub fn set(&self, mut store: impl AsContextMut, index: u64, value: Val) -> Result<()> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let number = self.in_store(runtime)?;
        let word = value.to_raw(runtime, ValType::Ref(runtime.table(number).ty().element))?.u64();
        let elements = runtime.table_mut(number).elements_mut();
        let size = elements.len();
        let element = usize::try_from(index).ok().and_then(|index| elements.get_mut(index));
        let Some(element) = element else { bail!(beyond(index, size)) };
        *element = word;
        Ok(())
    }

    /// Grows it by some elements; returns the old size.
    pub fn grow(&self, mut store: impl AsContextMut, delta: u64, init: Val) -> Result<u64> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let number = self.in_store(runtime)?;
        let ty = runtime.table(number).ty();
        let init = init.to_raw(runtime, ValType::Ref(ty.element))?.u64();
        let old = runtime.grow_table(number, delta, init)?;
        ensure!(old.is_some(), "cannot grow a table of type {ty} by {delta} elements");
        Ok(old.unwrap_or_default())
    }
}

fn beyond(index: u64, size: usize) -> String {
    format!("index {index} is beyond the table's {size} elements")
}
