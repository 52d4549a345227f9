//! How long references last.

use super::{Handle, Inside, Reference, check_kind};
use crate::store::{self, AsContext, AsContextMut, StoreContext, StoreContextMut};
use anyhow::Result;
use ropewalk_runtime::{OwnedRoot, Store as RuntimeStore, StoreId};

/// A reference that lasts as long as it is kept.
#[derive(Clone, Debug)]
pub struct Owned<R: Reference> {
    store: StoreId,
    root: OwnedRoot,
    detail: R::Detail,
}

impl<R: Reference> Owned<R> {
    pub(crate) fn new(runtime: &mut RuntimeStore, word: u64, detail: R::Detail) -> Owned<R> {
        Owned { store: runtime.id(), root: runtime.own(word), detail }
    }

    pub(crate) fn from_root(store: StoreId, root: OwnedRoot, detail: R::Detail) -> Owned<R> {
        Owned { store, root, detail }
    }

    /// The reference, for the present scope.
    pub fn get(&self, mut store: impl AsContextMut) -> Result<R> {
        let runtime = &mut store.as_context_mut().0.runtime;
        let word = self.word(runtime)?;
        Ok(R::from_handle(Handle::new(runtime, word), self.detail, Inside(())))
    }

    pub(crate) fn word(&self, runtime: &RuntimeStore) -> Result<u64> {
        store::check(runtime, self.store, "reference")?;
        let word = runtime.owned(&self.root);
        check_kind(runtime, word, R::KIND)?;
        Ok(word)
    }
}

/// A scope of references: those that are made in it end with it.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let reference = {
///     let mut scope = RootScope::new(&mut store);
///     ExternRef::new(&mut scope, "a value")?
/// };
/// assert!(reference.data(&store).is_err());
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct RootScope<C: AsContextMut> {
    store: C,
    begin: usize,
}

impl<C: AsContextMut> RootScope<C> {
    /// Begins a scope.
    pub fn new(mut store: C) -> RootScope<C> {
        let begin = store.as_context_mut().0.runtime.begin_scope();
        RootScope { store, begin }
    }
}

impl<C: AsContextMut> Drop for RootScope<C> {
    fn drop(&mut self) {
        self.store.as_context_mut().0.runtime.end_scope(self.begin);
    }
}

impl<C: AsContextMut> AsContext for RootScope<C> {
    type Data = C::Data;

    fn as_context(&self) -> StoreContext<'_, C::Data> {
        self.store.as_context()
    }
}

impl<C: AsContextMut> AsContextMut for RootScope<C> {
    fn as_context_mut(&mut self) -> StoreContextMut<'_, C::Data> {
        self.store.as_context_mut()
    }
}
