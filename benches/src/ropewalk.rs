//! Ropewalk behind the common verbs.

use std::marker::PhantomData;
use std::path::Path;

use anyhow::Result;

use crate::engine::{Engine, define_functions};

/// What is set besides speed.
pub trait Settings: Sync + 'static {
    /// Sets it.
    fn apply(config: &mut ::ropewalk::Config);

    /// Makes a store ready.
    fn begin(_: &mut ::ropewalk::Store<()>) -> Result<()> {
        Ok(())
    }
}

/// As it comes.
pub struct Plain;
/// With functions that can be interrupted.
pub struct Interruptible;
/// With functions that count what they execute.
pub struct Counting;
/// With what stacks do recorded.
pub struct Traced;
/// With stacks that never have to grow.
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

/// An instance together with the store that it lives in.
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

    /// The text may have instructions of all designs.
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
        // SAFETY: the file is what the engine has written.
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
