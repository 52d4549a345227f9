//! What a host function gets to see of whoever called it.

use crate::engine::Engine;
use crate::export::Extern;
use crate::instance::Instance;
use crate::store::{AsContext, AsContextMut, StoreContext, StoreContextMut};
use anyhow::Result;

/// The store in which a host function was called, and the instance that
/// imported the function.
#[derive(Debug)]
pub struct Caller<'a, T> {
    pub(crate) store: StoreContextMut<'a, T>,
    pub(crate) importer: Option<Instance>,
}

impl<T> Caller<'_, T> {
    /// An export of the instance that imported the function. Nothing if it was
    /// called otherwise than through an import.
    pub fn get_export(&mut self, name: &str) -> Option<Extern> {
        self.importer?.get_export(&mut self.store, name)
    }

    /// The host's data.
    pub fn data(&self) -> &T {
        self.store.data()
    }

    /// The host's data, to change it.
    pub fn data_mut(&mut self) -> &mut T {
        self.store.data_mut()
    }

    /// How much fuel is left, as [`Store::get_fuel`](crate::Store::get_fuel) says.
    pub fn get_fuel(&self) -> Result<u64> {
        self.store.get_fuel()
    }

    /// Sets how much fuel there is, as [`Store::set_fuel`](crate::Store::set_fuel) does.
    pub fn set_fuel(&mut self, fuel: u64) -> Result<()> {
        self.store.set_fuel(fuel)
    }

    /// The engine of the store.
    pub fn engine(&self) -> &Engine {
        self.store.engine()
    }
}

impl<T> AsContext for Caller<'_, T> {
    type Data = T;

    fn as_context(&self) -> StoreContext<'_, T> {
        self.store.as_context()
    }
}

impl<T> AsContextMut for Caller<'_, T> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, T> {
        self.store.as_context_mut()
    }
}
