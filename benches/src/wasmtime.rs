//! Wasmtime behind the common verbs.

use anyhow::Result;

use crate::engine::Engine;

/// The engine, and a linker that knows the host's functions.
pub struct Wasmtime {
    engine: ::wasmtime::Engine,
    linker: ::wasmtime::Linker<()>,
}

/// An instance together with the store that it lives in.
pub struct Instance {
    store: ::wasmtime::Store<()>,
    instance: ::wasmtime::Instance,
}

impl Engine for Wasmtime {
    type Module = ::wasmtime::Module;
    type Instance = Instance;
    type Function = ::wasmtime::TypedFunc<i64, i64>;
    type Empty = ::wasmtime::TypedFunc<(), ()>;

    fn new() -> Result<Self> {
        let mut config = ::wasmtime::Config::new();
        config.cranelift_opt_level(::wasmtime::OptLevel::Speed);
        let engine = ::wasmtime::Engine::new(&config)?;
        let mut linker = ::wasmtime::Linker::new(&engine);
        linker.func_wrap("host", "inc", |x: i64| x + 1)?;
        Ok(Self { engine, linker })
    }

    fn compile(&self, wasm: &[u8]) -> Result<Self::Module> {
        Ok(::wasmtime::Module::new(&self.engine, wasm)?)
    }

    fn instantiate(&self, module: &Self::Module) -> Result<Instance> {
        let mut store = ::wasmtime::Store::new(&self.engine, ());
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
