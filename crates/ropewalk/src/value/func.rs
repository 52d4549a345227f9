//! Handles of functions. [`items::func`](crate::items::func) makes and calls functions.

use crate::store::{self, AsContext};
use anyhow::Result;
use ropewalk_abi::{FuncRef, FuncType, HostContext};
use ropewalk_runtime::{Store as RuntimeStore, StoreId};
use std::ptr::NonNull;

/// A function of a store: of WebAssembly or of the host.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let add = Func::wrap(&mut store, |a: i32, b: i32| a + b);
/// let mut results = [Val::I32(0)];
/// add.call(&mut store, &[Val::I32(40), Val::I32(2)], &mut results)?;
/// assert_eq!(results[0].i32(), Some(42));
/// assert_eq!(add.typed::<(i32, i32), i32>(&store)?.call(&mut store, (1, 2))?, 3);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Func {
    pub(crate) store: StoreId,
    pub(crate) func_ref: NonNull<FuncRef>,
}

/// The identity of a function in its store.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module (func $f (export "f") (export "again")) (func (export "other")))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let instance = Instance::new(&mut store, &module, &[])?;
/// let mut id = |name| instance.get_func(&mut store, name).unwrap().id(&store);
/// assert_eq!(id("f")?, id("again")?);
/// assert_ne!(id("f")?, id("other")?);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct FuncId {
    pub(crate) store: StoreId,
    pub(crate) code: usize,
    pub(crate) closes_over: usize,
}

impl Func {
    pub(crate) fn from_ref(runtime: &RuntimeStore, func_ref: NonNull<FuncRef>) -> Func {
        Func { store: runtime.id(), func_ref }
    }

    /// The function in a word, unless it is null.
    ///
    /// # Safety
    ///
    /// The word must be a function reference of the store.
    pub(crate) unsafe fn from_word(runtime: &RuntimeStore, word: u64) -> Option<Func> {
        Some(Func::from_ref(runtime, NonNull::new(word as *mut FuncRef)?))
    }

    pub(crate) fn to_word(self, runtime: &RuntimeStore) -> Result<u64> {
        Ok(self.in_store(runtime)?.as_ptr() as u64)
    }

    #[inline]
    pub(crate) fn in_store(&self, runtime: &RuntimeStore) -> Result<NonNull<FuncRef>> {
        store::check(runtime, self.store, "function")?;
        Ok(self.func_ref)
    }

    pub(crate) fn type_id(&self, runtime: &RuntimeStore) -> Result<u32> {
        let func_ref = self.in_store(runtime)?;
        // SAFETY: it belongs to the store, which is alive, and so is its type.
        Ok(unsafe { (*func_ref.as_ref().ty).id })
    }

    /// Identifies the function: the result is the same for an export, an import or a reference.
    /// Host functions that capture nothing and do the same may have the same identity.
    pub fn id(&self, store: impl AsContext) -> Result<FuncId> {
        let func_ref = self.in_store(store.as_context().runtime())?;
        // SAFETY: it belongs to the store, which is alive.
        let FuncRef { code, context, is_host, .. } = unsafe { func_ref.read() };
        let (code, closes_over) = match is_host {
            // Each instance that imports it has a context of its own.
            // SAFETY: that is what `is_host` says.
            true => unsafe {
                let context = &*context.cast::<HostContext>();
                (context.function, context.data)
            },
            false => (code, context.cast_const()),
        };
        Ok(FuncId { store: self.store, code: code.addr(), closes_over: closes_over.addr() })
    }

    /// Its type.
    pub fn ty(&self, store: impl AsContext) -> Result<FuncType> {
        let store = store.as_context();
        let id = self.type_id(store.runtime())?;
        Ok(store.engine().types().func_type(id))
    }
}

// SAFETY: the pointer is used only with the store, and is valid as long as the store.
unsafe impl Send for Func {}
// SAFETY: as above.
unsafe impl Sync for Func {}
