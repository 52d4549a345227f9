//! Instances.

use crate::engine::Engine;
use crate::export::Extern;
use crate::func::Func;
use crate::global::Global;
use crate::memory::Memory;
use crate::module::Module;
use crate::new_stack;
use crate::store::{self, AsContextMut, StoreContextMut};
use crate::table::Table;
use crate::tag::Tag;
use crate::typed::{TypedFunc, WasmParams, WasmResults};
use anyhow::{Result, anyhow, ensure};
use ropewalk_abi::module::Item;
use ropewalk_runtime::{ImportValue, InstantiateError, Store as RuntimeStore, StoreId};

/// An instance of a module in a store.
#[derive(Clone, Copy, Debug)]
pub struct Instance {
    store: StoreId,
    index: usize,
}

impl Instance {
    /// Instantiates a module with these imports, in order, and runs its start
    /// function. Either all imports are given, or all but `"host" "new_stack"`, which
    /// gives blank first-class stacks then.
    pub fn new(
        mut store: impl AsContextMut,
        module: &Module,
        imports: &[Extern],
    ) -> Result<Instance> {
        let store = &mut store.as_context_mut();
        let expected = module.imports().len();
        ensure!(imports.len() <= expected, "expected {expected} imports, found {}", imports.len());
        let imports = imports.iter().map(|import| import.import(&store.0.runtime));
        let mut imports = imports.collect::<Result<Vec<_>>>()?;
        let engine = store.engine().clone();
        if imports.len() < expected && Engine::same(&engine, module.engine()) {
            new_stack::add_defaults(&engine, &mut store.0.runtime, module, &mut imports)?;
        }
        Instance::instantiate(store, module, &imports)
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

    /// An instance, and its start function.
    pub(crate) fn make<T>(
        store: &mut StoreContextMut<'_, T>,
        module: &Module,
        imports: &[ImportValue],
    ) -> Result<(Instance, Option<Func>)> {
        ensure!(
            Engine::same(store.engine(), module.engine()),
            "the module and the store belong to different engines"
        );
        let runtime = &mut store.0.runtime;
        let index = runtime.instantiate(module.loaded(), imports).map_err(instantiate_error)?;
        let instance = Instance { store: runtime.id(), index };
        let start = module.loaded().info.start;
        let start = start.map(|start| runtime.instance(index).func_ref(start));
        Ok((instance, start.map(|start| Func::from_ref(runtime, start))))
    }

    pub(crate) fn from_index(runtime: &RuntimeStore, index: usize) -> Instance {
        Instance { store: runtime.id(), index }
    }

    /// What it exports under a name. Nothing if it belongs to another store.
    pub fn get_export(&self, mut store: impl AsContextMut, name: &str) -> Option<Extern> {
        let runtime = &store.as_context_mut().0.runtime;
        store::check(runtime, self.store, "instance").ok()?;
        let item = runtime.instance(self.index).module().info.export(name)?;
        Some(self.item(runtime, item))
    }

    /// Everything it exports, in order.
    pub fn exports(&self, mut store: impl AsContextMut) -> Result<Vec<(String, Extern)>> {
        let runtime = &store.as_context_mut().0.runtime;
        store::check(runtime, self.store, "instance")?;
        let module = runtime.instance(self.index).module().clone();
        let exports = module.info.exports.iter();
        Ok(exports.map(|e| (e.name.clone(), self.item(runtime, e.item))).collect())
    }

    fn item(&self, runtime: &RuntimeStore, item: Item) -> Extern {
        let instance = runtime.instance(self.index);
        match item {
            Item::Func(i) => Func::from_ref(runtime, instance.func_ref(i)).into(),
            Item::Table(i) => Table::from_index(runtime, instance.table(i)).into(),
            Item::Memory(i) => Memory::from_index(runtime, instance.memory(i)).into(),
            Item::Global(i) => Global::from_item(runtime, instance.global(i)).into(),
            Item::Tag(i) => Tag::from_def(runtime, instance.tag(i)).into(),
        }
    }

    /// The function that it exports under a name.
    pub fn get_func(&self, store: impl AsContextMut, name: &str) -> Option<Func> {
        self.get_export(store, name)?.into_func()
    }

    /// The memory that it exports under a name.
    pub fn get_memory(&self, store: impl AsContextMut, name: &str) -> Option<Memory> {
        self.get_export(store, name)?.into_memory()
    }

    /// The table that it exports under a name.
    pub fn get_table(&self, store: impl AsContextMut, name: &str) -> Option<Table> {
        self.get_export(store, name)?.into_table()
    }

    /// The global that it exports under a name.
    pub fn get_global(&self, store: impl AsContextMut, name: &str) -> Option<Global> {
        self.get_export(store, name)?.into_global()
    }

    /// The tag that it exports under a name.
    pub fn get_tag(&self, store: impl AsContextMut, name: &str) -> Option<Tag> {
        self.get_export(store, name)?.into_tag()
    }

    /// The function that it exports under a name, to be called with Rust's
    /// types.
    pub fn get_typed_func<Params: WasmParams, Results: WasmResults>(
        &self,
        mut store: impl AsContextMut,
        name: &str,
    ) -> Result<TypedFunc<Params, Results>> {
        let func = self
            .get_func(&mut store, name)
            .ok_or_else(|| anyhow!("there is no exported function \"{name}\""))?;
        func.typed(store)
    }
}

/// Errors are what they wrap, so that embedders find them.
pub(crate) fn instantiate_error(error: InstantiateError) -> anyhow::Error {
    match error {
        InstantiateError::Link(error) => (*error).into(),
        InstantiateError::Memory(error) => error.into(),
        InstantiateError::Table(error) => error.into(),
        InstantiateError::Trap(error) => error.into(),
        InstantiateError::Limiter(error) => error,
    }
}
