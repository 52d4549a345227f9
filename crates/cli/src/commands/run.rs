//! `ropewalk run`: runs a program, also for `replay` and `resume`.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufReader;
use std::num::NonZeroU64;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use anyhow::{Context, bail, ensure};
use clap::Args;
use ropewalk::{
    Cache, Config, Continuation, Engine, ExternType, Func, FuncType, Instance, Linker, Module,
    RestoredCall, Result, Store, Val,
};
use ropewalk_wasi::{DirPerms, FilePerms, WasiCtx, WasiCtxBuilder};

use crate::errors::ended::Suspended;
use crate::errors::{self, missing_imports};
use crate::files::input;
use crate::files::output::{self, Output};
use crate::files::recording::Recording;
use crate::files::saved_program::{Program, SavedProgram};
use crate::options::failure::FailureOutputs;
use crate::options::profiling::Profiling;
use crate::options::snapshots::{MAIN, SnapshotPoints, Snapshots};
use crate::options::timeout;
use crate::options::tracing::Tracing;
use crate::terminal::{color, escape, stdout};
use crate::values;

/// The function that runs a program.
const START: &str = "_start";

/// The function that initializes a library.
const INITIALIZE: &str = "_initialize";

/// Run a program, or call a function of a module and print its results, one per
/// line.
///
/// A program can use WASI preview 1. It can access only what the options grant: no files
/// without --dir, no environment variables without --env.
///
/// Options come before FILE. Everything after FILE is passed to the program. The exit code
/// is the program's.
#[derive(Args)]
pub(crate) struct Run {
    /// Gives the program access to the directory HOST and everything in it, under the name
    /// GUEST. Without GUEST, the name is HOST.
    #[arg(long = "dir", value_name = "HOST[::GUEST]", value_parser = directory)]
    directories: Vec<(PathBuf, String)>,

    /// Sets an environment variable of the program. Without a value, copies the variable from
    /// this process, if it is set.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    environment: Vec<OsString>,

    /// Calls this exported function instead of `_start`. ARGS are its arguments, parsed by
    /// their types: integers (-7, 0xff), floats (0.5, inf, nan), vectors (0xff,
    /// i32x4:1,2,3,4), `null`.
    #[arg(long, value_name = "NAME")]
    invoke: Option<String>,

    /// Instantiates the module FILE first; imports from NAME are taken from its exports.
    #[arg(long = "preload", value_name = "NAME=FILE", value_parser = preload)]
    preloads: Vec<(String, PathBuf)>,

    /// The maximum size of each linear memory: a number of bytes, optionally with the suffix
    /// K, M or G.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_memory: Option<u64>,

    /// The maximum size of all linear memories and tables together. The default is three
    /// quarters of the machine's memory, and at most one quarter for tables.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_total_memory: Option<u64>,

    /// The maximum size of the garbage-collected heap. The default is 4G, or a quarter of the
    /// machine's memory if that is less.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_heap: Option<u64>,

    /// The maximum number of open files, directories and sockets, including the standard
    /// streams.
    #[arg(long, value_name = "COUNT")]
    max_descriptors: Option<usize>,

    /// The maximum size of the recording and of the trace, each. What exceeds it is not
    /// written.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_recorded: Option<u64>,

    /// The maximum size of each stack of the program; 64M by default.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    stack_size: Option<u64>,

    /// The maximum size of all stacks of the program together; half of the machine's memory by
    /// default.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_stack_memory: Option<u64>,

    /// The maximum number of instructions that the program may execute, approximately. The
    /// same program always stops at the same instruction.
    #[arg(long, value_name = "UNITS")]
    fuel: Option<u64>,

    /// The maximum running time: a number of seconds, or a number with the suffix ms, s, m
    /// or h.
    #[arg(long, value_name = "TIME", value_parser = timeout::parse)]
    timeout: Option<Duration>,

    /// Records everything that the program receives from its host, for `ropewalk replay`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    #[command(flatten)]
    snapshots: Snapshots,

    #[command(flatten)]
    tracing: Tracing,

    #[command(flatten)]
    profiling: Profiling,

    #[command(flatten)]
    failure: FailureOutputs,

    /// Compiles the program without using the cache of compiled modules (in `ropewalk` of
    /// $XDG_CACHE_HOME or ~/.cache).
    #[arg(long)]
    no_cache: bool,

    /// The module, as text (.wat), binary (.wasm) or compiled (.cwasm), or `-` for the
    /// standard input, and the arguments of the program.
    #[arg(value_names = ["FILE", "ARGS"], required = true, trailing_var_arg = true)]
    file_and_args: Vec<OsString>,
}

fn directory(text: &str) -> Result<(PathBuf, String)> {
    let (host, guest) = text.split_once("::").unwrap_or((text, text));
    ensure!(!host.is_empty() && !guest.is_empty(), "expected HOST or HOST::GUEST, both not empty");
    Ok((host.into(), guest.to_owned()))
}

fn preload(text: &str) -> Result<(String, PathBuf)> {
    let (name, file) = text.split_once('=').context("expected NAME=FILE")?;
    Ok((name.to_owned(), file.into()))
}

/// Parses a number of bytes.
fn size(text: &str) -> Result<u64> {
    let unit = text.chars().last().map(|unit| unit.to_ascii_uppercase());
    let shift = match unit {
        Some('K') => 10,
        Some('M') => 20,
        Some('G') => 30,
        _ => 0,
    };
    let digits = if shift == 0 { text } else { &text[..text.len() - 1] };
    let number: u64 = digits.parse().context("expected a number of bytes, such as 65536 or 64K")?;
    number.checked_mul(1 << shift).context("expected a number of bytes below 2^64")
}

impl Run {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        output::check_all(&self.outputs(), &self.modules())?;
        let mut context = self.context()?;
        if let Some(output) = self.recording() {
            let recording = Recording::new(&self.modules())?;
            context.record(recording.create(&output, self.max_recorded)?)?;
        }
        self.execute_with(&mut context)
    }

    /// The files of the modules, the program first.
    fn modules(&self) -> Vec<&Path> {
        let preloads = self.preloads.iter().map(|(_, file)| &**file);
        std::iter::once(self.file()).chain(preloads).collect()
    }

    fn recording(&self) -> Option<Output<'_>> {
        Some(Output { what: "the recording", path: self.record.as_deref()? })
    }

    fn outputs(&self) -> Vec<Output<'_>> {
        self.outputs_without_snapshot().chain(self.snapshots.output()).collect()
    }

    fn outputs_without_snapshot(&self) -> impl Iterator<Item = Output<'_>> {
        let outputs = [self.recording(), self.tracing.output(), self.profiling.output()];
        outputs.into_iter().flatten().chain(self.failure.outputs())
    }

    /// The run that a recording repeats.
    pub(crate) fn recorded(
        recording: &Recording,
        tracing: Tracing,
        at: Option<NonZeroU64>,
    ) -> Result<Run> {
        let invocation = &recording.invocation;
        let mut run = crate::parse_run(invocation.arguments())?;
        run.file_and_args[0] = invocation.path(&run.file_and_args[0]).into();
        for (_, file) in &mut run.preloads {
            *file = invocation.path(&*file);
        }
        // The recording contains what the host returned, and there is no time limit.
        (run.directories, run.environment) = (Vec::new(), Vec::new());
        (run.timeout, run.record, run.max_recorded) = (None, None, None);
        (run.profiling, run.failure) = (Profiling::default(), FailureOutputs::default());
        run.snapshots = run.snapshots.replayed();
        run.tracing = tracing.until(at);
        Ok(run)
    }

    /// Repeats a run with the recorded results of host calls.
    pub(crate) fn replay(self, calls: BufReader<File>, recording: &Path) -> Result<ExitCode> {
        let read = [self.modules(), vec![recording]].concat();
        output::check_all(&self.outputs(), &read)?;
        let mut context = self.context()?;
        context.replay(calls)?;
        self.execute_with(&mut context)
    }

    /// The run that continues a saved program, with new outputs.
    pub(crate) fn saved(
        saved: &SavedProgram,
        output: Option<PathBuf>,
        tracing: Tracing,
        profiling: Profiling,
    ) -> Result<Run> {
        let invocation = &saved.program.invocation;
        let mut run = crate::parse_run(invocation.arguments())?;
        for (host, _) in &mut run.directories {
            *host = invocation.path(&*host);
        }
        let path = |path: PathBuf| match output::is_stdout(&path) {
            true => path,
            false => invocation.path(&path),
        };
        run.snapshots = run.snapshots.map_output(|old| output.unwrap_or_else(|| path(old)));
        run.failure = run.failure.map_paths(path);
        run.profiling = profiling.of_resumed(run.is_interruptible())?;
        run.tracing = tracing.of_resumed(&run.tracing)?;
        if run.record.take().is_some() {
            color::print(
                "warning: --record is ignored, since a recording must begin at the start of the \
                 program",
            );
        }
        Ok(run)
    }

    /// Whether code is compiled for interruption.
    fn is_interruptible(&self) -> bool {
        self.timeout.is_some() || self.profiling.is_on() || self.snapshots.signal().is_some()
    }

    /// Continues the program that was saved to `file`. Only the next snapshot may replace
    /// that file.
    pub(crate) fn resume(self, saved: &SavedProgram, file: &Path) -> Result<ExitCode> {
        output::check_all(&self.outputs(), &[])?;
        for output in self.outputs_without_snapshot() {
            output.check_is_none_of(&[file])?;
        }
        let engine = self.engine()?;
        let modules = saved.program.modules.iter();
        let modules = modules.map(|(name, bytes)| input::module_of_bytes(&engine, name, bytes));
        let modules = modules.collect::<Result<Vec<Module>>>()?;
        let mut linker = Linker::new(&engine);
        ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx)?;
        let mut context = self.context()?;
        let context = context.restore(&saved.wasi()?)?;
        let mut restored = saved.snapshot()?.restore(&linker, &modules, context)?;
        let continuation = restored.continuation(MAIN).ok();
        let instance = restored.instance(MAIN).ok();
        let (call, store) = (restored.calls.pop(), &mut restored.store);
        self.prepare(store)?;
        let points = self.snapshots.prepare(store, || Ok(saved.program.clone()))?;
        let resumed = self.continue_in(store, call, continuation.zip(instance), points);
        let results = timeout::run(self.timeout, resumed);
        Ok(self.finish(store, results))
    }

    /// Continues a call that a signal stopped, or a continuation that suspended with the tag.
    async fn continue_in(
        &self,
        store: &mut Store<WasiCtx>,
        call: Option<RestoredCall>,
        suspended: Option<(Continuation, Instance)>,
        points: Option<SnapshotPoints>,
    ) -> Result<Vec<Val>> {
        match (call, suspended, points) {
            (Some(call), ..) if self.timeout.is_some() => call.resume_async(store, &[]).await,
            (Some(call), ..) => call.resume(store, &[]),
            (None, Some((continuation, instance)), Some(mut points)) => {
                self.snapshots.find_tag(&mut points, store, instance)?;
                points.resume(store, continuation, &[], self.timeout.is_some()).await
            }
            _ => bail!("the snapshot contains no running program"),
        }
    }

    fn execute_with(self, context: &mut WasiCtxBuilder) -> Result<ExitCode> {
        let engine = self.engine()?;
        let module = input::module(&engine, self.file())?;
        self.snapshots.check(&module)?;
        let preloads = self.preloads.iter();
        let preloads = preloads.map(|(name, file)| Ok((&**name, input::module(&engine, file)?)));
        let preloads: Vec<(&str, Module)> = preloads.collect::<Result<_>>()?;
        let mut store = Store::new(&engine, context.build());
        self.prepare(&mut store)?;
        let points = self.snapshots.prepare(&mut store, || Program::new(&self.modules()))?;
        let run = self.run(&mut store, &module, &preloads, points);
        let results = timeout::run(self.timeout, run);
        Ok(self.finish(&mut store, results))
    }

    /// Applies the options to a store.
    fn prepare(&self, store: &mut Store<WasiCtx>) -> Result<()> {
        if let Some(fuel) = self.fuel {
            store.set_fuel(fuel)?;
        }
        if let Some(timeout) = self.timeout {
            store.set_timeout(timeout)?;
        }
        self.failure.prepare(store);
        self.tracing.start(store, self.file(), self.max_recorded)?;
        self.profiling.start(store)
    }

    /// Prints the results or the error, and writes the outputs. Returns the program's exit code,
    /// unless it succeeded and an output could not be written.
    fn finish(&self, store: &mut Store<WasiCtx>, results: Result<Vec<Val>>) -> ExitCode {
        let mut written = vec![
            self.tracing.write(store, self.file()),
            self.profiling.write(store, self.file()),
            self.finish_recording(store),
        ];
        let mut code = match results {
            Ok(results) => {
                written.push(print(&results, store));
                ExitCode::SUCCESS
            }
            Err(error) => {
                let code = errors::report(&error);
                if !error.is::<Suspended>() {
                    written.extend(self.failure.write(store, self.file(), &error));
                }
                code
            }
        };
        for error in written.into_iter().filter_map(Result::err) {
            errors::print(&error);
            if code == ExitCode::SUCCESS {
                code = ExitCode::from(errors::INPUT_ERROR);
            }
        }
        code
    }

    fn finish_recording(&self, store: &mut Store<WasiCtx>) -> Result<()> {
        let finished = store.data_mut().finish_recording();
        match self.recording() {
            Some(output) => finished.with_context(|| output.cannot()),
            None => finished,
        }
    }

    /// Runs the program; returns the results of the function that `--invoke` names.
    async fn run(
        &self,
        store: &mut Store<WasiCtx>,
        module: &Module,
        preloads: &[(&str, Module)],
        mut points: Option<SnapshotPoints>,
    ) -> Result<Vec<Val>> {
        let mut linker = Linker::new(store.engine());
        ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx)?;
        for ((name, module), (_, file)) in preloads.iter().zip(&self.preloads) {
            let instance = self
                .preload(&linker, store, file, module)
                .await
                .with_context(|| format!("in the preloaded {}", input::name(file)))?;
            linker.instance(&mut *store, name, instance)?;
        }
        let instance = self.instantiate(&linker, store, self.file(), module).await?;
        let name = self.invoke.as_deref().unwrap_or(START);
        let func = instance
            .get_func(&mut *store, name)
            .with_context(|| self.no_such_function(name, module))?;
        if self.invoke.is_some() {
            self.initialize(store, instance).await?;
        }
        let arguments = self.arguments(func.ty(&*store)?, name)?;
        if let Some(points) = &mut points {
            self.snapshots.find_tag(points, store, instance)?;
        }
        match points.filter(SnapshotPoints::has_tag) {
            Some(points) => points.call(store, func, &arguments, self.timeout.is_some()).await,
            None => self.call(store, func, &arguments).await,
        }
    }

    fn file(&self) -> &Path {
        Path::new(&self.file_and_args[0])
    }

    fn engine(&self) -> Result<Engine> {
        self.snapshots.block_signal()?;
        let mut config = Config::new();
        config.consume_fuel(self.fuel.is_some());
        self.tracing.configure(&mut config);
        if let Some(bytes) = self.max_memory {
            config.max_memory(bytes);
        }
        if let Some(bytes) = self.max_total_memory {
            // The total counts tables too, so they need no limit of their own.
            config.max_total_memory(bytes).max_total_table_elements(u64::MAX);
        }
        if let Some(bytes) = self.max_heap {
            config.max_heap(usize::try_from(bytes)?);
        }
        if let Some(bytes) = self.stack_size {
            config.max_wasm_stack(usize::try_from(bytes)?);
        }
        if let Some(bytes) = self.max_stack_memory {
            config.max_stack_memory(usize::try_from(bytes)?);
        }
        config.interruption(self.timeout.is_some());
        self.profiling.configure(&mut config);
        self.snapshots.configure(&mut config);
        if !self.no_cache {
            // The cache is optional.
            config.cache(Cache::of_user().ok());
        }
        Engine::new(&config)
    }

    /// What the options grant to the program.
    fn context(&self) -> Result<WasiCtxBuilder> {
        let mut builder = WasiCtx::builder();
        builder.inherit_stdio().end_on_broken_pipe(true).saveable(self.snapshots.is_on());
        if let Some(count) = self.max_descriptors {
            builder.max_descriptors(count);
        }
        let name = self.file().file_name().unwrap_or(self.file().as_os_str());
        builder.arg(name.as_bytes());
        if self.invoke.is_none() {
            for argument in &self.file_and_args[1..] {
                builder.arg(argument.as_bytes());
            }
        }
        for variable in &self.environment {
            if let Some((name, value)) = assignment(variable)? {
                builder.env(name.as_bytes(), value.as_bytes());
            }
        }
        for (host, guest) in &self.directories {
            builder.preopened_dir(host, guest, DirPerms::all(), FilePerms::all())?;
        }
        Ok(builder)
    }

    /// The arguments of the function that `--invoke` names. A program reads its own.
    fn arguments(&self, ty: FuncType, name: &str) -> Result<Vec<Val>> {
        if self.invoke.is_none() {
            return Ok(Vec::new());
        }
        let typed: Option<Vec<&str>> =
            self.file_and_args[1..].iter().map(|argument| argument.to_str()).collect();
        values::parse::parse(name, &ty, &typed.context("an argument is not text in UTF-8")?)
    }

    /// Calls a function, asynchronously if there is a time limit, so that the call can be
    /// interrupted while it waits for the host.
    async fn call(
        &self,
        store: &mut Store<WasiCtx>,
        func: Func,
        arguments: &[Val],
    ) -> Result<Vec<Val>> {
        let mut results = vec![Val::I32(0); func.ty(&*store)?.results().len()];
        match self.timeout {
            None => func.call(store, arguments, &mut results)?,
            Some(_) => func.call_async(store, arguments, &mut results).await?,
        }
        Ok(results)
    }

    /// Instantiates a module. The error of missing imports lists all of them.
    async fn instantiate(
        &self,
        linker: &Linker<WasiCtx>,
        store: &mut Store<WasiCtx>,
        file: &Path,
        module: &Module,
    ) -> Result<Instance> {
        let instance = match self.timeout {
            None => linker.instantiate(&mut *store, module),
            Some(_) => linker.instantiate_async(&mut *store, module).await,
        };
        instance.map_err(|error| {
            let missing = |import: &ropewalk::ImportType<'_>| {
                linker.get(&mut *store, import.module(), import.name()).is_none()
            };
            missing_imports::explain(error, &input::name(file), module.imports().filter(missing))
        })
    }

    async fn preload(
        &self,
        linker: &Linker<WasiCtx>,
        store: &mut Store<WasiCtx>,
        file: &Path,
        module: &Module,
    ) -> Result<Instance> {
        let instance = self.instantiate(linker, store, file, module).await?;
        self.initialize(store, instance).await?;
        Ok(instance)
    }

    /// Calls the initialization function of a library, if it has one.
    async fn initialize(&self, store: &mut Store<WasiCtx>, instance: Instance) -> Result<()> {
        if let Some(func) = instance.get_func(&mut *store, INITIALIZE) {
            self.call(store, func, &[]).await?;
        }
        Ok(())
    }

    fn no_such_function(&self, name: &str, module: &Module) -> String {
        let file = input::name(self.file());
        let functions = exported_functions(module);
        if functions.is_empty() {
            return format!("{file} does not export a function");
        }
        let hint = if self.invoke.is_none() { "; use --invoke to choose another" } else { "" };
        let functions = functions.join(", ");
        format!("{file} does not export a function `{name}`{hint}. It exports: {functions}")
    }
}

/// Prints results, one per line.
fn print(results: &[Val], store: &Store<WasiCtx>) -> Result<()> {
    for result in results {
        stdout::line(values::print::format(result, store)?)?;
    }
    Ok(())
}

/// Parses `NAME=VALUE`, or returns the variable `NAME` of this process, if it is set.
fn assignment(variable: &OsString) -> Result<Option<(OsString, OsString)>> {
    let bytes = variable.as_bytes();
    let split = bytes.iter().position(|byte| *byte == b'=');
    let name = OsStr::from_bytes(&bytes[..split.unwrap_or(bytes.len())]);
    ensure!(!name.is_empty(), "--env {}: expected NAME=VALUE", variable.display());
    let value = match split {
        Some(split) => Some(OsStr::from_bytes(&bytes[split + 1..]).to_owned()),
        None => std::env::var_os(name),
    };
    Ok(value.map(|value| (name.to_owned(), value)))
}

fn exported_functions(module: &Module) -> Vec<String> {
    let exports = module.exports();
    let functions = exports.filter(|export| matches!(export.ty(), ExternType::Func(_)));
    functions.map(|export| escape::name(export.name()).into_owned()).collect()
}
