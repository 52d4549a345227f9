//! Globals.

use crate::store::{self, AsContext, AsContextMut};
use crate::val::Val;
use anyhow::{Result, ensure};
use ropewalk_abi::GlobalType;
use ropewalk_runtime::store::GlobalItem;
use ropewalk_runtime::{Store as RuntimeStore, StoreId};

/// A global of a store.
#[derive(Clone, Copy, Debug)]
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
        let place = runtime.add_global(ty, value);
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
        ensure!(ty.mutable, "an immutable global cannot be set");
        let value = value.to_raw(runtime, ty.content)?;
        // SAFETY: it belongs to the store, and the value has its type.
        unsafe { place.set(runtime, value) };
        Ok(())
    }
}
