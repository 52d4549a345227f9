//! Instances of modules, and their exports.

use crate::engine::Engine;
use crate::items::export::Extern;
use crate::items::global::Global;
use crate::items::memory::Memory;
use crate::items::table::Table;
use crate::items::typed_func::TypedFunc;
use crate::misuse::{NoSuchExport, WrongCount, WrongExport};
use crate::module::{self, Module, ModuleExport};
use crate::stacks::new_stack;
use crate::store::{self, AsContext, AsContextMut, StoreContextMut};
use crate::value::func::Func;
use crate::value::tag::Tag;
use crate::value::wasm_values::{WasmParams, WasmResults};
use anyhow::Result;
use ropewalk_abi::module::Item;
use ropewalk_runtime::{Frame, ImportValue, InstantiateError, Store as RuntimeStore, StoreId};

/// An instance of a module in a store.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module
///       (import "host" "three" (func $three (result i32)))
///       (global (export "calls") (mut i32) (i32.const 0))
///       (func (export "run") (result i32)
///         (global.set 0 (i32.add (global.get 0) (i32.const 1)))
///         (i32.mul (call $three) (i32.const 14))))
/// "#)?;
/// let mut store = Store::new(&engine, ());
/// let three = Func::wrap(&mut store, || 3);
/// let instance = Instance::new(&mut store, &module, &[three.into()])?;
/// let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
/// assert_eq!(run.call(&mut store, ())?, 42);
/// let calls = instance.get_global(&mut store, "calls").unwrap();
/// assert_eq!(calls.get(&mut store)?.i32(), Some(1));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Instance {
    store: StoreId,
    index: usize,
}

impl Instance {
    /// Instantiates a module with these imports, in order, and runs its start function. The import
    /// `"host" "new_stack"` may be left out. Then it gives blank first-class stacks.
    pub fn new(
        mut store: impl AsContextMut,
        module: &Module,
        imports: &[Extern],
    ) -> Result<Instance> {
        let store = &mut store.as_context_mut();
        let imports = Instance::import_values(store, module, imports)?;
        Instance::instantiate(store, module, &imports)
    }

    fn import_values<T>(
        store: &mut StoreContextMut<'_, T>,
        module: &Module,
        imports: &[Extern],
    ) -> Result<Vec<ImportValue>> {
        let expected = module.imports().len();
        if imports.len() > expected {
            WrongCount::check(("import", "imports"), expected, imports.len())?;
        }
        let imports = imports.iter().map(|import| import.import(&store.0.runtime));
        let mut imports = imports.collect::<Result<Vec<_>>>()?;
        let engine = store.engine().clone();
        if imports.len() < expected && Engine::same(&engine, module.engine()) {
            new_stack::add_defaults(&engine, &mut store.0.runtime, module, &mut imports)?;
        }
        Ok(imports)
    }

    pub(crate) fn instantiate(
        mut store: impl AsContextMut,
        module: &Module,
        imports: &[ImportValue],
    ) -> Result<Instance> {
        let mut store = store.as_context_mut();
        let (instance, start) = Instance::make(&mut store, module, imports)?;
        if let Some(start) = start {
            start.call(&mut store, &[], &mut [])?;
        }
        Ok(instance)
    }

    pub(crate) fn make<T>(
        store: &mut StoreContextMut<'_, T>,
        module: &Module,
        imports: &[ImportValue],
    ) -> Result<(Instance, Option<Func>)> {
        module.engine().check("module", store.engine(), "store")?;
        let runtime = &mut store.0.runtime;
        let checked = match module.loaded().has_space(runtime, imports) {
            true => None,
            false => module::with_checks(module.engine(), module.loaded()),
        };
        let loaded = checked.as_ref().unwrap_or(module.loaded());
        let index = runtime.with_embedder(|runtime| runtime.instantiate(loaded, imports));
        let index = index.map_err(instantiate_error)?;
        let instance = Instance { store: runtime.id(), index };
        let start = module.loaded().info.start;
        let start = start.map(|start| runtime.objects.instance(index).func_ref(start));
        Ok((instance, start.map(|start| Func::from_ref(runtime, start))))
    }

    /// Instantiates a module, and runs its start function. Asks an async limiter first, about all
    /// that the instance needs.
    pub(crate) async fn instantiate_async<T: Send>(
        store: &mut StoreContextMut<'_, T>,
        module: &Module,
        imports: impl FnOnce(&mut StoreContextMut<'_, T>) -> Result<Vec<ImportValue>>,
    ) -> Result<Instance> {
        module.engine().check("module", store.engine(), "store")?;
        let runtime = &mut store.0.runtime;
        let answers = runtime.ask_first(runtime.instance_growths(module.loaded())).await?;
        let (instance, start) = store.with_answers(answers, |store| {
            let imports = imports(store)?;
            Instance::make(store, module, &imports)
        })?;
        if let Some(start) = start {
            start.call_async(store, &[], &mut []).await?;
        }
        Ok(instance)
    }

    pub(crate) fn in_store(self, runtime: &RuntimeStore) -> Result<usize> {
        store::check(runtime, self.store, "instance")?;
        Ok(self.index)
    }

    pub(crate) fn from_index(runtime: &RuntimeStore, index: usize) -> Instance {
        Instance { store: runtime.id(), index }
    }

    /// As [`new`](Self::new), in a future, which waits for pending host calls, and for the decisions
    /// of an async [limiter](crate::Store::limiter_async).
    pub async fn new_async(
        mut store: impl AsContextMut<Data: Send>,
        module: &Module,
        imports: &[Extern],
    ) -> Result<Instance> {
        let mut store = store.as_context_mut();
        Instance::instantiate_async(&mut store, module, |store| {
            Instance::import_values(store, module, imports)
        })
        .await
    }

    /// Its module.
    pub fn module(&self, store: impl AsContext) -> Result<Module> {
        let store = store.as_context();
        store::check(store.runtime(), self.store, "instance")?;
        let loaded = store.runtime().objects.instance(self.index).module().clone();
        Ok(Module::from_loaded(store.engine(), loaded))
    }

    /// The instance of the function of a frame. `None` if the frame belongs to another store, or if
    /// the store had several instances of the module, since a frame does not say which one.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"(func (export "run") (unreachable))"#)?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let run = instance.get_typed_func::<(), ()>(&mut store, "run")?;
    /// let error = run.call(&mut store, ()).unwrap_err();
    /// let frame = &error.downcast_ref::<Trap>().unwrap().backtrace().frames()[0];
    /// assert_eq!(Instance::of_frame(&store, frame), Some(instance));
    /// # Ok::<(), Error>(())
    /// ```
    pub fn of_frame(store: impl AsContext, frame: &Frame) -> Option<Instance> {
        let runtime = store.as_context().runtime();
        Some(Instance::from_index(runtime, frame.instance_in(runtime.id())?))
    }

    /// An export, by its index. `None` if the index is for another module, or if the instance
    /// belongs to another store.
    pub fn get_module_export(
        &self,
        mut store: impl AsContextMut,
        export: &ModuleExport,
    ) -> Option<Extern> {
        let runtime = &store.as_context_mut().0.runtime;
        store::check(runtime, self.store, "instance").ok()?;
        let item = export.in_module(runtime.objects.instance(self.index).module())?;
        Some(self.item(runtime, item))
    }

    /// The export of a name. `None` if there is none, or if the instance belongs to another store.
    pub fn get_export(&self, mut store: impl AsContextMut, name: &str) -> Option<Extern> {
        let runtime = &store.as_context_mut().0.runtime;
        store::check(runtime, self.store, "instance").ok()?;
        let item = runtime.objects.instance(self.index).module().info.export(name)?;
        Some(self.item(runtime, item))
    }

    /// The export of a name.
    fn export(&self, runtime: &RuntimeStore, name: &str) -> Result<Extern> {
        store::check(runtime, self.store, "instance")?;
        let info = &runtime.objects.instance(self.index).module().info;
        match info.export(name) {
            Some(item) => Ok(self.item(runtime, item)),
            None => {
                let names = info.exports.iter().map(|export| export.name.clone());
                Err(NoSuchExport::new(name, names).into())
            }
        }
    }

    /// All exports, in order.
    pub fn exports(&self, mut store: impl AsContextMut) -> Result<Vec<(String, Extern)>> {
        let runtime = &store.as_context_mut().0.runtime;
        store::check(runtime, self.store, "instance")?;
        let module = runtime.objects.instance(self.index).module().clone();
        let exports = module.info.exports.iter();
        Ok(exports.map(|e| (e.name.clone(), self.item(runtime, e.item))).collect())
    }

    fn item(&self, runtime: &RuntimeStore, item: Item) -> Extern {
        let instance = runtime.objects.instance(self.index);
        match item {
            Item::Func(i) => Func::from_ref(runtime, instance.func_ref(i)).into(),
            Item::Table(i) => Table::from_index(runtime, instance.table(i)).into(),
            Item::Memory(i) => Memory::from_index(runtime, instance.memory(i)).into(),
            Item::Global(i) => Global::from_item(runtime, instance.global(i)).into(),
            Item::Tag(i) => Tag::from_def(runtime, instance.tag(i)).into(),
        }
    }

    /// The exported function of a name.
    pub fn get_func(&self, store: impl AsContextMut, name: &str) -> Option<Func> {
        self.get_export(store, name)?.into_func()
    }

    /// The exported memory of a name.
    pub fn get_memory(&self, store: impl AsContextMut, name: &str) -> Option<Memory> {
        self.get_export(store, name)?.into_memory()
    }

    /// The exported table of a name.
    pub fn get_table(&self, store: impl AsContextMut, name: &str) -> Option<Table> {
        self.get_export(store, name)?.into_table()
    }

    /// The exported global of a name.
    pub fn get_global(&self, store: impl AsContextMut, name: &str) -> Option<Global> {
        self.get_export(store, name)?.into_global()
    }

    /// The exported tag of a name.
    pub fn get_tag(&self, store: impl AsContextMut, name: &str) -> Option<Tag> {
        self.get_export(store, name)?.into_tag()
    }

    /// The exported function of a name, to be called with Rust's types.
    pub fn get_typed_func<Params: WasmParams, Results: WasmResults>(
        &self,
        mut store: impl AsContextMut,
        name: &str,
    ) -> Result<TypedFunc<Params, Results>> {
        let runtime = &store.as_context_mut().0.runtime;
        match self.export(runtime, name)? {
            Extern::Func(func) => func.typed(store),
            other => {
                let (name, found) = (name.to_string(), other.kind());
                Err(WrongExport { name, expected: "function", found }.into())
            }
        }
    }
}

/// Unwraps the error, so that embedders can downcast it.
pub(crate) fn instantiate_error(error: InstantiateError) -> anyhow::Error {
    match error {
        InstantiateError::Link(error) => (*error).into(),
        InstantiateError::Memory(error) => error.into(),
        InstantiateError::Table(error) => error.into(),
        InstantiateError::Trap(error) => error.into(),
        InstantiateError::Limiter(error) => error,
    }
}
