//! Stores, and how the functions of this interface get at them.
//!
//! Objects of C's know their store, and no function but those that make something is given
//! one. So a store is shared by its objects, and lives until the last of them is deleted.
//!
//! A function of C's that WebAssembly has called may use the store too. It does so through
//! the [`Caller`] that it runs for, which is *lent* meanwhile; anything else that would use
//! the store while it is in use, such as a finalizer that the collector calls, is told so.

use crate::boundary::{answer, required};
use crate::engine::wasm_engine_t;
use crate::host_info::{HostInfo, Place};
use anyhow::{Result, bail};
use ropewalk::{AsContextMut, Caller, RootScope, Store, StoreContextMut};
use ropewalk_wasi::WasiCtx;
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// What a store of this interface has of the host.
pub(crate) struct Data {
    pub(crate) wasi: Option<WasiCtx>,
    /// The store itself, for functions of C's, which make objects of it.
    store: Weak<Shared>,
}

/// A store that its objects share.
#[derive(Clone)]
pub(crate) struct StoreRef(Arc<Shared>);

/// The same, which does not keep it.
#[derive(Clone)]
pub(crate) struct WeakStoreRef(Weak<Shared>);

impl WeakStoreRef {
    /// The store, if it is there still.
    pub(crate) fn get(&self) -> Option<StoreRef> {
        self.0.upgrade().map(StoreRef)
    }
}

struct Shared {
    store: UnsafeCell<Store<Data>>,
    /// Who may use the store: null if anybody may, [`IN_USE`] if nobody may, else a host
    /// function.
    user: AtomicPtr<Caller<'static, Data>>,
    infos: Mutex<HashMap<Place, Arc<HostInfo>>>,
}

// SAFETY: C promises that one thread at a time uses a store and its objects, and `user`
// refuses most of what breaks the promise. The store itself may be sent.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// Stands for a user while the store is in use.
const IN_USE: *mut Caller<'static, Data> = ptr::without_provenance_mut(1);

/// Puts the user of a store back, also after a panic.
struct PutBack<'a>(&'a Shared, *mut Caller<'static, Data>);

impl Drop for PutBack<'_> {
    fn drop(&mut self) {
        self.0.user.store(self.1, Ordering::Release);
    }
}

impl StoreRef {
    fn new(engine: &ropewalk::Engine) -> StoreRef {
        StoreRef(Arc::new_cyclic(|this| Shared {
            store: UnsafeCell::new(Store::new(engine, Data { wasi: None, store: this.clone() })),
            user: AtomicPtr::default(),
            infos: Mutex::default(),
        }))
    }

    /// The same, without keeping it.
    pub(crate) fn weak(&self) -> WeakStoreRef {
        WeakStoreRef(Arc::downgrade(&self.0))
    }

    /// The store that a function of C's was called in.
    pub(crate) fn of(caller: &Caller<'_, Data>) -> Result<StoreRef> {
        match caller.data().store.upgrade() {
            Some(shared) => Ok(StoreRef(shared)),
            None => bail!("the store was deleted while WebAssembly runs in it"),
        }
    }

    /// Takes the store into use.
    fn take(&self) -> Result<PutBack<'_>> {
        let user = self.0.user.swap(IN_USE, Ordering::Acquire);
        if user == IN_USE {
            bail!(
                "the store is in use: one thread at a time may use it and its objects, and a \
                 finalizer may not"
            );
        }
        Ok(PutBack(&self.0, user))
    }

    /// Uses the store. References of Rust's that are made meanwhile end with it: what C gets
    /// is owned.
    pub(crate) fn enter<R>(
        &self,
        run: impl FnOnce(StoreContextMut<'_, Data>) -> Result<R>,
    ) -> Result<R> {
        // What runs may delete every object of the store that C has.
        let keep = self.clone();
        let taken = keep.take()?;
        // SAFETY: nobody uses the store but whoever has taken it. A lent caller lives
        // until it is taken back, which happens after this has put it back.
        let context = unsafe {
            match taken.1.is_null() {
                true => (*keep.0.store.get()).as_context_mut(),
                false => (*taken.1).as_context_mut(),
            }
        };
        run(RootScope::new(context).as_context_mut())
    }

    /// Uses the store for what cannot be done while WebAssembly runs in it.
    pub(crate) fn enter_idle<R>(
        &self,
        run: impl FnOnce(&mut Store<Data>) -> Result<R>,
    ) -> Result<R> {
        let taken = self.take()?;
        if !taken.1.is_null() {
            bail!("this cannot be done while WebAssembly runs in the store");
        }
        // SAFETY: nobody uses the store but whoever has taken it.
        run(unsafe { &mut *self.0.store.get() })
    }

    /// Uses the caller of the function of C's that runs now.
    pub(crate) fn enter_caller<R>(
        &self,
        run: impl FnOnce(&mut Caller<'_, Data>) -> Result<R>,
    ) -> Result<R> {
        let taken = self.take()?;
        if taken.1.is_null() {
            bail!("this can be done only in a function that WebAssembly has called");
        }
        // SAFETY: a lent caller lives until it is taken back, which happens after this has
        // put it back.
        run(unsafe { &mut *taken.1 })
    }

    /// Lets C use the store through a caller while a function of C's runs.
    pub(crate) fn lend<R>(&self, caller: &mut Caller<'_, Data>, run: impl FnOnce() -> R) -> R {
        let user = ptr::from_mut(caller).cast::<Caller<'static, Data>>();
        let _put_back = PutBack(&self.0, self.0.user.swap(user, Ordering::AcqRel));
        run()
    }

    /// What is attached to an object of the store.
    pub(crate) fn host_info(&self, place: Place) -> Arc<HostInfo> {
        let mut infos = self.0.infos.lock().unwrap_or_else(PoisonError::into_inner);
        infos.entry(place).or_default().clone()
    }

    pub(crate) fn same(&self, other: &StoreRef) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A store, as C has it.
pub struct wasm_store_t(pub(crate) StoreRef);

#[unsafe(no_mangle)]
pub extern "C" fn wasm_store_new(engine: Option<&wasm_engine_t>) -> Option<Box<wasm_store_t>> {
    answer(|| {
        let engine = required(engine, "an engine")?;
        Ok(Some(Box::new(wasm_store_t(StoreRef::new(&engine.0)))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_store_delete(store: Option<Box<wasm_store_t>>) {
    answer(|| {
        drop(store);
        Ok(())
    });
}
