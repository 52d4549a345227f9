//! Globals.

use crate::misuse::Immutable;
use crate::store::{self, AsContext, AsContextMut};
use crate::value::val::Val;
use anyhow::Result;
use ropewalk_abi::GlobalType;
use ropewalk_runtime::vm::global::GlobalItem;
use ropewalk_runtime::{Store as RuntimeStore, StoreId};

/// A global of a store.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let count = Global::new(&mut store, GlobalType::new(ValType::I64, true), Val::I64(1))?;
/// count.set(&mut store, Val::I64(2))?;
/// assert_eq!(count.get(&mut store)?.i64(), Some(2));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Global {
    store: StoreId,
    item: GlobalItem,
}

impl Global {
    /// A new global that belongs to no instance.
    pub fn new(mut store: impl AsContextMut, ty: GlobalType, value: Val) -> Result<Global> {
        let runtime = &mut store.as_context_mut().0.runtime;
        crate::engine::check_type(runtime.types(), ty.content)?;
        let value = value.to_raw(runtime, ty.content)?;
        let place = runtime.objects.add_global(ty, value);
        Ok(Global::from_item(runtime, GlobalItem { place, ty }))
    }

    pub(crate) fn from_item(runtime: &RuntimeStore, item: GlobalItem) -> Global {
        Global { store: runtime.id(), item }
    }

    pub(crate) fn in_store(&self, runtime: &RuntimeStore) -> Result<GlobalItem> {
        store::check(runtime, self.store, "global")?;
        Ok(self.item)
    }

    /// Its type.
    pub fn ty(&self, store: impl AsContext) -> Result<GlobalType> {
        Ok(self.in_store(store.as_context().runtime())?.ty)
    }

    /// Its value.
    pub fn get(&self, mut store: impl AsContextMut) -> Result<Val> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let GlobalItem { place, ty } = self.in_store(runtime)?;
        // SAFETY: it belongs to the store, and its value has its type.
        unsafe {
            let value = place.get(runtime);
            Ok(Val::from_raw(runtime, &value, ty.content))
        }
    }

    /// Sets its value.
    pub fn set(&self, mut store: impl AsContextMut, value: Val) -> Result<()> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let GlobalItem { place, ty } = self.in_store(runtime)?;
        if !ty.mutable {
            return Err(Immutable("global").into());
        }
        let value = value.to_raw(runtime, ty.content)?;
        // SAFETY: it belongs to the store, and the value has its type.
        unsafe { place.set(runtime, value) };
        Ok(())
    }
}
