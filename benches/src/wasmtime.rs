//! Wasmtime as an [`Engine`](crate::engine::Engine), with several settings.

use std::marker::PhantomData;
use std::path::Path;

use ::wasmtime::{Collector, Config};
use anyhow::Result;

use crate::engine::{Engine, define_functions};

/// Settings besides the optimization level.
pub trait Settings: Sync + 'static {
    /// Changes the configuration.
    fn apply(config: &mut Config);

    /// Prepares a store.
    fn begin(_: &mut ::wasmtime::Store<()>) -> Result<()> {
        Ok(())
    }
}

/// The default settings.
pub struct Plain;
/// With the copying collector, the default.
pub struct Copying;
/// With the reference-counting collector.
pub struct ReferenceCounting;
/// With the collector that never collects.
pub struct Null;
/// With epoch interruption.
pub struct Epochs;
/// With fuel.
pub struct Fuel;
/// With typed continuations.
pub struct StackSwitching;
/// With typed continuations, and stacks for deep recursions.
pub struct LargeStacks;

/// The engine, and a linker that knows the host's functions.
pub struct Wasmtime<S> {
    engine: ::wasmtime::Engine,
    linker: ::wasmtime::Linker<()>,
    settings: PhantomData<S>,
}

/// An instance and its store.
pub struct Instance {
    store: ::wasmtime::Store<()>,
    instance: ::wasmtime::Instance,
}

impl Settings for Plain {
    fn apply(_: &mut Config) {}
}

impl Settings for Copying {
    fn apply(config: &mut Config) {
        config.collector(Collector::Copying);
    }
}

impl Settings for ReferenceCounting {
    fn apply(config: &mut Config) {
        config.collector(Collector::DeferredReferenceCounting);
    }
}

impl Settings for Null {
    fn apply(config: &mut Config) {
        config.collector(Collector::Null);
    }
}

impl Settings for Epochs {
    fn apply(config: &mut Config) {
        config.epoch_interruption(true);
    }

    fn begin(store: &mut ::wasmtime::Store<()>) -> Result<()> {
        store.set_epoch_deadline(1);
        Ok(())
    }
}

impl Settings for Fuel {
    fn apply(config: &mut Config) {
        config.consume_fuel(true);
    }

    fn begin(store: &mut ::wasmtime::Store<()>) -> Result<()> {
        Ok(store.set_fuel(u64::MAX)?)
    }
}

impl Settings for StackSwitching {
    fn apply(config: &mut Config) {
        config.wasm_stack_switching(true);
    }
}

impl Settings for LargeStacks {
    fn apply(config: &mut Config) {
        let bytes = crate::deep::STACK;
        config.wasm_stack_switching(true).max_wasm_stack(bytes).async_stack_size(2 * bytes);
    }
}

impl<S: Settings> Engine for Wasmtime<S> {
    type Module = ::wasmtime::Module;
    type Instance = Instance;
    type Function = ::wasmtime::TypedFunc<i64, i64>;
    type Empty = ::wasmtime::TypedFunc<(), ()>;

    fn new() -> Result<Self> {
        let mut config = Config::new();
        config.cranelift_opt_level(::wasmtime::OptLevel::Speed);
        config.wasm_function_references(true).wasm_gc(true).wasm_exceptions(true);
        S::apply(&mut config);
        let engine = ::wasmtime::Engine::new(&config)?;
        let mut linker = ::wasmtime::Linker::new(&engine);
        linker.func_wrap("host", "inc", |x: i64| x + 1)?;
        Ok(Self { engine, linker, settings: PhantomData })
    }

    fn compile(&self, wasm: &[u8]) -> Result<Self::Module> {
        Ok(::wasmtime::Module::new(&self.engine, wasm)?)
    }

    fn serialize(&self, module: &Self::Module) -> Result<Vec<u8>> {
        Ok(module.serialize()?)
    }

    fn link(&self) -> Result<()> {
        let mut linker = ::wasmtime::Linker::<()>::new(&self.engine);
        define_functions!(linker);
        Ok(())
    }

    fn load(&self, file: &Path) -> Result<Self::Module> {
        // SAFETY: the engine has written the file.
        Ok(unsafe { ::wasmtime::Module::deserialize_file(&self.engine, file)? })
    }

    fn instantiate(&self, module: &Self::Module) -> Result<Instance> {
        let mut store = ::wasmtime::Store::new(&self.engine, ());
        S::begin(&mut store)?;
        let instance = self.linker.instantiate(&mut store, module)?;
        Ok(Instance { store, instance })
    }

    fn function(&self, instance: &mut Instance, export: &str) -> Result<Self::Function> {
        Ok(instance.instance.get_typed_func(&mut instance.store, export)?)
    }

    fn call(
        &self,
        instance: &mut Instance,
        function: &Self::Function,
        argument: i64,
    ) -> Result<i64> {
        Ok(function.call(&mut instance.store, argument)?)
    }

    fn empty(&self, instance: &mut Instance, export: &str) -> Result<Self::Empty> {
        Ok(instance.instance.get_typed_func(&mut instance.store, export)?)
    }

    fn enter(&self, instance: &mut Instance, function: &Self::Empty) -> Result<()> {
        Ok(function.call(&mut instance.store, ())?)
    }
}
