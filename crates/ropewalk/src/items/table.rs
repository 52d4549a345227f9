//! Tables.

use crate::misuse::{Bounded, OutOfBounds, WrongType};
use crate::store::{self, AsContext, AsContextMut};
use crate::value::val::Val;
use anyhow::{Result, bail, ensure};
use ropewalk_abi::{RawVal, TableType, ValType};
use ropewalk_runtime::{Growth, Store as RuntimeStore, StoreId};
use std::ops::Range;

/// A table of a store.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (type $callback (func (param i32) (result i32)))
///       (table (export "callbacks") 2 funcref)
///       (func (export "run") (param i32 i32) (result i32)
///         (call_indirect (type $callback) (local.get 1) (local.get 0))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let callbacks = instance.get_table(&mut store, "callbacks").unwrap();
/// let double = Func::wrap(&mut store, |x: i32| x * 2);
/// callbacks.set(&mut store, 1, double.into())?;
/// let run = instance.get_typed_func::<(i32, i32), i32>(&mut store, "run")?;
/// assert_eq!(run.call(&mut store, (1, 21))?, 42);
///
/// assert_eq!(callbacks.grow(&mut store, 3, Val::FuncRef(None))?, 2);
/// callbacks.fill(&mut store, 2, double.into(), 3)?;
/// Table::copy(&mut store, &callbacks, 0, &callbacks, 4, 1)?;
/// assert_eq!(run.call(&mut store, (0, 4))?, 8);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Table {
    store: StoreId,
    index: usize,
}

impl Table {
    /// A new table that belongs to no instance. All elements are `init`.
    pub fn new(mut store: impl AsContextMut, ty: TableType, init: Val) -> Result<Table> {
        if ty.maximum.is_some_and(|maximum| maximum < ty.minimum) {
            bail!("the maximum of a table must not be less than its minimum, found {ty}");
        }
        let runtime = &mut store.as_context_mut().0.runtime;
        crate::engine::check_type(runtime.types(), ValType::Ref(ty.element))?;
        let init = init.to_raw(runtime, ValType::Ref(ty.element))?;
        let index = runtime.with_embedder(|runtime| runtime.add_table(ty, init.u64()))?;
        Ok(Table::from_index(runtime, index))
    }

    /// As [`new`](Self::new), in a future, which waits for the decision of an async
    /// [limiter](crate::Store::limiter_async).
    pub async fn new_async(
        mut store: impl AsContextMut<Data: Send>,
        ty: TableType,
        init: Val,
    ) -> Result<Table> {
        let mut store = store.as_context_mut();
        let growth = Growth::of_table(&ty, 0, ty.minimum);
        let answers = store.0.runtime.ask_first(vec![growth]).await?;
        store.with_answers(answers, |store| Table::new(store, ty, init))
    }

    pub(crate) fn from_index(runtime: &RuntimeStore, index: usize) -> Table {
        Table { store: runtime.id(), index }
    }

    pub(crate) fn in_store(&self, runtime: &RuntimeStore) -> Result<usize> {
        store::check(runtime, self.store, "table")?;
        Ok(self.index)
    }

    /// Its type. The minimum is the current size.
    pub fn ty(&self, store: impl AsContext) -> Result<TableType> {
        let runtime = store.as_context().runtime();
        Ok(runtime.objects.table(self.in_store(runtime)?).ty())
    }

    /// How many elements it has.
    pub fn size(&self, store: impl AsContext) -> Result<u64> {
        Ok(self.ty(store)?.minimum)
    }

    /// The element at an index.
    pub fn get(&self, mut store: impl AsContextMut, index: u64) -> Result<Val> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let table = runtime.objects.table(self.in_store(runtime)?);
        let elements = table.elements();
        let word = elements[elements_from(index, 1, elements.len())?][0];
        let ty = ValType::Ref(table.ty().element);
        // SAFETY: the elements of a table have its type.
        Ok(unsafe { Val::from_raw(runtime, &RawVal::from_u64(word), ty) })
    }

    /// Sets the element at an index.
    pub fn set(&self, store: impl AsContextMut, index: u64, value: Val) -> Result<()> {
        self.fill(store, index, value, 1)
    }

    /// Sets `count` elements, beginning at an index.
    pub fn fill(
        &self,
        mut store: impl AsContextMut,
        index: u64,
        value: Val,
        count: u64,
    ) -> Result<()> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let number = self.in_store(runtime)?;
        let word =
            value.to_raw(runtime, ValType::Ref(runtime.objects.table(number).ty().element))?.u64();
        let elements = runtime.objects.table_mut(number).elements_mut();
        let range = elements_from(index, count, elements.len())?;
        elements[range].fill(word);
        Ok(())
    }

    /// Copies `count` elements from one table to another, or within one.
    pub fn copy(
        mut store: impl AsContextMut,
        to: &Table,
        to_index: u64,
        from: &Table,
        from_index: u64,
        count: u64,
    ) -> Result<()> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let (to, from) = (to.in_store(runtime)?, from.in_store(runtime)?);
        let element = |number: usize| ValType::Ref(runtime.objects.table(number).ty().element);
        if !runtime.types().is_subtype(element(from), element(to)) {
            let describe = |number| runtime.types().describe(element(number));
            return Err(WrongType::new("element", describe(to), describe(from)).into());
        }
        let elements = runtime.objects.table(from).elements();
        let range = elements_from(from_index, count, elements.len())?;
        let elements = elements[range].to_vec();
        let places = runtime.objects.table_mut(to).elements_mut();
        let range = elements_from(to_index, count, places.len())?;
        places[range].copy_from_slice(&elements);
        Ok(())
    }

    /// Grows it by `delta` elements. Returns the old size.
    pub fn grow(&self, mut store: impl AsContextMut, delta: u64, init: Val) -> Result<u64> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let number = self.in_store(runtime)?;
        let ty = runtime.objects.table(number).ty();
        let init = init.to_raw(runtime, ValType::Ref(ty.element))?.u64();
        let old = runtime.with_embedder(|runtime| runtime.grow_table(number, delta, init))?;
        ensure!(old.is_some(), "cannot grow a table of type {ty} by {delta} elements");
        Ok(old.unwrap_or_default())
    }

    /// As [`grow`](Self::grow), in a future, which waits for the decision of an async
    /// [limiter](crate::Store::limiter_async).
    pub async fn grow_async(
        &self,
        mut store: impl AsContextMut<Data: Send>,
        delta: u64,
        init: Val,
    ) -> Result<u64> {
        let mut store = store.as_context_mut();
        let runtime = &store.0.runtime;
        let growth = runtime.table_growth(self.in_store(runtime)?, delta);
        let answers = runtime.ask_first(vec![growth]).await?;
        store.with_answers(answers, |store| self.grow(store, delta, init))
    }
}

fn elements_from(index: u64, count: u64, size: usize) -> Result<Range<usize>, OutOfBounds> {
    OutOfBounds::range(Bounded::Table, index, count, size as u64)
}
