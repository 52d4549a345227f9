//! Values of the host as references.

use crate::store::{self, AsContext, AsContextMut};
use anyhow::{Result, anyhow};
use ropewalk_runtime::{Store as RuntimeStore, StoreId};
use std::any::Any;

/// A reference to a value of the host, of any type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ExternRef {
    store: StoreId,
    word: u64,
}

impl ExternRef {
    /// Moves a value into the store; it lives as long as the store.
    pub fn new<T: Any + Send + Sync>(mut store: impl AsContextMut, value: T) -> Result<ExternRef> {
        let runtime = &mut store.as_context_mut().0.runtime;
        Ok(ExternRef { store: runtime.id(), word: runtime.add_extern(Box::new(value)) })
    }

    /// The value.
    pub fn data<'a, C: AsContext>(&self, store: &'a C) -> Result<&'a (dyn Any + Send + Sync)> {
        let runtime = store.as_context().runtime();
        let word = self.to_word(runtime)?;
        runtime.extern_value(word).ok_or_else(|| anyhow!("the reference does not name a value"))
    }

    pub(crate) fn to_word(self, runtime: &RuntimeStore) -> Result<u64> {
        store::check(runtime, self.store, "externref")?;
        Ok(self.word)
    }

    /// The reference that a nonzero word of the store stands for.
    pub(crate) fn from_word(runtime: &RuntimeStore, word: u64) -> Option<ExternRef> {
        (word != 0).then(|| ExternRef { store: runtime.id(), word })
    }
}
