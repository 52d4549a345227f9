//! Rows about the embedding API: compiling, loading, instantiating, entering.

use std::path::PathBuf;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Context, Result};
use rayon::{ThreadPool, ThreadPoolBuilder};

use crate::clock::Clock;
use crate::engine::Engine;
use crate::generate::big_module;
use crate::row::{Row, Run, Side, Size, Workload, row};

/// A module like a small real one: with a memory, a table, globals and segments.
const FURNISHED: &str = include_str!("../programs/furnished.wat");
/// A module with two functions and nothing else.
const BARE: &str = include_str!("../programs/bare.wat");

/// Compiles the large generated module.
#[derive(Clone, Copy)]
struct Compile {
    /// The number of compiling threads.
    threads: usize,
}

/// Loads a compiled file and drops the module.
#[derive(Clone, Copy)]
enum Load {
    /// The small module.
    Furnished,
    /// The large generated module.
    Big,
}

/// Creates a store and an instance, and drops both.
#[derive(Clone, Copy)]
struct Instantiate(&'static str);

/// Like [`Instantiate`], with a call of a function.
#[derive(Clone, Copy)]
struct StoreForCall;

/// Like [`Instantiate`], for a module with this many bytes of data.
#[derive(Clone, Copy)]
struct InstantiateWithData(usize);

/// Creates a linker with 45 functions, and drops it.
#[derive(Clone, Copy)]
struct Link;

/// Calls a function that does nothing.
#[derive(Clone, Copy)]
struct EnterEmpty;

/// Calls a function that returns its argument.
#[derive(Clone, Copy)]
struct EnterIdentity;

/// The rows, in the order of the table.
#[rustfmt::skip]
pub fn rows() -> Vec<Row> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let module = Size { tiny: 0, large: 1, operations: 1 };
    vec![
        row("enter [] -> []", "a call from Rust", Size::of(15_000_000), EnterEmpty),
        row("enter [i64] -> [i64]", "a call from Rust", Size::of(15_000_000), EnterIdentity),
        row("instantiate bare", "a store and an instance", Size::of(150_000), Instantiate(BARE)),
        row("instantiate furnished", "a store and an instance", Size::of(10_000), Instantiate(FURNISHED)),
        row("store for a call", "a store, an instance, a call", Size::of(10_000), StoreForCall),
        row("instantiate 16 MiB", "a store and an instance", Size::of(5_000), InstantiateWithData(16 << 20)),
        row("linker of 45", "a linker, 45 functions", Size::of(5_000), Link),
        row("load furnished", "a compiled module in a file", Size::of(2_000), Load::Furnished),
        row("load 1 MB", "a compiled module in a file", Size::of(200), Load::Big),
        row("compile", "a module of 1 MB", module, Compile { threads: all }),
        row("compile, one thread", "a module of 1 MB", module, Compile { threads: 1 }),
    ]
}

impl Workload for Compile {
    /// Both engines compile in the current rayon pool, which sets the number of threads. A size of
    /// 0 compiles nothing.
    fn prepare<E: Engine>(&self) -> Result<Side> {
        let pool = ThreadPoolBuilder::new().num_threads(self.threads).build()?;
        let engine = E::new()?;
        let wasm = big_module();
        Ok(Box::new(move |_, size| match size {
            0 => Ok(Run { cost: 0.0, result: 0 }),
            _ => compile(&pool, &engine, &wasm),
        }))
    }
}

/// Runs the compiled code. Its result shows that it works.
fn compile<E: Engine>(pool: &ThreadPool, engine: &E, wasm: &[u8]) -> Result<Run> {
    let clock = if pool.current_num_threads() == 1 { Clock::Thread } else { Clock::Wall };
    let mut module = None;
    let mut run = pool.install(|| {
        clock.time(|| {
            module = Some(engine.compile(wasm)?);
            Ok(0)
        })
    })?;
    let mut instance = engine.instantiate(&module.context("nothing compiled")?)?;
    let function = engine.function(&mut instance, "run")?;
    run.result = engine.call(&mut instance, &function, 1)?;
    Ok(run)
}

impl Workload for Load {
    /// Another engine compiled the module, so the file is in the caches of the system but not of
    /// this process.
    fn prepare<E: Engine>(&self) -> Result<Side> {
        static FILES: AtomicUsize = AtomicUsize::new(0);
        let wasm = match self {
            Load::Furnished => wat::parse_str(FURNISHED)?,
            Load::Big => big_module(),
        };
        let compiler = E::new()?;
        let number = FILES.fetch_add(1, Ordering::Relaxed);
        let name = format!("ropewalk-bench-{}-{number}.cwasm", std::process::id());
        let file = Removed(std::env::temp_dir().join(name));
        std::fs::write(&file.0, compiler.serialize(&compiler.compile(&wasm)?)?)?;
        let engine = E::new()?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| {
                for _ in 0..times {
                    drop(engine.load(&file.0)?);
                }
                Ok(times)
            })
        }))
    }
}

/// A file that is removed when dropped.
struct Removed(PathBuf);

impl Drop for Removed {
    fn drop(&mut self) {
        let _ = std::fs::remove_file(&self.0);
    }
}

impl Workload for Instantiate {
    fn prepare<E: Engine>(&self) -> Result<Side> {
        instantiate_often::<E>(&wat::parse_str(self.0)?)
    }
}

impl Workload for InstantiateWithData {
    fn prepare<E: Engine>(&self) -> Result<Side> {
        let (pages, data) = (self.0.div_ceil(1 << 16), "0123456789abcdef".repeat(self.0 / 16));
        let text = format!("(memory {pages}) (data (i32.const 0) \"{data}\")");
        instantiate_often::<E>(&wat::parse_str(text)?)
    }
}

impl Workload for StoreForCall {
    fn prepare<E: Engine>(&self) -> Result<Side> {
        let engine = E::new()?;
        let module = engine.compile(&wat::parse_str(FURNISHED)?)?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| {
                let mut sum = 0;
                for i in 0..times {
                    let mut instance = engine.instantiate(&module)?;
                    let function = engine.function(&mut instance, "run")?;
                    sum += engine.call(&mut instance, &function, i)?;
                }
                Ok(sum)
            })
        }))
    }
}

impl Workload for Link {
    fn prepare<E: Engine>(&self) -> Result<Side> {
        let engine = E::new()?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| {
                for _ in 0..times {
                    engine.link()?;
                }
                Ok(times)
            })
        }))
    }
}

/// Instantiates a module repeatedly.
fn instantiate_often<E: Engine>(wasm: &[u8]) -> Result<Side> {
    let engine = E::new()?;
    let module = engine.compile(wasm)?;
    Ok(Box::new(move |_, times| {
        Clock::Thread.time(|| {
            for _ in 0..times {
                drop(engine.instantiate(&module)?);
            }
            Ok(times)
        })
    }))
}

impl Workload for EnterEmpty {
    fn prepare<E: Engine>(&self) -> Result<Side> {
        let engine = E::new()?;
        let mut instance = engine.instantiate(&engine.compile(&wat::parse_str(BARE)?)?)?;
        let function = engine.empty(&mut instance, "empty")?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| {
                for _ in 0..times {
                    engine.enter(&mut instance, &function)?;
                }
                Ok(times)
            })
        }))
    }
}

impl Workload for EnterIdentity {
    fn prepare<E: Engine>(&self) -> Result<Side> {
        let engine = E::new()?;
        let mut instance = engine.instantiate(&engine.compile(&wat::parse_str(BARE)?)?)?;
        let function = engine.function(&mut instance, "identity")?;
        Ok(Box::new(move |_, times| {
            Clock::Thread.time(|| {
                let mut sum = 0;
                for i in 0..times {
                    sum += engine.call(&mut instance, &function, i)?;
                }
                Ok(sum)
            })
        }))
    }
}
