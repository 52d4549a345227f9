//! The settings of an engine.

use crate::module::cache::Cache;
use anyhow::{Result, bail};
use ropewalk_abi::MEMORY32_RESERVATION;
use ropewalk_abi::stack::{LAST_GENERATION, MAX_BLOCKS};
use ropewalk_compile::Limits;
use ropewalk_runtime::HeapOptions;
use ropewalk_runtime::os::memory_size::machine_memory;
use ropewalk_runtime::stack::StackOptions;
use ropewalk_runtime::vm::table::TableLimits;
use std::path::PathBuf;
use wasmparser::WasmFeatures;

/// Designs of stack switching, for [`Config::designs`].
#[doc(inline)]
pub use ropewalk_compile::Designs;
/// How hard the compiler optimizes.
///
/// ```
/// use ropewalk::*;
///
/// let quick_to_compile = Engine::new(Config::new().opt_level(OptLevel::None))?;
/// Module::new(&quick_to_compile, "(module)")?;
/// # Ok::<(), Error>(())
/// ```
#[doc(inline)]
pub use ropewalk_compile::OptLevel;
#[doc(inline)]
pub use ropewalk_runtime::Stress;
#[cfg(feature = "mutations")]
#[doc(hidden)]
pub use ropewalk_runtime::stack::InjectedBug;

/// The settings of an [`Engine`](crate::Engine).
///
/// ```
/// use ropewalk::{Config, Engine, OptLevel};
///
/// let mut config = Config::new();
/// config.opt_level(OptLevel::Speed).max_wasm_stack(256 << 10);
/// let engine = Engine::new(&config)?;
/// # Ok::<(), ropewalk::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct Config {
    pub(crate) features: WasmFeatures,
    pub(crate) designs: Designs,
    pub(crate) opt_level: OptLevel,
    pub(crate) root_size: usize,
    pub(crate) max_activations: usize,
    pub(crate) max_memory: u64,
    pub(crate) max_total_memory: u64,
    pub(crate) memory_reservation: u64,
    pub(crate) stacks: StackOptions,
    pub(crate) interruption: bool,
    pub(crate) consume_fuel: bool,
    pub(crate) trace: bool,
    pub(crate) snapshots: bool,
    pub(crate) watch_written_pages: bool,
    pub(crate) perf_map: bool,
    pub(crate) jitdump: Option<PathBuf>,
    pub(crate) native_debug: bool,
    pub(crate) heap: HeapOptions,
    pub(crate) tables: TableLimits,
    pub(crate) limits: Limits,
    pub(crate) cache: Option<Cache>,
    pub(crate) stress: Stress,
}

/// The features that the engine implements.
const IMPLEMENTED: WasmFeatures = WasmFeatures::WASM3
    .difference(WasmFeatures::THREADS)
    .union(WasmFeatures::WIDE_ARITHMETIC)
    .union(WasmFeatures::COMPACT_IMPORTS)
    .union(WasmFeatures::STACK_SWITCHING);

const MAX_POOL: u64 = 1 << 16;

impl Default for Config {
    fn default() -> Self {
        Config {
            features: IMPLEMENTED,
            designs: Designs::all(),
            opt_level: OptLevel::Speed,
            root_size: 1 << 20,
            max_activations: 1000,
            max_memory: u64::MAX,
            max_total_memory: machine_memory() as u64 / 4 * 3,
            memory_reservation: MEMORY32_RESERVATION,
            stacks: StackOptions::default(),
            interruption: false,
            consume_fuel: false,
            trace: false,
            snapshots: false,
            watch_written_pages: true,
            perf_map: false,
            jitdump: None,
            native_debug: false,
            heap: HeapOptions::default(),
            tables: TableLimits::default(),
            limits: Limits::default(),
            cache: None,
            stress: Stress::default(),
        }
    }
}

/// Defines the methods that set one field of [`Config`].
macro_rules! config_settings {
    ($($(#[$doc:meta])* $setting:ident($value:ident: $ty:ty) => $($field:ident).+;)*) => {
        impl Config {
            $(
                $(#[$doc])*
                pub fn $setting(&mut self, $value: $ty) -> &mut Config {
                    self.$($field).+ = $value;
                    self
                }
            )*
        }
    };
}

config_settings! {
    /// How hard the compiler optimizes.
    opt_level(level: OptLevel) => opt_level;

    /// The designs of stack switching that modules may use. All by default. A module that uses
    /// another one is refused, and the guarantees of the allowed designs hold: "Mixing designs" in
    /// the reference says which are lost by which pair. Stacks that the embedder creates, such as a
    /// [`Task`](crate::Task), are not restricted.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().designs(Designs::TASKS | Designs::FIBERS))?;
    /// let module = "(module (tag $t) (func (suspend $t)))";
    /// let error = Module::new(&engine, module).unwrap_err();
    /// assert!(error.to_string().contains("Config::designs lacks Designs::CONTINUATIONS"));
    /// # Ok::<(), Error>(())
    /// ```
    designs(designs: Designs) => designs;

    /// How many bytes a stack may have, for calls from the host as well as for continuations.
    /// 64 MiB by default, and 64 GiB at most.
    ///
    /// A stack begins with much less and grows: it reserves address space when it needs it, and
    /// uses memory page by page. Some calls or collections later it gives unused memory back.
    /// Beyond the limit, or without memory, the trap is `call stack exhausted`.
    max_wasm_stack(bytes: usize) => stacks.limit;

    /// How deep calls from the host into WebAssembly may nest. Each uses some of the host's stack
    /// too. 1000 by default, and at least 1.
    max_activations(count: usize) => max_activations;

    /// Compiles functions so that they can be interrupted: by an
    /// [`InterruptHandle`](crate::InterruptHandle), by a
    /// [deadline](crate::Store::set_deadline), or for a
    /// [time slice](crate::Store::set_time_slice). Off by default.
    ///
    /// Functions then poll for interruption at their beginning and at the head of every loop, which
    /// costs one comparison.
    interruption(enable: bool) => interruption;

    /// Counts the instructions that functions execute, so that they can be
    /// [limited](crate::Store::set_fuel). Off by default. A store begins without fuel.
    ///
    /// Each instruction costs one unit, except `nop`, `drop`, `block`, `loop`, `try_table`, `else`
    /// and `end`, which are free. Instructions that fill, copy or create ranges cost one more unit
    /// for each 64 bytes of a memory, or 8 elements of a table or an array. The costs of a program
    /// are the same on every machine.
    consume_fuel(enable: bool) => consume_fuel;

    /// How many bytes a linear memory may have. By default only its type limits it. A module with a
    /// larger memory cannot be instantiated, and `memory.grow` beyond the limit returns -1.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().max_memory(1 << 17))?;
    /// let mut store = Store::new(&engine, ());
    /// let two_pages = Module::new(&engine, "(memory 2)")?;
    /// assert!(Instance::new(&mut store, &two_pages, &[]).is_ok());
    /// let three_pages = Module::new(&engine, "(memory 3)")?;
    /// assert!(Instance::new(&mut store, &three_pages, &[]).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    max_memory(bytes: u64) => max_memory;

    /// How many bytes all linear memories and tables of a store may have together; an element
    /// of a table takes eight. The default is three quarters of the memory that the machine
    /// has, or that its control group (cgroup) may have. A module with more cannot be
    /// instantiated, and `memory.grow` and `table.grow` beyond that return -1.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().max_total_memory(1 << 17))?;
    /// let mut store = Store::new(&engine, ());
    /// let one_page = Module::new(&engine, "(memory (export \"memory\") 1)")?;
    /// let instance = Instance::new(&mut store, &one_page, &[])?;
    /// Instance::new(&mut store, &one_page, &[])?;
    /// assert!(Instance::new(&mut store, &one_page, &[]).is_err());
    /// let memory = instance.get_memory(&mut store, "memory").unwrap();
    /// assert!(memory.grow(&mut store, 1).is_err());
    /// # Ok::<(), Error>(())
    /// ```
    max_total_memory(bytes: u64) => max_total_memory;

    /// How many bytes of address space each linear memory with 32-bit addresses reserves, unless it
    /// is larger. The default of 4 GiB is all that an index can reach: accesses need no check, and a
    /// memory never moves. With less, every access compares its index with the length, as in
    /// 64-bit memories, and a memory moves when it outgrows its reservation.
    ///
    /// A process has 128 TiB of address space, or less with `ulimit -v`. When there is not enough,
    /// or when memories take half of it, new memories reserve less, and the engine compiles their
    /// modules again. It cannot do that for a [precompiled](crate::Module::deserialize) module. Use
    /// this setting for a module that runs in tens of thousands of stores.
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let engine = Engine::new(Config::new().memory_reservation(1 << 20))?;
    /// let module = Module::new(&engine, "(memory (export \"memory\") 1)")?;
    /// let mut store = Store::new(&engine, ());
    /// let instance = Instance::new(&mut store, &module, &[])?;
    /// let memory = instance.get_memory(&mut store, "memory").unwrap();
    /// assert_eq!(memory.grow(&mut store, 100)?, 1);
    /// # Ok::<(), Error>(())
    /// ```
    memory_reservation(bytes: u64) => memory_reservation;

    /// How many stacks of all designs a store may have at the same time. Sixteen million by
    /// default. Beyond the limit, creating a stack traps with `too many stacks`.
    max_stacks(count: usize) => stacks.maximum;

    /// How many bytes the stacks of a store may have together. A continuation counts with its
    /// [initial size](Config::stack_size), or with its frames if it is
    /// [parked](crate::Store::park_idle). Every stack counts with its record, and with what it has
    /// grown by. Roots begin with memory that does not count. Near the limit the store parks all
    /// stacks that it can.
    ///
    /// By default half of the memory of the machine or of its control group (cgroup), which is
    /// enough for millions of parked stacks. Beyond the limit, creating a stack or continuing a
    /// parked one traps with `too many stacks`, and growing one with `call stack exhausted`.
    max_stack_memory(bytes: usize) => stacks.memory;

    /// How many bytes the stack of a continuation begins with. 112 KiB by default; only used pages
    /// take memory. A stack that needs more [grows](Config::max_wasm_stack).
    stack_size(bytes: usize) => stacks.size;

    /// How many bytes the stack of a call from the host begins with. One mebibyte by default; only
    /// used pages take memory. A stack that needs more [grows](Config::max_wasm_stack).
    root_size(bytes: usize) => root_size;

    /// How many stacks the store creates at a time, and keeps ready at least. 16 by default;
    /// 1 to 65,536.
    stack_pool(count: usize) => stacks.pool;

    /// Records the events of stacks in all designs: each creation, resumption, suspension, switch,
    /// return, exception that crosses stacks, trap, end, collection, growth and parking, and each
    /// host call. Off by default.
    ///
    /// Traced code differs from other code, so engines with and without this setting cannot share
    /// compiled modules. [`Store::take_trace`](crate::Store::take_trace) returns the record.
    trace(enable: bool) => trace;

    /// Allows [snapshots](crate::Store::snapshot) of stores with all their stacks. Off by default.
    ///
    /// Functions then list all pointers in their frames during calls, and keep none in registers,
    /// so they are a little slower. Engines with and without this setting cannot share compiled
    /// modules.
    snapshots(enable: bool) => snapshots;

    /// After a snapshot, has the kernel track dirty pages, so that the cost of a snapshot of
    /// [changes](crate::SnapshotOptions::since) depends on their size. On by default.
    ///
    /// This needs Linux 6.7, `userfaultfd`, and read access to `/proc/self/pagemap`. Otherwise, and
    /// if it is off, everything is compared. The first write to a page after a snapshot takes about
    /// a microsecond longer. [`SnapshotOptions::is_base`](crate::SnapshotOptions::is_base) sets it
    /// for single snapshots.
    watch_written_pages(enable: bool) => watch_written_pages;

    /// Adds the functions of each loaded module to `/tmp/perf-PID.map`, where `perf report` finds
    /// their names. Off by default. Loading fails if the file cannot be written.
    perf_map(enable: bool) => perf_map;

    /// Shows compiled code to native debuggers, such as gdb. Their backtraces then lead from a host
    /// function through WebAssembly, across stacks, to the host again, with names and source lines.
    /// Off by default. It does not change the code.
    native_debug(enable: bool) => native_debug;

    /// How many bytes the objects of a store's heap may take. 4 GiB by default, or a quarter of the
    /// machine's memory if that is less. During a collection a heap takes up to twice as much.
    /// Beyond the limit an allocation traps with `out of memory`.
    max_heap(bytes: usize) => heap.maximum;

    /// How many elements a table may have. Ten million by default. A module with a larger table
    /// cannot be instantiated, and `table.grow` beyond the limit returns -1. Elements that were
    /// never written take no memory.
    max_table_elements(count: u64) => tables.elements;

    /// How many elements all tables of a store may have together. By default they take at most a
    /// quarter of the machine's memory, at eight bytes each. A module with more cannot be
    /// instantiated, and `table.grow` beyond the limit returns -1.
    max_total_table_elements(count: u64) => tables.total;

    /// How many elements of its tables an instance may begin with that are not null, since
    /// instantiation writes them. Twenty million by default.
    max_filled_elements(count: u64) => tables.filled;

    /// How deep the blocks of a function may nest. 20,000 by default. Beyond that, a module is too
    /// large.
    max_nesting(count: u64) => limits.nesting;

    /// How many instructions of a function may switch between stacks. 5,000 by default: compiling
    /// one takes some tens of kilobytes. Beyond that, a module is too large.
    max_switches(count: u64) => limits.switches;

    /// How many *units of work* a function may cost the compiler, for each of its bytes, in
    /// addition to a million. Four by default. All functions of a module together may cost four
    /// times as many. Beyond that, a module is too large.
    ///
    /// A unit of work is a value that a call, a branch or a block passes, an edge from a call to a
    /// clause of a `try_table` around it, or a field of a new structure. An instruction that
    /// switches between stacks counts as 64.
    max_work(per_byte: u64) => limits.work;

    /// How many *steps* compiling a function may take, for each of its bytes, in addition to four
    /// hundred million. A thousand by default. All functions of a module together may take as many
    /// for each byte, and 1.6 billion. Beyond that, a module is too large.
    ///
    /// A step is about ten nanoseconds. Steps are counted before the work is done, so the same
    /// module is always refused or never.
    max_steps(per_byte: u64) => limits.steps;

    /// How many bytes of memory compiling a function may take, for each of its bytes, in addition
    /// to 512 MiB. 4096 by default. The number is estimated before. Beyond that, a module is too
    /// large.
    ///
    /// Functions that are compiled at the same time take 512 MiB together. A function that takes
    /// more is compiled alone.
    max_compile_memory(per_byte: u64) => limits.memory;

    /// How many locals a function may use, times its blocks, for each of its bytes, in addition to
    /// 300,000. 16 by default. Beyond that its locals are kept in memory, so that compiling takes
    /// linear time; the code is slow. Zero keeps all locals in memory, for testing.
    max_local_blocks(per_byte: u64) => limits.local_blocks;

    /// After how many steps the register allocator is replaced by a faster one, whose code is worse
    /// and has larger frames. Fifty million by default. Zero always uses the faster one, for
    /// testing.
    max_backtracking(steps: u64) => limits.backtracking;
}

impl Config {
    /// The default settings: all implemented features are on.
    pub fn new() -> Config {
        Config::default()
    }

    /// Turns WebAssembly features on or off. If one is on that is not implemented,
    /// [`Engine::new`](crate::Engine::new) fails.
    pub fn wasm_features(&mut self, features: WasmFeatures, enable: bool) -> &mut Config {
        self.features.set(features, enable);
        self
    }

    /// Caches compiled modules in a folder. No cache by default.
    pub fn cache(&mut self, cache: impl Into<Option<Cache>>) -> &mut Config {
        self.cache = cache.into();
        self
    }

    /// Writes the functions of each loaded module, with code and source lines, to `jit-PID.dump` in
    /// a folder, for `perf inject --jit`. Off by default. [`Engine::new`](crate::Engine::new) fails
    /// if the file cannot be created, and loading a module if it cannot be written. The file is
    /// complete when the last engine that uses it was dropped.
    pub fn jitdump(&mut self, folder: impl Into<Option<PathBuf>>) -> &mut Config {
        self.jitdump = folder.into();
        self
    }

    /// Injects a bug, to test that [`Stress::check_stacks`] finds it.
    ///
    /// # Safety
    ///
    /// The bug can corrupt memory. Run only programs for which it does not.
    #[cfg(feature = "mutations")]
    #[doc(hidden)]
    pub unsafe fn inject_bug(&mut self, bug: InjectedBug) -> &mut Config {
        self.stacks.injected = ropewalk_runtime::stack::Injected::bug(bug);
        self
    }

    /// Sets stress modes, which test the engine. Every program must do the same in all of them:
    ///
    /// ```
    /// use ropewalk::*;
    ///
    /// let mut config = Config::new();
    /// config.stress(|stress| stress.check_stacks = true).stress(|stress| stress.move_stacks = true);
    /// let engine = Engine::new(&config)?;
    /// # Ok::<(), Error>(())
    /// ```
    pub fn stress(&mut self, set: impl FnOnce(&mut Stress)) -> &mut Config {
        set(&mut self.stress);
        self
    }

    /// The settings, with those that the stress modes change.
    pub(crate) fn resolved(&self) -> Config {
        let mut config = self.clone();
        let stress = self.stress;
        config.interruption |= stress.stop_always;
        config.heap.collect_always = stress.collect_always;
        config.stacks.fails_to_grow = stress.fail_to_grow;
        config.stacks.first_generation = stress.first_generation;
        config.stacks.blocks = stress.max_blocks;
        if stress.minimal_stacks {
            (config.stacks.size, config.root_size) = (0, 0);
        }
        config
    }

    /// Fails if a setting has a value out of its range.
    pub(crate) fn check(&self) -> Result<()> {
        let unimplemented = self.unimplemented();
        if !unimplemented.is_empty() {
            let names: Vec<_> = unimplemented.iter_names().map(|(name, _)| name).collect();
            bail!("these features are not implemented: {}", names.join(", "));
        }
        let ranges = [
            ("Config::max_activations", self.max_activations as u64, 1..=u64::MAX),
            ("Config::stack_pool", self.stacks.pool as u64, 1..=MAX_POOL),
            ("Stress::max_blocks", self.stacks.blocks as u64, 2..=MAX_BLOCKS as u64),
            ("Stress::first_generation", self.stacks.first_generation, 0..=LAST_GENERATION),
        ];
        for (name, value, range) in ranges {
            if !range.contains(&value) {
                let (least, most) = (range.start(), range.end());
                match *most {
                    u64::MAX => bail!("{name} must be at least {least}, found {value}"),
                    _ => bail!("{name} must be {least} to {most}, found {value}"),
                }
            }
        }
        Ok(())
    }

    /// The features that are on but not implemented.
    pub(crate) fn unimplemented(&self) -> WasmFeatures {
        self.features.difference(IMPLEMENTED)
    }
}
