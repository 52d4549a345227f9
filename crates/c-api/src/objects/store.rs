//! Stores, and access to them.
//!
//! Only functions that create objects have a store as a parameter; objects know their store. So
//! objects share their store, which lives until the last of them is deleted.
//!
//! A host function in C may use the store through the [`Caller`] of its call, which is *lent* while
//! the function runs. Any other use of a store that is in use, such as by a finalizer that the
//! collector calls, is an error.

use crate::objects::engine::wasm_engine_t;
use crate::support::boundary::{or_default, required};
use crate::support::host_info::{HostInfo, ObjectId};
use crate::support::owned::deleted;
use anyhow::{Result, bail};
use ropewalk::{AsContextMut, Caller, RootScope, Store, StoreContextMut};
use ropewalk_wasi::WasiCtx;
use std::cell::UnsafeCell;
use std::collections::HashMap;
use std::ptr;
use std::sync::atomic::{AtomicPtr, Ordering};
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// The data of a store of this interface.
pub(crate) struct Data {
    pub(crate) wasi: Option<WasiCtx>,
    /// The store itself, for host functions, whose arguments are objects of the store.
    store: Weak<Shared>,
}

/// A store, shared by its objects.
#[derive(Clone)]
pub(crate) struct StoreRef(Arc<Shared>);

/// A weak reference to a store.
#[derive(Clone)]
pub(crate) struct WeakStoreRef(Weak<Shared>);

impl WeakStoreRef {
    /// The store, if it still exists.
    pub(crate) fn get(&self) -> Option<StoreRef> {
        self.0.upgrade().map(StoreRef)
    }
}

struct Shared {
    store: UnsafeCell<Store<Data>>,
    /// Null if the store is idle, [`IN_USE`] if it is in use, otherwise the caller that is lent to
    /// a host function.
    user: AtomicPtr<Caller<'static, Data>>,
    infos: Mutex<HashMap<ObjectId, Arc<HostInfo>>>,
}

// SAFETY: C promises that one thread at a time uses a store and its objects, and `user` detects
// most violations. The store itself is `Send`.
unsafe impl Send for Shared {}
// SAFETY: as above.
unsafe impl Sync for Shared {}

/// The value of `user` while the store is in use.
const IN_USE: *mut Caller<'static, Data> = ptr::without_provenance_mut(1);

/// Restores the user of a store on drop, also after a panic.
struct RestoreUser<'a>(&'a Shared, *mut Caller<'static, Data>);

impl Drop for RestoreUser<'_> {
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

    pub(crate) fn weak(&self) -> WeakStoreRef {
        WeakStoreRef(Arc::downgrade(&self.0))
    }

    /// The store of a host function's call.
    pub(crate) fn of(caller: &Caller<'_, Data>) -> Result<StoreRef> {
        match caller.data().store.upgrade() {
            Some(shared) => Ok(StoreRef(shared)),
            None => bail!("the store was deleted while WebAssembly was running in it"),
        }
    }

    /// Marks the store as in use.
    fn lock(&self) -> Result<RestoreUser<'_>> {
        let user = self.0.user.swap(IN_USE, Ordering::Acquire);
        if user == IN_USE {
            bail!(
                "the store is in use: only one thread at a time may use it and its objects, and \
                 finalizers must not use it"
            );
        }
        Ok(RestoreUser(&self.0, user))
    }

    /// Uses the store. Rooted references that `run` creates are dropped at the end, so it must
    /// return owned ones.
    pub(crate) fn enter<R>(
        &self,
        run: impl FnOnce(StoreContextMut<'_, Data>) -> Result<R>,
    ) -> Result<R> {
        // C may delete all its objects of the store in `run`.
        let keep = self.clone();
        let locked = keep.lock()?;
        // SAFETY: the lock gives exclusive access to the store. A lent caller is valid until
        // `lend` returns, which is after this lock is released.
        let context = unsafe {
            match locked.1.is_null() {
                true => (*keep.0.store.get()).as_context_mut(),
                false => (*locked.1).as_context_mut(),
            }
        };
        run(RootScope::new(context).as_context_mut())
    }

    /// Uses the store, and fails if WebAssembly runs in it.
    pub(crate) fn enter_idle<R>(
        &self,
        run: impl FnOnce(&mut Store<Data>) -> Result<R>,
    ) -> Result<R> {
        let locked = self.lock()?;
        if !locked.1.is_null() {
            bail!("this is not possible while WebAssembly runs in the store");
        }
        // SAFETY: the lock gives exclusive access to the store.
        run(unsafe { &mut *self.0.store.get() })
    }

    /// Uses the caller of the current host function.
    pub(crate) fn enter_caller<R>(
        &self,
        run: impl FnOnce(&mut Caller<'_, Data>) -> Result<R>,
    ) -> Result<R> {
        let locked = self.lock()?;
        if locked.1.is_null() {
            bail!("this is possible only in a host function");
        }
        // SAFETY: a lent caller is valid until `lend` returns, which is after this lock is
        // released.
        run(unsafe { &mut *locked.1 })
    }

    /// Lends a caller to a host function in C while `run` calls it.
    pub(crate) fn lend<R>(&self, caller: &mut Caller<'_, Data>, run: impl FnOnce() -> R) -> R {
        let user = ptr::from_mut(caller).cast::<Caller<'static, Data>>();
        let _restore = RestoreUser(&self.0, self.0.user.swap(user, Ordering::AcqRel));
        run()
    }

    /// The host info of an object of the store.
    pub(crate) fn host_info(&self, id: ObjectId) -> Arc<HostInfo> {
        let mut infos = self.0.infos.lock().unwrap_or_else(PoisonError::into_inner);
        infos.entry(id).or_default().clone()
    }

    pub(crate) fn same(&self, other: &StoreRef) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// A store in C.
pub struct wasm_store_t(pub(crate) StoreRef);

#[unsafe(no_mangle)]
pub extern "C" fn wasm_store_new(engine: Option<&wasm_engine_t>) -> Option<Box<wasm_store_t>> {
    or_default(|| {
        let engine = required(engine, "an engine")?;
        Ok(Some(Box::new(wasm_store_t(StoreRef::new(&engine.0)))))
    })
}

deleted! {
    "wasm_store": wasm_store_t;
}
