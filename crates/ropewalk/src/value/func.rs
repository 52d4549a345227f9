//! Handles of functions. Their methods are in [`items::func`](crate::items::func).

use ropewalk_abi::FuncRef;
use ropewalk_runtime::StoreId;
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

// SAFETY: the pointer is used only with the store, and is valid as long as the store.
unsafe impl Send for Func {}
// SAFETY: as above.
unsafe impl Sync for Func {}
