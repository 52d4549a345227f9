//! The caller of a host function, as the function sees it.

use crate::engine::Engine;
use crate::items::export::Extern;
use crate::items::instance::Instance;
use crate::module::ModuleExport;
use crate::store::{AsContext, AsContextMut, StoreContext, StoreContextMut, StoreInner};
use anyhow::Result;
use ropewalk_abi::HostContext;
use ropewalk_runtime::{Backtrace, Store as RuntimeStore};
use std::ptr;

/// The store in which a host function was called, and the instance that
/// imported the function.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "host" "print" (func $print (param i32 i32)))
///       (memory (export "memory") 1)
///       (data (i32.const 0) "hello")
///       (func (export "run") (call $print (i32.const 0) (i32.const 5))))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// linker.func_wrap(
///     "host",
///     "print",
///     |mut caller: Caller<'_, String>, at: u32, len: u32| -> Result<()> {
///         let memory = caller.get_export("memory").and_then(Extern::into_memory).unwrap();
///         let mut text = vec![0; len as usize];
///         memory.read(&caller, at as usize, &mut text)?;
///         caller.data_mut().push_str(std::str::from_utf8(&text)?);
///         Ok(())
///     },
/// )?;
/// let mut store = Store::new(&engine, String::new());
/// let instance = linker.instantiate(&mut store, &module)?;
/// instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
/// assert_eq!(store.data(), "hello");
/// # Ok::<(), Error>(())
/// ```
#[derive(Debug)]
pub struct Caller<'a, T> {
    pub(crate) store: StoreContextMut<'a, T>,
    importer: Option<Instance>,
    pub(crate) called: Called,
}

/// The context that a host function was called with, and its activation. The context lives as long
/// as the store.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Called {
    context: usize,
    depth: usize,
}

impl Called {
    /// The context, if the function runs in the newest activation of its store, and otherwise
    /// null. A function that has waited does not: its activation is set aside. The task that polls
    /// it began the call, so it runs in an outer activation, if in any.
    pub fn running(self, runtime: &RuntimeStore) -> *const HostContext {
        match self.depth == runtime.running.depth() {
            true => self.context as *const HostContext,
            false => ptr::null(),
        }
    }
}

impl<'a, T> Caller<'a, T> {
    /// The caller of a host function of the newest activation.
    ///
    /// # Safety
    ///
    /// The context must belong to the function and to the store, which nothing else may use.
    #[inline(always)]
    pub(super) unsafe fn new(store: *mut StoreInner<T>, context: &HostContext) -> Caller<'a, T> {
        // SAFETY: the caller's promise. Instances live as long as their store.
        unsafe {
            let store = StoreContextMut(&mut *store);
            let runtime = &store.0.runtime;
            let importer = context.importer.as_ref();
            let importer = importer.map(|header| Instance::from_index(runtime, header.index));
            let called =
                Called { context: ptr::from_ref(context).addr(), depth: runtime.running.depth() };
            Caller { store, importer, called }
        }
    }
}

impl<T> Caller<'_, T> {
    /// The instance that imported the function, or `None` if it was not called through an import.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module (import "host" "who" (func $who)) (func (export "run") (call $who)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap("host", "who", |mut caller: Caller<'_, Option<Instance>>| {
    ///     *caller.data_mut() = caller.instance();
    /// })?;
    /// let mut store = Store::new(&engine, None);
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
    /// assert_eq!(*store.data(), Some(instance));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn instance(&self) -> Option<Instance> {
        self.importer
    }

    /// An export of the instance that imported the function, or `None` if it was not called
    /// through an import.
    pub fn get_export(&mut self, name: &str) -> Option<Extern> {
        self.importer?.get_export(&mut self.store, name)
    }

    /// An export of the instance that imported the function, by its index. `None` if the index is
    /// for another module.
    pub fn get_module_export(&mut self, export: &ModuleExport) -> Option<Extern> {
        self.importer?.get_module_export(&mut self.store, export)
    }

    /// The host's data.
    pub fn data(&self) -> &T {
        self.store.data()
    }

    /// The host's data, mutably.
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

    /// Where in WebAssembly the function was called: the innermost frame first.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"
    ///     (module
    ///       (import "host" "log" (func $log))
    ///       (func $inner (call $log))
    ///       (func (export "run") (call $inner)))
    /// "#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap("host", "log", |mut caller: Caller<'_, Vec<String>>| {
    ///     let backtrace = caller.backtrace();
    ///     let names = backtrace.frames().iter().map(|frame| frame.function_name().unwrap());
    ///     let names = names.collect::<Vec<_>>().join(" < ");
    ///     caller.data_mut().push(names);
    /// })?;
    /// let mut store = Store::new(&engine, vec![]);
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// instance.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
    /// assert_eq!(store.data()[..], ["inner < run"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn backtrace(&self) -> Backtrace {
        self.store.as_context().runtime().host_backtrace()
    }

    /// Collects garbage.
    pub fn gc(&mut self) {
        self.store.0.runtime.gc();
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
