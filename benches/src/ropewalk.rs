//! Ropewalk as an [`Engine`](crate::engine::Engine).

use std::marker::PhantomData;
use std::path::Path;

use anyhow::Result;

use crate::engine::{Engine, define_functions};

/// Settings besides the optimization level.
pub trait Settings: Sync + 'static {
    /// Changes the configuration.
    fn apply(config: &mut ::ropewalk::Config);

    /// Prepares a store.
    fn begin(_: &mut ::ropewalk::Store<()>) -> Result<()> {
        Ok(())
    }
}

/// The default settings.
pub struct Plain;
/// With functions that can be interrupted.
pub struct Interruptible;
/// With fuel.
pub struct Counting;
/// With tracing of stacks.
pub struct Traced;
/// With stacks that are large from the start.
pub struct LargeStacks;

impl Settings for Plain {
    fn apply(_: &mut ::ropewalk::Config) {}
}

impl Settings for Interruptible {
    fn apply(config: &mut ::ropewalk::Config) {
        config.interruption(true);
    }
}

impl Settings for Counting {
    fn apply(config: &mut ::ropewalk::Config) {
        config.consume_fuel(true);
    }

    fn begin(store: &mut ::ropewalk::Store<()>) -> Result<()> {
        store.set_fuel(u64::MAX)
    }
}

impl Settings for Traced {
    fn apply(config: &mut ::ropewalk::Config) {
        config.trace(true);
    }
}

impl Settings for LargeStacks {
    fn apply(config: &mut ::ropewalk::Config) {
        let bytes = crate::deep::STACK;
        config.max_wasm_stack(bytes).root_size(bytes).stack_size(bytes);
    }
}

/// The engine, and a linker that knows the host's functions.
pub struct Ropewalk<S = Plain> {
    engine: ::ropewalk::Engine,
    linker: ::ropewalk::Linker<()>,
    settings: PhantomData<S>,
}

/// An instance and its store.
pub struct Instance {
    store: ::ropewalk::Store<()>,
    instance: ::ropewalk::Instance,
}

impl<S: Settings> Engine for Ropewalk<S> {
    type Module = ::ropewalk::Module;
    type Instance = Instance;
    type Function = ::ropewalk::TypedFunc<i64, i64>;
    type Empty = ::ropewalk::TypedFunc<(), ()>;

    fn new() -> Result<Self> {
        let mut config = ::ropewalk::Config::new();
        config.opt_level(::ropewalk::OptLevel::Speed);
        S::apply(&mut config);
        let engine = ::ropewalk::Engine::new(&config)?;
        let mut linker = ::ropewalk::Linker::new(&engine);
        linker.func_wrap("host", "inc", |x: i64| x + 1)?;
        Ok(Self { engine, linker, settings: PhantomData })
    }

    fn compile(&self, wasm: &[u8]) -> Result<Self::Module> {
        ::ropewalk::Module::new(&self.engine, wasm)
    }

    /// The text may use all designs.
    fn compile_text(&self, text: &str) -> Result<Self::Module> {
        ::ropewalk::Module::new(&self.engine, text)
    }

    fn serialize(&self, module: &Self::Module) -> Result<Vec<u8>> {
        Ok(module.serialize()?)
    }

    fn link(&self) -> Result<()> {
        let mut linker = ::ropewalk::Linker::<()>::new(&self.engine);
        define_functions!(linker);
        Ok(())
    }

    fn load(&self, file: &Path) -> Result<Self::Module> {
        // SAFETY: the engine has written the file.
        Ok(unsafe { ::ropewalk::Module::deserialize_file(&self.engine, file)? })
    }

    fn instantiate(&self, module: &Self::Module) -> Result<Instance> {
        let mut store = ::ropewalk::Store::new(&self.engine, ());
        S::begin(&mut store)?;
        let instance = self.linker.instantiate(&mut store, module)?;
        Ok(Instance { store, instance })
    }

    fn function(&self, instance: &mut Instance, export: &str) -> Result<Self::Function> {
        instance.instance.get_typed_func(&mut instance.store, export)
    }

    fn call(
        &self,
        instance: &mut Instance,
        function: &Self::Function,
        argument: i64,
    ) -> Result<i64> {
        function.call(&mut instance.store, argument)
    }

    fn empty(&self, instance: &mut Instance, export: &str) -> Result<Self::Empty> {
        instance.instance.get_typed_func(&mut instance.store, export)
    }

    fn enter(&self, instance: &mut Instance, function: &Self::Empty) -> Result<()> {
        function.call(&mut instance.store, ())
    }
}
