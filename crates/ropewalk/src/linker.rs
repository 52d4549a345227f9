//! What imports mean.

use crate::concurrent::Accessor;
use crate::engine::Engine;
use crate::export::Extern;
use crate::func::Func;
use crate::host::{self, IntoFunc, WasmRet};
use crate::host_async;
use crate::instance::Instance;
use crate::module::Module;
use crate::new_stack;
use crate::store::{AsContextMut, Exactly, StoreContextMut};
use crate::typed::WasmResults;
use crate::{Caller, Val};
use anyhow::{Result, bail, ensure};
use ropewalk_abi::FuncType;
use ropewalk_abi::module::Import;
use ropewalk_runtime::{HostFunction, ImportValue, Store as RuntimeStore, link};
use std::collections::HashMap;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

/// Names for things that modules import.
///
/// Host functions in it can be used with any store of the engine; other
/// things belong to one store.
///
/// Functions of a linker rely on the very type of a store's data, as those of
/// [a store](crate::Store) do:
///
/// ```
/// # use ropewalk::Linker;
/// fn same<'a>(linker: Linker<&'a str>) -> Linker<&'a str> {
///     linker
/// }
/// ```
///
/// ```compile_fail
/// # use ropewalk::Linker;
/// fn longer<'a>(linker: Linker<&'a str>) -> Linker<&'static str> {
///     linker
/// }
/// ```
pub struct Linker<T> {
    engine: Engine,
    modules: HashMap<String, HashMap<String, Definition>>,
    allow_shadowing: bool,
    _data: Exactly<T>,
}

#[derive(Clone)]
enum Definition {
    Host(Arc<HostFunction>),
    Extern(Extern),
}

impl<T> Clone for Linker<T> {
    fn clone(&self) -> Self {
        Linker {
            engine: self.engine.clone(),
            modules: self.modules.clone(),
            allow_shadowing: self.allow_shadowing,
            _data: PhantomData,
        }
    }
}

impl<T> std::fmt::Debug for Linker<T> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let names = self.modules.iter().map(|(module, names)| (module, names.keys()));
        f.debug_map().entries(names.map(|(m, n)| (m, n.collect::<Vec<_>>()))).finish()
    }
}

impl<T> Linker<T> {
    /// A linker that knows no names.
    pub fn new(engine: &Engine) -> Linker<T> {
        Linker {
            engine: engine.clone(),
            modules: HashMap::new(),
            allow_shadowing: false,
            _data: PhantomData,
        }
    }

    /// The engine of its functions.
    pub fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Whether a name may be defined again. It is an error by default.
    pub fn allow_shadowing(&mut self, allow: bool) -> &mut Linker<T> {
        self.allow_shadowing = allow;
        self
    }

    /// Defines a name as something of a store.
    pub fn define(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        module: &str,
        name: &str,
        item: impl Into<Extern>,
    ) -> Result<&mut Linker<T>> {
        let item = item.into();
        item.import(&store.as_context_mut().0.runtime)?;
        self.insert(module, name, Definition::Extern(item))
    }

    /// Defines a name as a function that calls a closure.
    pub fn func_wrap<Params, Results>(
        &mut self,
        module: &str,
        name: &str,
        func: impl IntoFunc<T, Params, Results>,
    ) -> Result<&mut Linker<T>> {
        let host = host::wrap(&self.engine, func)?;
        self.insert(module, name, Definition::Host(host))
    }

    /// Defines a name as a function of a type that is known only at run time.
    pub fn func_new(
        &mut self,
        module: &str,
        name: &str,
        ty: FuncType,
        func: impl Fn(Caller<'_, T>, &[Val], &mut [Val]) -> Result<()> + Send + Sync + 'static,
    ) -> Result<&mut Linker<T>>
    where
        T: 'static,
    {
        let host = host::new(&self.engine, ty, func)?;
        self.insert(module, name, Definition::Host(host))
    }

    /// Defines a name as a function that calls a closure which returns a future. The
    /// parameters are a tuple.
    ///
    /// The future is polled when the function is called. If it is ready then, all is as
    /// for any other function. If it is not, a call by
    /// [`call_async`](crate::TypedFunc::call_async) waits for it, and any other call
    /// fails. It may keep the [`Caller`], and so the store, while it waits.
    pub fn func_wrap_async<F, Params, Ret>(
        &mut self,
        module: &str,
        name: &str,
        func: F,
    ) -> Result<&mut Linker<T>>
    where
        T: Send + 'static,
        F: for<'a> Fn(Caller<'a, T>, Params) -> Box<dyn Future<Output = Ret> + Send + 'a>,
        F: Send + Sync + 'static,
        Params: WasmResults + 'static,
        Ret: WasmRet + 'static,
        Ret::Values: 'static,
    {
        let host = host_async::wrap(&self.engine, func)?;
        self.insert(module, name, Definition::Host(host))
    }

    /// Defines a name as a function of a type that is known only at run time, as
    /// [`func_wrap_async`](Linker::func_wrap_async).
    pub fn func_new_async<F>(
        &mut self,
        module: &str,
        name: &str,
        ty: FuncType,
        func: F,
    ) -> Result<&mut Linker<T>>
    where
        T: Send + 'static,
        F: for<'a> Fn(
            Caller<'a, T>,
            &'a [Val],
            &'a mut [Val],
        ) -> Box<dyn Future<Output = Result<()>> + Send + 'a>,
        F: Send + Sync + 'static,
    {
        let host = host_async::new(&self.engine, ty, func)?;
        self.insert(module, name, Definition::Host(host))
    }

    /// Defines a name as a function that calls a closure which returns a future, and
    /// that does not have the store while it waits: other calls run meanwhile. It uses
    /// the store by its [`Accessor`]. The parameters are a tuple.
    ///
    /// References that it takes end when it first waits.
    /// [`Store::run_concurrent`](crate::Store::run_concurrent) has an example.
    pub fn func_wrap_concurrent<F, Params, Ret>(
        &mut self,
        module: &str,
        name: &str,
        func: F,
    ) -> Result<&mut Linker<T>>
    where
        T: Send + 'static,
        F: for<'a> Fn(&'a Accessor<T>, Params) -> Pin<Box<dyn Future<Output = Ret> + Send + 'a>>,
        F: Send + Sync + 'static,
        Params: WasmResults + 'static,
        Ret: WasmRet + 'static,
        Ret::Values: 'static,
    {
        let host = host_async::wrap_concurrent(&self.engine, func)?;
        self.insert(module, name, Definition::Host(host))
    }

    /// Defines everything that an instance exports, under the name of a module.
    pub fn instance(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        module: &str,
        instance: Instance,
    ) -> Result<&mut Linker<T>> {
        for (name, item) in instance.exports(&mut store)? {
            self.insert(module, &name, Definition::Extern(item))?;
        }
        Ok(self)
    }

    /// Instantiates a module and defines what it exports, under a name.
    pub fn module(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        name: &str,
        module: &Module,
    ) -> Result<&mut Linker<T>> {
        let instance = self.instantiate(&mut store, module)?;
        self.instance(store, name, instance)
    }

    fn insert(
        &mut self,
        module: &str,
        name: &str,
        definition: Definition,
    ) -> Result<&mut Linker<T>> {
        let names = self.modules.entry(module.to_string()).or_default();
        if names.contains_key(name) && !self.allow_shadowing {
            bail!("\"{module}\" \"{name}\" is defined twice");
        }
        names.insert(name.to_string(), definition);
        Ok(self)
    }

    /// What a name means in a store. Nothing if that is of another engine.
    pub fn get(
        &self,
        mut store: impl AsContextMut<Data = T>,
        module: &str,
        name: &str,
    ) -> Option<Extern> {
        let store = store.as_context_mut();
        if !Engine::same(&self.engine, store.engine()) {
            return None;
        }
        let runtime = &mut store.0.runtime;
        Some(match self.modules.get(module)?.get(name)? {
            Definition::Extern(item) => *item,
            Definition::Host(host) => {
                host::ready(&self.engine, host).ok()?;
                let func_ref = runtime.add_host_function(host.clone());
                Func::from_ref(runtime, func_ref).into()
            }
        })
    }

    /// Instantiates a module, whose imports are looked up by their names, and
    /// runs its start function.
    ///
    /// `"host" "new_stack"`, from which modules get first-class stacks, need not be
    /// defined: then it gives blank ones.
    pub fn instantiate(
        &self,
        mut store: impl AsContextMut<Data = T>,
        module: &Module,
    ) -> Result<Instance> {
        let store = &mut store.as_context_mut();
        let imports = self.imports(store, module)?;
        Instance::instantiate(store, module, &imports)
    }

    /// The same in a future, which waits for host functions that are not ready.
    pub async fn instantiate_async(
        &self,
        mut store: impl AsContextMut<Data = T>,
        module: &Module,
    ) -> Result<Instance>
    where
        T: Send,
    {
        let mut store = store.as_context_mut();
        let (instance, start) = {
            let imports = self.imports(&mut store, module)?;
            Instance::make(&mut store, module, &imports)?
        };
        if let Some(start) = start {
            start.call_async(&mut store, &[], &mut []).await?;
        }
        Ok(instance)
    }

    fn imports(
        &self,
        store: &mut StoreContextMut<'_, T>,
        module: &Module,
    ) -> Result<Vec<ImportValue>> {
        ensure!(
            Engine::same(&self.engine, store.engine()),
            "the linker and the store belong to different engines"
        );
        let imports = module.loaded().info.imports.iter();
        let imports = imports.map(|import| self.resolve(&mut store.0.runtime, module, import));
        imports.collect()
    }

    fn resolve(
        &self,
        runtime: &mut RuntimeStore,
        module: &Module,
        import: &Import,
    ) -> Result<ImportValue> {
        let definition = self.modules.get(&import.module).and_then(|names| names.get(&import.name));
        match definition {
            Some(Definition::Host(host)) => {
                host::ready(&self.engine, host)?;
                Ok(ImportValue::Host(host.clone()))
            }
            Some(Definition::Extern(item)) => item.import(runtime),
            None => {
                let loaded = module.loaded();
                let default = new_stack::default_import(&self.engine, runtime, loaded, import)?;
                default.ok_or_else(|| link::missing(loaded, import).into())
            }
        }
    }
}
