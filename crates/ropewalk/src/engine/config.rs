//! How an engine behaves.

use crate::engine::stress::LAST_GENERATION;
use crate::module::cache::Cache;
use anyhow::{Result, bail};
use ropewalk_abi::MEMORY32_RESERVATION;
use ropewalk_abi::stack::MAX_BLOCKS;
use ropewalk_compile::Limits;
use ropewalk_runtime::HeapOptions;
use ropewalk_runtime::os::memory_size::machine_memory;
use ropewalk_runtime::stack::StackOptions;
use ropewalk_runtime::vm::table::TableLimits;
use std::path::PathBuf;
use wasmparser::WasmFeatures;

/// What code is made for.
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
pub use ropewalk_runtime::stack::Mutation;

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

/// What the engine implements.
const IMPLEMENTED: WasmFeatures = WasmFeatures::WASM3
    .difference(WasmFeatures::THREADS)
    .union(WasmFeatures::WIDE_ARITHMETIC)
    .union(WasmFeatures::COMPACT_IMPORTS)
    .union(WasmFeatures::STACK_SWITCHING);

/// How many stacks are made ready at a time at most.
const MAX_POOL: u64 = 1 << 16;

impl Default for Config {
    fn default() -> Self {
        Config {
            features: IMPLEMENTED,
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

impl Config {
    /// The default settings: everything that is implemented is on.
    pub fn new() -> Config {
        Config::default()
    }

    /// Turns features of the language on or off. Turning on one that is not
    /// implemented makes [`Engine::new`](crate::Engine::new) fail.
    pub fn wasm_features(&mut self, features: WasmFeatures, enable: bool) -> &mut Config {
        self.features.set(features, enable);
        self
    }

    /// How hard the compiler tries.
    pub fn opt_level(&mut self, level: OptLevel) -> &mut Config {
        self.opt_level = level;
        self
    }

    /// Keeps compiled modules in a folder, and looks for them there. None by default.
    pub fn cache(&mut self, cache: impl Into<Option<Cache>>) -> &mut Config {
        self.cache = cache.into();
        self
    }

    /// How many bytes a stack may have, be it that of a call from the host or of a
    /// continuation. 64 MiB by default, and 64 GiB at most.
    ///
    /// A stack begins with much less and grows: it gets address space when it needs it,
    /// and memory page by page. What it does not need any more it gives back, some
    /// calls or collections later. Beyond the limit, or where there is no more memory,
    /// the trap is `call stack exhausted`.
    pub fn max_wasm_stack(&mut self, bytes: usize) -> &mut Config {
        self.stacks.limit = bytes;
        self
    }

    /// How deep calls from the host into WebAssembly may nest. Each uses some
    /// of the host's stack too. 1000 by default, and at least 1.
    pub fn max_activations(&mut self, count: usize) -> &mut Config {
        self.max_activations = count;
        self
    }

    /// Compiles functions so that they can be interrupted: by an
    /// [`InterruptHandle`](crate::InterruptHandle), by a
    /// [deadline](crate::Store::set_deadline), or to let others run after a
    /// [time slice](crate::Store::set_time_slice). Off by default.
    ///
    /// Functions then look at the head of every loop, and when they begin, whether they
    /// are to stop, which is one comparison.
    pub fn interruption(&mut self, enable: bool) -> &mut Config {
        self.interruption = enable;
        self
    }

    /// Counts what functions execute, so that it can be
    /// [limited](crate::Store::set_fuel). Off by default; a store has no fuel until it
    /// is given some.
    ///
    /// Each instruction costs one unit, but `nop`, `drop`, `block`, `loop`, `try_table`,
    /// `else` and `end`. Instructions that fill, copy or make many cost one more for each
    /// 64 bytes of a memory, or 8 elements of a table or an array. What the same program
    /// costs is always the same, on every machine.
    pub fn consume_fuel(&mut self, enable: bool) -> &mut Config {
        self.consume_fuel = enable;
        self
    }

    /// How many bytes a linear memory may have. No limit by default, but that of its
    /// type. A module with a larger one cannot be instantiated, and `memory.grow`
    /// beyond that returns -1.
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
    pub fn max_memory(&mut self, bytes: u64) -> &mut Config {
        self.max_memory = bytes;
        self
    }

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
    pub fn max_total_memory(&mut self, bytes: u64) -> &mut Config {
        self.max_total_memory = bytes;
        self
    }

    /// How many bytes of address space each linear memory with 32-bit addresses reserves, if
    /// it is not longer. 4 GiB by default, which is all that an index can reach: then
    /// accesses need no check, and a memory never moves. With less, every access compares its
    /// index with the length, as those of 64-bit memories do, and a memory moves when it
    /// grows beyond what it reserves.
    ///
    /// A process has 128 TiB of address space, and less where `ulimit -v` is set. Where there
    /// is not enough, or half of it is taken by memories, new ones reserve less by
    /// themselves, and their modules are compiled again for that. A
    /// [precompiled](crate::Module::deserialize) module cannot be: what is to run in tens of
    /// thousands of stores is better compiled with this setting.
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
    pub fn memory_reservation(&mut self, bytes: u64) -> &mut Config {
        self.memory_reservation = bytes;
        self
    }

    /// How many stacks of a store, of all designs, may be live at the same time.
    /// Sixteen million by default. Beyond that, what makes one traps with `too many
    /// stacks`.
    pub fn max_stacks(&mut self, count: usize) -> &mut Config {
        self.stacks.maximum = count;
        self
    }

    /// How many bytes the stacks of a store may have all together: each continuation
    /// counts with what it [begins with](Config::stack_size), whatever it uses of it, or
    /// with what its frames take if it is [parked](crate::Store::park_idle), and every
    /// stack with its record and what it has grown by. So they never take more memory than
    /// this and what roots begin with. Near the limit all stacks are parked that can be.
    ///
    /// By default half of the memory that the machine has, or that its control group (cgroup)
    /// may have: that is room for millions of stacks that are parked. Beyond it, making a
    /// stack or continuing one that is parked traps with `too many stacks`, and a stack that
    /// would have to grow with `call stack exhausted`.
    pub fn max_stack_memory(&mut self, bytes: usize) -> &mut Config {
        self.stacks.memory = bytes;
        self
    }

    /// How many bytes the stack of a continuation begins with. 112 KiB by default, of
    /// which only the pages that are used take memory. One that needs more
    /// [grows](Config::max_wasm_stack).
    pub fn stack_size(&mut self, bytes: usize) -> &mut Config {
        self.stacks.size = bytes;
        self
    }

    /// How many bytes the stack of a call from the host begins with. One mebibyte by
    /// default, of which only the pages that are used take memory. One that needs more
    /// [grows](Config::max_wasm_stack).
    pub fn root_size(&mut self, bytes: usize) -> &mut Config {
        self.root_size = bytes;
        self
    }

    /// How many stacks are made ready at a time, and kept ready
    /// at least. 16 by default; 1 to 65,536.
    pub fn stack_pool(&mut self, count: usize) -> &mut Config {
        self.stacks.pool = count;
        self
    }

    /// Records what stacks do: each creation, resumption, suspension, switch, return,
    /// exception that crosses stacks, trap, end, collection, growth and parking, and each
    /// call of the host, in all designs. Off by default.
    ///
    /// Code for this differs from other code, so a module that was compiled by an engine of
    /// one kind is not one for an engine of the other. What is recorded,
    /// [`Store::take_trace`](crate::Store::take_trace) gives.
    pub fn trace(&mut self, enable: bool) -> &mut Config {
        self.trace = enable;
        self
    }

    /// Lets stores be written down, with all their stacks, and read again
    /// ([`Store::snapshot`](crate::Store::snapshot)). Off by default.
    ///
    /// Functions then list every pointer that their frames have during calls, and keep nothing
    /// in registers then, so they are a little slower. A module that was compiled by an engine
    /// of one kind is not one for an engine of the other.
    pub fn snapshots(&mut self, enable: bool) -> &mut Config {
        self.snapshots = enable;
        self
    }

    /// Has the kernel note, after a snapshot, which pages of memory are written, so that one of
    /// what has changed since ([`SnapshotOptions::since`](crate::SnapshotOptions::since)) costs
    /// what has changed. On by default.
    ///
    /// It needs Linux 6.7, and that the process may use `userfaultfd` and read
    /// `/proc/self/pagemap`; otherwise, and if this is off, everything is compared. Each page is
    /// written for the first time after a snapshot a little more slowly, by about a microsecond.
    /// For single snapshots, [`SnapshotOptions::is_base`](crate::SnapshotOptions::is_base) says it.
    pub fn watch_written_pages(&mut self, enable: bool) -> &mut Config {
        self.watch_written_pages = enable;
        self
    }

    /// Tells `perf` the names of functions: each module that is loaded adds its own to
    /// `/tmp/perf-PID.map`, where `perf report` looks for them. Off by default. Loading fails if
    /// the file cannot be written.
    pub fn perf_map(&mut self, enable: bool) -> &mut Config {
        self.perf_map = enable;
        self
    }

    /// Tells `perf` of functions, with their code and their source lines: each module that is
    /// loaded adds its own to `jit-PID.dump` in a folder, out of which `perf inject --jit` takes
    /// them. None by default. [`Engine::new`](crate::Engine::new) fails if there can be no such
    /// file, and loading a module if it cannot be written. The file has an end when the last engine
    /// that uses it has been dropped.
    pub fn jitdump(&mut self, folder: impl Into<Option<PathBuf>>) -> &mut Config {
        self.jitdump = folder.into();
        self
    }

    /// Tells native debuggers, such as gdb, of compiled code: their backtraces then go from a
    /// function of the host through those of WebAssembly, from stack to stack, to the host again,
    /// with names and source lines. Off by default. Code is the same with it and without.
    pub fn native_debug(&mut self, enable: bool) -> &mut Config {
        self.native_debug = enable;
        self
    }

    /// Puts a bug back. For showing that [`Stress::check_stacks`]
    /// finds it.
    ///
    /// # Safety
    ///
    /// The engine is broken then: nothing may run in it that the bug leads to
    /// memory which is not its own.
    #[cfg(feature = "mutations")]
    #[doc(hidden)]
    pub unsafe fn mutation(&mut self, mutation: Mutation) -> &mut Config {
        self.stacks.mutation = ropewalk_runtime::stack::PutBack::bug(mutation);
        self
    }

    /// How many bytes the objects of a store's heap may take. 4 GiB by default, or a quarter
    /// of the memory that the machine has if that is less. While it is collected, a heap takes
    /// up to twice as much. Beyond that an allocation traps with `out of memory`.
    pub fn max_heap(&mut self, bytes: usize) -> &mut Config {
        self.heap.maximum = bytes;
        self
    }

    /// How many elements a table may have. Ten million by default. A module with
    /// a larger one cannot be instantiated, and `table.grow` beyond that returns
    /// -1. Elements that nobody has written take no memory.
    pub fn max_table_elements(&mut self, count: u64) -> &mut Config {
        self.tables.elements = count;
        self
    }

    /// How many elements all tables of a store may have together. By default as many as take a
    /// quarter of the memory that the machine has, at eight bytes each. A module with more
    /// cannot be instantiated, and `table.grow` beyond that returns -1.
    pub fn max_total_table_elements(&mut self, count: u64) -> &mut Config {
        self.tables.total = count;
        self
    }

    /// How many elements the tables of an instance may begin with that are not
    /// null, all together: those are written when it is made. Twenty million by
    /// default.
    pub fn max_filled_elements(&mut self, count: u64) -> &mut Config {
        self.tables.filled = count;
        self
    }

    /// How deep the blocks of a function may nest. 20,000 by default. Beyond
    /// that, a module is too large.
    pub fn max_nesting(&mut self, count: u64) -> &mut Config {
        self.limits.nesting = count;
        self
    }

    /// How many instructions of a function may switch between stacks. 5,000 by
    /// default: each takes some tens of kilobytes while the function is compiled.
    /// Beyond that, a module is too large.
    pub fn max_switches(&mut self, count: u64) -> &mut Config {
        self.limits.switches = count;
        self
    }

    /// How many *pieces of work* a function may ask the compiler for, for each byte
    /// of it, in addition to a million that are free. Four by default. All functions
    /// of a module together may ask for four times as many. Beyond that, a module is
    /// too large.
    ///
    /// A piece of work is a value that a call, a branch or a block passes, an edge
    /// from a call to a clause of a `try_table` around it, a field of a new
    /// structure. An instruction that switches between stacks is 64 of them.
    pub fn max_work(&mut self, per_byte: u64) -> &mut Config {
        self.limits.work = per_byte;
        self
    }

    /// How many *steps* compiling a function may take, for each byte of it, in addition to
    /// four hundred million that are free. A thousand by default. All functions of a module together
    /// may take that for each byte, and 1.6 billion. Beyond that, a module is too large.
    ///
    /// A step is about ten nanoseconds. Steps are counted before the work is done, so that
    /// the same module is always refused or never.
    pub fn max_steps(&mut self, per_byte: u64) -> &mut Config {
        self.limits.steps = per_byte;
        self
    }

    /// How many bytes of memory compiling a function may take, for each byte of it, in
    /// addition to 512 MiB that are free. 4096 by default. The number is estimated before
    /// the function is compiled. Beyond that, a module is too large.
    ///
    /// Functions that are compiled at the same time take 512 MiB together, or one of them
    /// is compiled alone.
    pub fn max_compile_memory(&mut self, per_byte: u64) -> &mut Config {
        self.limits.memory = per_byte;
        self
    }

    /// How many locals a function may use, times its blocks, for each byte of it, in addition
    /// to 300,000 that are free, before its locals are kept in memory. 16 by default. Such a
    /// function is compiled in linear time, and is slow. With zero all functions are compiled
    /// so, for testing.
    pub fn max_local_blocks(&mut self, per_byte: u64) -> &mut Config {
        self.limits.local_blocks = per_byte;
        self
    }

    /// How many steps of looking for registers make the compiler look for a faster way, whose
    /// code is worse and has larger frames. Fifty million by default. With zero it always
    /// goes that way, for testing.
    pub fn max_backtracking(&mut self, steps: u64) -> &mut Config {
        self.limits.backtracking = steps;
        self
    }

    /// Sets in which ways the engine is tested. Every program must do the same in all of them:
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

    /// The settings with what the ways of testing change in them.
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

    /// Fails if a setting has a value that it cannot have.
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
                    u64::MAX => bail!("{name} is at least {least}, not {value}"),
                    _ => bail!("{name} is {least} to {most}, not {value}"),
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
