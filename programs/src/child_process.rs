//! Runs a program on Ropewalk in a separate process, and measures it.
//!
//! The measurements are written to a file, since the standard streams belong to the program.
//! `wasmtime.py` takes the same arguments, except for preloaded modules, and writes the same
//! file.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use anyhow::{Context, Result};
use clap::Parser;
use ropewalk::{Config, Engine, Linker, Module, Store};
use ropewalk_wasi::{DirPerms, FilePerms, I32Exit, WasiCtx};
use rustix::time::{ClockId, clock_gettime};

/// The first argument of a process that runs a program.
pub(crate) const RUN: &str = "run-program";

/// What to run, and where to write the costs.
#[derive(Parser)]
pub(crate) struct Request {
    #[arg(long)]
    report: PathBuf,

    /// A host directory and its name in the program.
    #[arg(long = "dir", num_args = 2)]
    directories: Vec<String>,

    /// A module to instantiate first, and its name.
    #[arg(long = "preload", num_args = 2)]
    preloads: Vec<String>,

    /// The module and the arguments of the program.
    #[arg(required = true, trailing_var_arg = true)]
    module_and_args: Vec<String>,
}

/// The request, if this process was started to run a program.
pub(crate) fn requested() -> Option<Request> {
    let mut arguments = std::env::args_os().skip(1);
    (arguments.next()? == RUN)
        .then(|| Request::parse_from([OsString::from(RUN)].into_iter().chain(arguments)))
}

/// Runs the program; returns its exit code.
pub(crate) fn execute(request: Request) -> ExitCode {
    match run(&request) {
        Ok(code) => ExitCode::from(code as u8),
        Err(error) => {
            eprintln!("{error:?}");
            ExitCode::from(134)
        }
    }
}

fn run(request: &Request) -> Result<i32> {
    let bytes = fs::read(&request.module_and_args[0])?;
    let engine = Engine::new(&Config::new())?;
    let mut linker = Linker::new(&engine);
    ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx)?;
    let mut store = Store::new(&engine, context(request)?);

    forget_peak_memory();
    let memory = status("VmRSS:")?;
    let (wall, processor) = (Instant::now(), processor_time());
    let module = Module::new(&engine, &bytes)?;
    let compile = [wall.elapsed().as_nanos(), processor_time() - processor];
    let memory = status("VmHWM:")?.saturating_sub(memory);

    for preload in request.preloads.chunks(2) {
        let module = Module::from_file(&engine, &preload[1])?;
        let instance = linker.instantiate(&mut store, &module)?;
        linker.instance(&mut store, &preload[0], instance)?;
    }
    let (wall, processor) = (Instant::now(), processor_time());
    let instance = linker.instantiate(&mut store, &module)?;
    let start = instance.get_typed_func::<(), ()>(&mut store, "_start")?;
    let result = start.call(&mut store, ());
    let run = [wall.elapsed().as_nanos(), processor_time() - processor];

    let code = match result {
        Ok(()) => 0,
        Err(error) => match error.downcast_ref() {
            Some(I32Exit(code)) => *code,
            None => return Err(error),
        },
    };
    let [compile, compile_processor] = compile;
    let [run, run_processor] = run;
    fs::write(
        &request.report,
        format!("{compile} {compile_processor} {memory} {run} {run_processor}\n"),
    )?;
    Ok(code)
}

fn context(request: &Request) -> Result<WasiCtx> {
    let mut builder = WasiCtx::builder();
    builder.inherit_stdout().inherit_stderr().args(&request.module_and_args);
    for directory in request.directories.chunks(2) {
        let [host, guest] = [&directory[0], &directory[1]];
        builder.preopened_dir(host, guest, DirPerms::all(), FilePerms::all())?;
    }
    Ok(builder.build())
}

/// CPU time of all threads, in nanoseconds.
fn processor_time() -> u128 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec as u128 * 1_000_000_000 + time.tv_nsec as u128
}

/// Resets the peak of resident memory. If the kernel cannot do that, the peak counts from the
/// start of the process.
fn forget_peak_memory() {
    let _ = fs::write("/proc/self/clear_refs", "5");
}

/// A field of `/proc/self/status`, in bytes.
fn status(field: &str) -> Result<u64> {
    let status = fs::read_to_string("/proc/self/status")?;
    let line = status.lines().find_map(|line| line.strip_prefix(field));
    let kilobytes = line.and_then(|line| line.split_whitespace().next());
    Ok(kilobytes.context("no such field in /proc/self/status")?.parse::<u64>()? << 10)
}
