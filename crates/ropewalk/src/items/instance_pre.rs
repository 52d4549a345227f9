//! Modules with resolved imports.

use crate::items::instance::Instance;
use crate::items::linker::Definition;
use crate::module::Module;
use crate::store::{AsContextMut, Exactly, StoreContextMut};
use anyhow::Result;
use ropewalk_runtime::ImportValue;
use std::marker::PhantomData;
use std::sync::Arc;

/// A module with resolved imports, which can be instantiated many times without looking up names.
/// Cloning it is cheap.
///
/// A host that runs each request in a store of its own:
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "host" "request" (func $request (result i32)))
///       (func (export "run") (result i32) (i32.mul (call $request) (i32.const 2))))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// linker.func_wrap("host", "request", |caller: Caller<'_, i32>| *caller.data())?;
/// let ready = linker.instantiate_pre(&module)?;
///
/// for request in 0..3 {
///     let mut store = Store::new(&engine, request);
///     let instance = ready.instantiate(&mut store)?;
///     let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
///     assert_eq!(run.call(&mut store, ())?, request * 2);
/// }
/// # Ok::<(), Error>(())
/// ```
pub struct InstancePre<T> {
    module: Module,
    imports: Arc<[Definition]>,
    _data: Exactly<T>,
}

impl<T> Clone for InstancePre<T> {
    fn clone(&self) -> Self {
        InstancePre::new(self.module.clone(), self.imports.clone())
    }
}

opaque_debug!(impl<T> InstancePre<T> { module });

impl<T> InstancePre<T> {
    /// Host functions among the definitions must be for stores with data of type `T`.
    pub(crate) fn new(module: Module, imports: Arc<[Definition]>) -> InstancePre<T> {
        InstancePre { module, imports, _data: PhantomData }
    }

    /// The module.
    pub fn module(&self) -> &Module {
        &self.module
    }

    /// Instantiates the module, and runs its start function.
    pub fn instantiate(&self, mut store: impl AsContextMut<Data = T>) -> Result<Instance> {
        let store = &mut store.as_context_mut();
        let imports = self.imports(store)?;
        Instance::instantiate(store, &self.module, &imports)
    }

    /// As [`instantiate`](Self::instantiate), in a future, which waits for pending host calls, and
    /// for the decisions of an async [limiter](crate::Store::limiter_async).
    pub async fn instantiate_async(
        &self,
        mut store: impl AsContextMut<Data = T>,
    ) -> Result<Instance>
    where
        T: Send,
    {
        let mut store = store.as_context_mut();
        Instance::instantiate_async(&mut store, &self.module, |store| self.imports(store)).await
    }

    fn imports(&self, store: &mut StoreContextMut<'_, T>) -> Result<Vec<ImportValue>> {
        let engine = self.module.engine();
        engine.check("module", store.engine(), "store")?;
        let imports = self.module.loaded().info.imports.iter().zip(&*self.imports);
        let runtime = &mut store.0.runtime;
        imports
            .map(|(import, definition)| {
                definition.import(engine, runtime, self.module.loaded(), import)
            })
            .collect()
    }
}
