//! The engine, which modules and stores share.

pub(crate) mod config;
pub(crate) mod native_tools;
pub mod stress;
pub(crate) mod trampolines;

use crate::engine::config::Config;
use crate::engine::trampolines::Trampolines;
use crate::misuse::{UnknownType, WrongEngine};
use crate::module::precompiled;
use crate::module::stacks_module;
use anyhow::{Context, Result, ensure};
use ropewalk_abi::code::TrampolineKind;
use ropewalk_abi::signature::in_registers;
use ropewalk_abi::{FuncType, HeapType, MEMORY32_RESERVATION, RefType, TypeKind, ValType};
use ropewalk_compile::Target;
use ropewalk_runtime::stack::{Arena, ArenaOptions};
use ropewalk_runtime::vm::memory::MemoryPool;
use ropewalk_runtime::{CodeMemory, JitDump, LoadedModule, StoreOptions, TypeRegistry, host_words};
use std::ffi::c_void;
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};

/// Compiles modules, and owns what their instances share: types, trampolines, and memory of stacks.
/// Cloning it is cheap, and gives the same engine.
///
/// Threads can share engines, modules and linkers. Each thread has its own store:
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let module = Module::new(&engine, r#"
///     (module (func $fib (export "fib") (param $n i32) (result i32)
///       (if (result i32) (i32.lt_s (local.get $n) (i32.const 2))
///         (then (local.get $n))
///         (else (i32.add
///           (call $fib (i32.sub (local.get $n) (i32.const 1)))
///           (call $fib (i32.sub (local.get $n) (i32.const 2))))))))
/// "#)?;
/// let fib = |n: i32| -> Result<i32> {
///     let mut store = Store::new(&engine, ());
///     let instance = Instance::new(&mut store, &module, &[])?;
///     instance.get_typed_func::<i32, i32>(&mut store, "fib")?.call(&mut store, n)
/// };
/// let found: Result<Vec<i32>> = std::thread::scope(|scope| {
///     let threads: Vec<_> = (8..12).map(|n| scope.spawn(move || fib(n))).collect();
///     threads.into_iter().map(|thread| thread.join().unwrap()).collect()
/// });
/// assert_eq!(found?, [21, 34, 55, 89]);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Engine {
    inner: Arc<EngineInner>,
}

struct EngineInner {
    config: Config,
    target: Target,
    types: Arc<TypeRegistry>,
    arena: Arc<Arena>,
    memories: Arc<MemoryPool>,
    trampolines: Trampolines,
    stacks_module: OnceLock<Arc<LoadedModule>>,
    jitdump: Option<JitDump>,
    /// The settings, as in the files of its modules.
    settings: OnceLock<Vec<u8>>,
}

/// How many parameters or results a function may have.
const MAX_VALUES: usize = 1000;

/// How many bytes a stack may have. Hundreds of stacks of this size fit into the address space.
const LARGEST_STACK: usize = 1 << 36;

pub(crate) fn check_stack_size(bytes: usize) -> Result<()> {
    ensure!(bytes <= LARGEST_STACK, "a stack has at most {LARGEST_STACK} bytes, found {bytes}");
    Ok(())
}

pub(crate) fn check_func_type(types: &TypeRegistry, ty: &FuncType) -> Result<()> {
    let most = ty.params().len().max(ty.results().len());
    ensure!(
        most <= MAX_VALUES,
        "a function has at most {MAX_VALUES} parameters and results, found {most}"
    );
    ty.params().iter().chain(ty.results()).try_for_each(|ty| check_type(types, *ty))
}

/// Fails unless the engine knows the defined type that a type names.
pub(crate) fn check_type(types: &TypeRegistry, ty: ValType) -> Result<()> {
    if types.knows(ty) { Ok(()) } else { Err(UnknownType(ty).into()) }
}

impl Default for Engine {
    /// An engine with the default settings.
    ///
    /// # Panics
    ///
    /// On a machine that the engine does not support.
    fn default() -> Self {
        Engine::new(&Config::default()).expect("this machine is supported")
    }
}

impl std::fmt::Debug for Engine {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Engine").field("config", &self.inner.config).finish_non_exhaustive()
    }
}

impl Engine {
    /// An engine with these settings.
    pub fn new(config: &Config) -> Result<Engine> {
        let config = &config.resolved();
        config.check()?;
        check_stack_size(config.stacks.limit.max(config.stacks.size))?;
        ropewalk_runtime::install_signal_handlers().context("cannot install signal handlers")?;
        let root_size = config.root_size.min(config.stacks.limit);
        let arena = ArenaOptions { root_size, ..ArenaOptions::default() };
        let target = Target::host(config.opt_level)?
            .designs(config.designs)
            .move_stacks(config.stress.move_stacks)
            .check_stacks(config.stress.check_stacks)
            .interruption(config.interruption)
            .fuel(config.consume_fuel)
            .park_always(config.stress.park_always)
            .trace(config.trace)
            .snapshots(config.snapshots)
            .small_memories(config.memory_reservation < MEMORY32_RESERVATION)
            .limits(config.limits);
        let jitdump = config.jitdump.as_deref().map(|folder| {
            JitDump::open(folder)
                .with_context(|| format!("cannot write to the folder {}", folder.display()))
        });
        let jitdump = jitdump.transpose()?;
        Ok(Engine {
            inner: Arc::new(EngineInner {
                target,
                config: config.clone(),
                types: Arc::default(),
                arena: Arc::new(Arena::new(arena)),
                memories: Arc::new(MemoryPool::new(config.max_memory, config.memory_reservation)),
                trampolines: Trampolines::default(),
                stacks_module: OnceLock::new(),
                jitdump,
                settings: OnceLock::new(),
            }),
        })
    }

    /// Whether both are the same engine.
    pub fn same(a: &Engine, b: &Engine) -> bool {
        Arc::ptr_eq(&a.inner, &b.inner)
    }

    pub(crate) fn check(
        &self,
        what: &'static str,
        other: &Engine,
        with: &'static str,
    ) -> Result<(), WrongEngine> {
        if Engine::same(self, other) { Ok(()) } else { Err(WrongEngine(what, with)) }
    }

    /// The top type of a heap type: `func`, `extern`, `any`, `exn` or `cont`. For a defined type of
    /// another engine, `any`.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::default();
    /// let point = StructType::new(&engine, [FieldType::new(ValType::F64, true); 2])?;
    /// assert_eq!(engine.top_type(HeapType::from(&point)), HeapType::Any);
    /// assert_eq!(engine.top_type(HeapType::NoFunc), HeapType::Func);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn top_type(&self, ty: HeapType) -> HeapType {
        match ty {
            HeapType::Func | HeapType::NoFunc => HeapType::Func,
            HeapType::Extern | HeapType::NoExtern => HeapType::Extern,
            HeapType::Exn | HeapType::NoExn => HeapType::Exn,
            HeapType::Cont | HeapType::NoCont => HeapType::Cont,
            HeapType::Concrete(number) if self.types().knows(RefType::new(true, ty).into()) => {
                match self.types().kind(number) {
                    TypeKind::Func => HeapType::Func,
                    TypeKind::Cont => HeapType::Cont,
                    TypeKind::Struct | TypeKind::Array | TypeKind::Extern => HeapType::Any,
                }
            }
            _ => HeapType::Any,
        }
    }

    pub(crate) fn config(&self) -> &Config {
        &self.inner.config
    }

    pub(crate) fn jitdump(&self) -> Option<&JitDump> {
        self.inner.jitdump.as_ref()
    }

    pub(crate) fn target(&self) -> &Target {
        &self.inner.target
    }

    pub(crate) fn types(&self) -> &TypeRegistry {
        &self.inner.types
    }

    /// The number of a function type that an embedder made.
    pub(crate) fn register_func(&self, ty: &FuncType) -> Result<u32> {
        check_func_type(self.types(), ty)?;
        Ok(self.types().register_func(ty))
    }

    pub(crate) fn store_options(&self) -> StoreOptions {
        StoreOptions {
            arena: self.inner.arena.clone(),
            memories: self.inner.memories.clone(),
            types: self.inner.types.clone(),
            max_total_memory: self.config().max_total_memory,
            tables: self.config().tables,
            heap: self.config().heap,
            max_activations: self.config().max_activations,
            stacks: self.config().stacks,
            stress: self.config().stress,
            interruption: self.config().interruption,
            consume_fuel: self.config().consume_fuel,
            trace: self.config().trace,
            snapshots: self.config().snapshots,
            watch_pages: self.config().watch_written_pages,
            native_debug: self.config().native_debug,
        }
    }

    /// The settings, as in the files of its modules.
    pub(crate) fn settings_bytes(&self) -> &[u8] {
        self.inner.settings.get_or_init(|| precompiled::settings_bytes(self))
    }

    pub(crate) fn trampolines(&self) -> &Trampolines {
        &self.inner.trampolines
    }

    /// How many trampolines it has compiled, for tests: compiled modules bring their own.
    #[doc(hidden)]
    pub fn compiled_trampolines(&self) -> usize {
        self.trampolines().count_compiled()
    }

    /// The code that calls functions of a type from the host.
    pub(crate) fn entry_trampoline(&self, type_id: u32) -> Result<*const c_void> {
        self.trampoline(TrampolineKind::Entry, type_id)
    }

    /// The code that calls host functions of a type.
    pub(crate) fn host_trampoline(&self, type_id: u32) -> Result<*const c_void> {
        if in_registers(&self.types().func_type(type_id)) {
            let is_watched = self.config().stress.move_stacks || self.config().trace;
            return Ok(host_words(is_watched));
        }
        self.trampoline(TrampolineKind::Host, type_id)
    }

    /// Compiles what new continuations of functions of a type need.
    pub(crate) fn prepare_continuations(&self, type_id: u32) -> Result<()> {
        let code = self.trampoline(TrampolineKind::Stack, type_id)?;
        let info = self.types().get(type_id).info();
        // SAFETY: types live as long as the engine.
        unsafe { (*info).entry.store(code.cast_mut(), Ordering::Relaxed) };
        Ok(())
    }

    /// The module that creates first-class stacks, if it was used before.
    pub(crate) fn own_module(&self) -> Option<Arc<LoadedModule>> {
        self.inner.stacks_module.get().cloned()
    }

    pub(crate) fn stacks_module(&self) -> Result<Arc<LoadedModule>> {
        if let Some(module) = self.inner.stacks_module.get() {
            return Ok(module.clone());
        }
        let module = stacks_module::compile(self)?;
        Ok(self.inner.stacks_module.get_or_init(|| module).clone())
    }

    #[inline]
    pub(crate) fn trampoline(&self, kind: TrampolineKind, type_id: u32) -> Result<*const c_void> {
        match self.types().trampoline(kind, type_id) {
            Some(code) => Ok(code.as_ptr()),
            None => self.new_trampoline(kind, type_id),
        }
    }

    #[cold]
    fn new_trampoline(&self, kind: TrampolineKind, type_id: u32) -> Result<*const c_void> {
        let tell = |code: &mut CodeMemory| native_tools::tell_of_trampolines(self, code, &[]);
        let code = self.trampolines().get(kind, self.target(), self.types(), type_id, tell)?;
        self.types().set_trampoline(kind, type_id, code);
        Ok(code)
    }
}
