//! Linkers: definitions for the imports of modules.

use crate::Caller;
use crate::Val;
use crate::engine::Engine;
use crate::host::async_func::{
    Async, AsyncFunc, AsyncTyped, Unboxed, WithAccessor, WithCaller, WithSlices,
};
use crate::host::concurrent::Accessor;
use crate::host::signature::Dynamic;
use crate::host::{self, HostClosure, IntoFunc, WasmRet};
use crate::items::export::Extern;
use crate::items::instance::Instance;
use crate::items::instance_pre::InstancePre;
use crate::misuse::{DefinedTwice, WrongEngine};
use crate::module::stacks_module::is_new_stack;
use crate::module::{ImportType, Module};
use crate::stacks::new_stack;
use crate::store::{AsContextMut, Exactly, StoreContextMut};
use crate::value::func::Func;
use crate::value::wasm_values::WasmResults;
use anyhow::{Context, Result};
use ropewalk_abi::FuncType;
use ropewalk_abi::module::Import;
use ropewalk_runtime::run::link;
use ropewalk_runtime::{HostFunction, ImportValue, LoadedModule, Store as RuntimeStore};
use std::collections::HashMap;
use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::sync::Arc;

/// Defines by name what modules import.
///
/// Its host functions can be used with any store of the engine. Other definitions belong to one
/// store.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let library = Module::new(&engine, r#"
///     (module (func (export "square") (param i32) (result i32)
///       (i32.mul (local.get 0) (local.get 0))))
/// "#)?;
/// let program = Module::new(&engine, r#"
///     (module
///       (import "host" "log" (func $log (param i32)))
///       (import "library" "square" (func $square (param i32) (result i32)))
///       (func (export "run") (call $log (call $square (i32.const 7)))))
/// "#)?;
/// let mut linker = Linker::new(&engine);
/// linker.func_wrap("host", "log", |mut caller: Caller<'_, Vec<i32>>, x: i32| {
///     caller.data_mut().push(x);
/// })?;
/// let mut store = Store::new(&engine, vec![]);
/// linker.module(&mut store, "library", &library)?;
/// let program = linker.instantiate(&mut store, &program)?;
/// program.get_typed_func::<(), ()>(&mut store, "run")?.call(&mut store, ())?;
/// assert_eq!(store.data()[..], [49]);
/// # Ok::<(), Error>(())
/// ```
///
/// Its functions rely on the exact type of the store's data, lifetimes included, as those of a
/// [`Store`](crate::Store) do:
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
pub(crate) enum Definition {
    /// A function of the host, for any store of the engine.
    Host(Arc<HostFunction>),
    Extern(Extern),
    /// The engine's own definition of the name.
    OfEngine,
}

impl Definition {
    /// The value for an import.
    pub fn import(
        &self,
        engine: &Engine,
        runtime: &mut RuntimeStore,
        module: &LoadedModule,
        import: &Import,
    ) -> Result<ImportValue> {
        match self {
            Definition::Host(host) => {
                host::ready(engine, host)?;
                Ok(ImportValue::Host(host.clone()))
            }
            Definition::Extern(item) => item.import(runtime),
            Definition::OfEngine => {
                let default = new_stack::default_import(engine, runtime, module, import)?;
                default.ok_or_else(|| link::missing(module, import).into())
            }
        }
    }
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
    /// A linker without definitions.
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

    /// Whether a name may be defined again. By default that is an error.
    pub fn allow_shadowing(&mut self, allow: bool) -> &mut Linker<T> {
        self.allow_shadowing = allow;
        self
    }

    /// Defines a name as an item of a store.
    pub fn define(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        module: &str,
        name: &str,
        item: impl Into<Extern>,
    ) -> Result<&mut Linker<T>> {
        let store = store.as_context_mut();
        self.check_store(&store)?;
        let item = item.into();
        item.import(&store.0.runtime)?;
        self.insert(module, name, Definition::Extern(item))
    }

    /// Defines a name as a function that calls a closure.
    pub fn func_wrap<Params, Results>(
        &mut self,
        module: &str,
        name: &str,
        func: impl IntoFunc<T, Params, Results>,
    ) -> Result<&mut Linker<T>> {
        self.insert_host(module, name, func.into_closure())
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
        self.insert_host(module, name, HostClosure::dynamic(ty, Box::new(func)))
    }

    /// Defines a name as a function that calls a closure which returns a future. The
    /// parameters are a tuple.
    ///
    /// The function polls the future when it is called. If the future is ready, the function
    /// returns, like any other. If it is not, a call by
    /// [`call_async`](crate::TypedFunc::call_async) waits for it, and any other call fails. The
    /// future may keep the [`Caller`], and so the store, while it waits.
    ///
    /// [`TypedFunc::call_async`](crate::TypedFunc::call_async) has an example.
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
        let closure = HostClosure::new::<AsyncTyped<T, WithCaller, F, Params, Ret>>((), func);
        self.insert_host(module, name, closure)
    }

    /// Defines a name as an `async` function, or an `async` closure that captures nothing. The
    /// parameters are a tuple.
    ///
    /// Unlike [`func_wrap_async`](Linker::func_wrap_async) this does not box the future: it is in
    /// memory of the store, so a call that is ready at once allocates nothing. The function can
    /// find in the [data](Caller::data) of the store what a closure would capture.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// async fn look_up(mut caller: Caller<'_, Vec<i64>>, (key,): (i32,)) -> Result<i64> {
    ///     let value = caller.data_mut().get(key as usize).copied();
    ///     value.ok_or_else(|| Error::msg("there is no such key"))
    /// }
    ///
    /// let engine = Engine::default();
    /// let module = Module::new(&engine, r#"(module
    ///     (import "host" "look_up" (func $look_up (param i32) (result i64)))
    ///     (import "host" "double" (func $double (param i64) (result i64)))
    ///     (func (export "twice") (param i32) (result i64)
    ///       (call $double (call $look_up (local.get 0)))))"#)?;
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap_async_fn("host", "look_up", look_up)?;
    /// linker.func_wrap_async_fn("host", "double", async |_: Caller<'_, _>, (x,): (i64,)| 2 * x)?;
    /// let mut store = Store::new(&engine, vec![20, 21]);
    /// let instance = linker.instantiate(&mut store, &module)?;
    /// let twice = instance.get_typed_func::<i32, i64>(&mut store, "twice")?;
    /// assert_eq!(twice.call(&mut store, 1)?, 42);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn func_wrap_async_fn<F, Params, Ret>(
        &mut self,
        module: &str,
        name: &str,
        func: F,
    ) -> Result<&mut Linker<T>>
    where
        T: Send + 'static,
        F: for<'a> AsyncFunc<'a, T, Params, Output = Ret> + 'static,
        Params: WasmResults + 'static,
        Ret: WasmRet + 'static,
        Ret::Values: 'static,
    {
        let closure = HostClosure::new::<AsyncTyped<T, Unboxed, F, Params, Ret>>((), func);
        self.insert_host(module, name, closure)
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
        self.insert_host(
            module,
            name,
            HostClosure::new::<Async<T, WithSlices, F, Dynamic, _>>(ty, func),
        )
    }

    /// Defines a name as a function that calls a closure which returns a future. The future does
    /// not borrow the store while it waits, so other calls run: it uses the store by its
    /// [`Accessor`]. The parameters are a tuple.
    ///
    /// References among them end when the future first waits.
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
        let closure = HostClosure::new::<AsyncTyped<T, WithAccessor, F, Params, Ret>>((), func);
        self.insert_host(module, name, closure)
    }

    /// Defines all exports of an instance, under the name of a module.
    pub fn instance(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        module: &str,
        instance: Instance,
    ) -> Result<&mut Linker<T>> {
        self.check_store(&store.as_context_mut())?;
        for (name, item) in instance.exports(&mut store)? {
            self.insert(module, &name, Definition::Extern(item))?;
        }
        Ok(self)
    }

    /// Instantiates a module and defines its exports, under a name.
    pub fn module(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        name: &str,
        module: &Module,
    ) -> Result<&mut Linker<T>> {
        let instance = self.instantiate(&mut store, module)?;
        self.instance(store, name, instance)
    }

    /// Instantiates a module in a future, and defines its exports, under a name.
    pub async fn module_async(
        &mut self,
        mut store: impl AsContextMut<Data = T>,
        name: &str,
        module: &Module,
    ) -> Result<&mut Linker<T>>
    where
        T: Send,
    {
        let instance = self.instantiate_async(&mut store, module).await?;
        self.instance(store, name, instance)
    }

    fn insert_host(
        &mut self,
        module: &str,
        name: &str,
        closure: HostClosure,
    ) -> Result<&mut Linker<T>> {
        let host = closure.into_function(&self.engine)?;
        self.insert(module, name, Definition::Host(host))
    }

    fn insert(
        &mut self,
        module: &str,
        name: &str,
        definition: Definition,
    ) -> Result<&mut Linker<T>> {
        let names = self.modules.entry(module.to_string()).or_default();
        if names.contains_key(name) && !self.allow_shadowing {
            let (module, name) = (module.to_string(), name.to_string());
            return Err(DefinedTwice { module, name }.into());
        }
        names.insert(name.to_string(), definition);
        Ok(self)
    }

    /// Defines a second name for a definition.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let mut linker = Linker::<()>::new(&Engine::default());
    /// linker.func_wrap("env", "abort", || {})?;
    /// linker.alias("env", "abort", "host", "stop")?;
    /// assert!(linker.alias("env", "nothing", "host", "nothing").is_err());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn alias(
        &mut self,
        module: &str,
        name: &str,
        as_module: &str,
        as_name: &str,
    ) -> Result<&mut Linker<T>> {
        let definition = self.modules.get(module).and_then(|names| names.get(name)).cloned();
        let definition =
            definition.with_context(|| format!("{module:?} {name:?} is not defined"))?;
        self.insert(as_module, as_name, definition)
    }

    /// Defines all names of a module under another module name too.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap("wasi_snapshot_preview1", "sched_yield", || 0)?;
    /// linker.alias_module("wasi_snapshot_preview1", "wasi_unstable")?;
    /// let mut store = Store::new(&engine, ());
    /// assert!(linker.get(&mut store, "wasi_unstable", "sched_yield").is_some());
    /// # Ok::<(), Error>(())
    /// ```
    pub fn alias_module(&mut self, module: &str, as_module: &str) -> Result<&mut Linker<T>> {
        let names =
            self.modules.get(module).with_context(|| format!("{module:?} is not defined"))?;
        for (name, definition) in names.clone() {
            self.insert(as_module, &name, definition)?;
        }
        Ok(self)
    }

    pub(crate) fn knows(&self, module: &str, name: &str) -> bool {
        self.modules.get(module).is_some_and(|names| names.contains_key(name))
    }

    /// All definitions that a store can use, each with its module and its name, in no particular
    /// order. [`get`](Self::get) says which these are.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let mut linker = Linker::new(&engine);
    /// linker.func_wrap("host", "one", || 1)?.func_wrap("host", "two", || 2)?;
    /// let mut store = Store::new(&engine, ());
    /// let mut names: Vec<_> = linker.iter(&mut store).map(|(_, name, _)| name).collect();
    /// names.sort();
    /// assert_eq!(names, ["one", "two"]);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn iter<'a>(
        &'a self,
        mut store: impl AsContextMut<Data = T> + 'a,
    ) -> impl Iterator<Item = (&'a str, &'a str, Extern)> {
        let modules = self.modules.iter();
        let names =
            modules.flat_map(|(module, names)| names.keys().map(move |name| (module, name)));
        names.filter_map(move |(module, name)| {
            Some((module.as_str(), name.as_str(), self.get(&mut store, module, name)?))
        })
    }

    /// The definition for an import of a module, as [`get`](Self::get) finds it.
    pub fn get_by_import(
        &self,
        store: impl AsContextMut<Data = T>,
        import: &ImportType<'_>,
    ) -> Option<Extern> {
        self.get(store, import.module(), import.name())
    }

    /// The definition of a name, for a store. Returns `None` if the name is not defined, if the
    /// store belongs to another engine, or if the definition is an [item](Self::define) of another
    /// store.
    pub fn get(
        &self,
        mut store: impl AsContextMut<Data = T>,
        module: &str,
        name: &str,
    ) -> Option<Extern> {
        let store = store.as_context_mut();
        self.check_store(&store).ok()?;
        let runtime = &mut store.0.runtime;
        Some(match self.modules.get(module)?.get(name)? {
            Definition::OfEngine => unreachable!("no name is defined as that"),
            Definition::Extern(item) => {
                item.import(runtime).ok()?;
                *item
            }
            Definition::Host(host) => {
                host::ready(&self.engine, host).ok()?;
                let func_ref = runtime.add_host_function(host.clone());
                Func::from_ref(runtime, func_ref).into()
            }
        })
    }

    /// Instantiates a module with the definitions of its imports, and runs its start function.
    ///
    /// `"host" "new_stack"`, which gives modules their first-class stacks, need not be defined:
    /// then it gives blank stacks.
    pub fn instantiate(
        &self,
        mut store: impl AsContextMut<Data = T>,
        module: &Module,
    ) -> Result<Instance> {
        self.check_store(&store.as_context_mut())?;
        self.instantiate_pre(module)?.instantiate(store)
    }

    /// Looks up the imports of a module, so that it can be instantiated many times.
    ///
    /// Fails if an import is not defined, or if its definition is a host function of another type.
    /// The types of items of a store are checked at instantiation.
    pub fn instantiate_pre(&self, module: &Module) -> Result<InstancePre<T>> {
        self.check_module(module)?;
        let imports = module.loaded().info.imports.iter();
        let imports = imports.map(|import| self.definition(module.loaded(), import));
        Ok(InstancePre::new(module.clone(), imports.collect::<Result<_>>()?))
    }

    /// Instantiates a module in a future, which waits for pending host calls, and for the decisions
    /// of an async [limiter](crate::Store::limiter_async).
    pub async fn instantiate_async(
        &self,
        mut store: impl AsContextMut<Data = T>,
        module: &Module,
    ) -> Result<Instance>
    where
        T: Send,
    {
        self.check_store(&store.as_context_mut())?;
        self.instantiate_pre(module)?.instantiate_async(store).await
    }

    pub(crate) fn check_store(&self, store: &StoreContextMut<'_, T>) -> Result<(), WrongEngine> {
        self.engine.check("linker", store.engine(), "store")
    }

    pub(crate) fn check_module(&self, module: &Module) -> Result<(), WrongEngine> {
        self.engine.check("linker", module.engine(), "module")
    }

    pub(crate) fn host_function(
        &self,
        module: &LoadedModule,
        import: &Import,
    ) -> Result<Option<Arc<HostFunction>>> {
        if !self.knows(&import.module, &import.name) {
            return Ok(None);
        }
        match self.definition(module, import)? {
            Definition::Host(host) => Ok(Some(host)),
            _ => Ok(None),
        }
    }

    fn definition(&self, module: &LoadedModule, import: &Import) -> Result<Definition> {
        let definition = self.modules.get(&import.module).and_then(|names| names.get(&import.name));
        match definition {
            Some(Definition::Host(host)) => {
                link::check_host(self.engine.types(), module, import, host)
                    .map_err(|error| *error)?;
                Ok(Definition::Host(host.clone()))
            }
            Some(other) => Ok(other.clone()),
            None if is_new_stack(import) => Ok(Definition::OfEngine),
            None => Err(link::missing(module, import).into()),
        }
    }
}
