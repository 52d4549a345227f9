//! `ropewalk run`: runs a program.

use std::ffi::OsString;
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

use crate::files::Output;
use crate::literal::shown;
use crate::post_mortem::PostMortem;
use crate::profiling::Profiling;
use crate::recording::Recording;
use crate::snapshots::{Asleep, Snapshots, Writing};
use crate::suspended::{Program, Suspended};
use crate::tracing::Tracing;
use crate::{argument, colour, diagnostic, files, imports, input, output, plain, timeout};

/// The function that a program starts with.
const START: &str = "_start";

/// The function that a library is to be begun with.
const INITIALIZE: &str = "_initialize";

/// Run a program, or call a function of a module and print its results one per
/// line.
///
/// Programs can use WASI preview 1. They see nothing of this machine but what the
/// options say: no files without --dir, no environment without --env.
///
/// Options stand before the file. Everything after it belongs to the program. The
/// exit code is the program's.
#[derive(Args)]
pub(crate) struct Run {
    /// Lets the program use a directory, with all that is in it: as `HOST`, or
    /// under a name of its own.
    #[arg(long = "dir", value_name = "HOST[::GUEST]", value_parser = directory)]
    directories: Vec<(PathBuf, String)>,

    /// Sets a variable of the program's environment; without a value, to the one
    /// that it has here, if it is set here.
    #[arg(long = "env", value_name = "NAME[=VALUE]")]
    environment: Vec<OsString>,

    /// The exported function to call, instead of `_start`. ARGS are its arguments,
    /// by its types: integers (-7, 0xff), floats (0.5, inf, nan), vectors (0xff,
    /// i32x4:1,2,3,4), `null`.
    #[arg(long, value_name = "NAME")]
    invoke: Option<String>,

    /// Instantiates a module first, from whose exports imports of NAME are taken.
    #[arg(long = "preload", value_name = "NAME=FILE", value_parser = preload)]
    preloads: Vec<(String, PathBuf)>,

    /// How large a linear memory may become: a number of bytes, or one with K, M
    /// or G.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_memory: Option<u64>,

    /// How large all linear memories and tables of the program may become together: if nothing
    /// is said, memories three quarters of the machine's memory, and tables a quarter.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_total_memory: Option<u64>,

    /// How large the objects of the program may become: 4G if nothing is said, or a quarter of
    /// the machine's memory if that is less.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_heap: Option<u64>,

    /// How many files, directories and sockets the program may have open, its standard streams
    /// among them.
    #[arg(long, value_name = "COUNT")]
    max_descriptors: Option<usize>,

    /// How large the recording and the trace may each become: what comes later is left out.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_recorded: Option<u64>,

    /// How large each stack of the program may become: 64M if nothing is said.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    stack_size: Option<u64>,

    /// How large all stacks of the program together may become: half of the machine's memory
    /// if nothing is said.
    #[arg(long, value_name = "BYTES", value_parser = size)]
    max_stack_memory: Option<u64>,

    /// How much the program may execute: about as many instructions. The same program
    /// always needs the same.
    #[arg(long, value_name = "UNITS")]
    fuel: Option<u64>,

    /// How long the program may run: a number of seconds, or one with ms, s, m or h.
    #[arg(long, value_name = "TIME", value_parser = timeout::parse)]
    timeout: Option<Duration>,

    /// Records what the program gets from its host, for `ropewalk replay`.
    #[arg(long, value_name = "FILE")]
    record: Option<PathBuf>,

    #[command(flatten)]
    snapshots: Snapshots,

    #[command(flatten)]
    tracing: Tracing,

    #[command(flatten)]
    profiling: Profiling,

    #[command(flatten)]
    post_mortem: PostMortem,

    /// Compiles the program, and does not look for it among those that were compiled
    /// before (in `ropewalk` of $XDG_CACHE_HOME or ~/.cache).
    #[arg(long)]
    no_cache: bool,

    /// The module, as text (.wat), binary (.wasm) or compiled (.cwasm), or `-` for the
    /// standard input; and the arguments of the program.
    #[arg(value_names = ["FILE", "ARGS"], required = true, trailing_var_arg = true)]
    file_and_args: Vec<OsString>,
}

/// Two names, of which the second may be missing.
fn directory(text: &str) -> Result<(PathBuf, String)> {
    let (host, guest) = text.split_once("::").unwrap_or((text, text));
    ensure!(!host.is_empty() && !guest.is_empty(), "expected HOST or HOST::GUEST");
    Ok((host.into(), guest.to_owned()))
}

fn preload(text: &str) -> Result<(String, PathBuf)> {
    let (name, file) = text.split_once('=').context("expected NAME=FILE")?;
    Ok((name.to_owned(), file.into()))
}

/// A number of bytes.
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
    number.checked_mul(1 << shift).context("expected a number of bytes that fits in 64 bits")
}

impl Run {
    pub(crate) fn execute(self) -> Result<ExitCode> {
        files::check_all(&self.outputs(), &self.modules())?;
        let mut context = self.context()?;
        if let Some(output) = self.recording() {
            let recording = Recording::new(crate::arguments(), &self.modules())?;
            context.record(recording.create(&output, self.max_recorded)?)?;
        }
        self.execute_with(&mut context)
    }

    /// The files of the modules, the program's first.
    fn modules(&self) -> Vec<&Path> {
        let preloads = self.preloads.iter().map(|(_, file)| &**file);
        std::iter::once(self.file()).chain(preloads).collect()
    }

    fn recording(&self) -> Option<Output<'_>> {
        Some(Output { what: "the recording", path: self.record.as_deref()? })
    }

    /// All that is written beside what the program writes.
    fn outputs(&self) -> Vec<Output<'_>> {
        self.outputs_but_snapshot().chain(self.snapshots.output()).collect()
    }

    fn outputs_but_snapshot(&self) -> impl Iterator<Item = Output<'_>> {
        let written = [self.recording(), self.tracing.output(), self.profiling.output()];
        written.into_iter().flatten().chain(self.post_mortem.outputs())
    }

    /// The run that was recorded, from wherever it is run again.
    pub(crate) fn recorded(
        recording: &Recording,
        tracing: Tracing,
        at: Option<NonZeroU64>,
    ) -> Result<Run> {
        let mut run = crate::parse_run(recording.arguments())?;
        run.file_and_args[0] = recording.path(&run.file_and_args[0]).into();
        for (_, file) in &mut run.preloads {
            *file = recording.path(file.as_os_str());
        }
        // The program gets what it got then, and may take its time.
        (run.directories, run.environment) = (Vec::new(), Vec::new());
        (run.timeout, run.record, run.max_recorded) = (None, None, None);
        (run.profiling, run.post_mortem) = (Profiling::default(), PostMortem::default());
        run.snapshots = run.snapshots.replayed();
        run.tracing = tracing.until(at);
        Ok(run)
    }

    /// Runs the program again, with what it got from its host then.
    pub(crate) fn replay(self, calls: BufReader<File>, recording: &Path) -> Result<ExitCode> {
        let read = [self.modules(), vec![recording]].concat();
        files::check_all(&self.outputs(), &read)?;
        let mut context = self.context()?;
        context.replay(calls)?;
        self.execute_with(&mut context)
    }

    /// The run that was written down, from wherever it goes on. What it has written is not
    /// written again: it has new traces and profiles, and a new snapshot perhaps.
    pub(crate) fn suspended(
        suspended: &Suspended,
        output: Option<PathBuf>,
        tracing: Tracing,
        profiling: Profiling,
    ) -> Result<Run> {
        let program = &suspended.program;
        let mut run = crate::parse_run(program.arguments())?;
        for (host, _) in &mut run.directories {
            *host = program.path(host);
        }
        let path = |path: PathBuf| match files::is_stdout(&path) {
            true => path,
            false => program.path(&path),
        };
        run.snapshots = run.snapshots.with_output(|old| output.unwrap_or_else(|| path(old)));
        run.post_mortem = run.post_mortem.with_paths(path);
        run.profiling = profiling.after(run.can_be_interrupted())?;
        run.tracing = tracing.after(&run.tracing)?;
        if run.record.take().is_some() {
            colour::print(
                "warning: what the program gets from now on is not recorded, \
                 since a recording begins where a program begins",
            );
        }
        Ok(run)
    }

    /// Whether the code is such that it can be interrupted.
    fn can_be_interrupted(&self) -> bool {
        self.timeout.is_some() || self.profiling.is_on() || self.snapshots.signal().is_some()
    }

    /// Goes on with a program that was written down, in a file that may be written anew.
    pub(crate) fn resume(self, suspended: &Suspended, file: &Path) -> Result<ExitCode> {
        files::check_all(&self.outputs(), &[])?;
        for output in self.outputs_but_snapshot() {
            output.check_is_none_of(&[file])?;
        }
        let engine = self.engine()?;
        let modules = suspended.program.modules().iter();
        let modules = modules.map(|(name, bytes)| input::module_again(&engine, name, bytes));
        let modules = modules.collect::<Result<Vec<Module>>>()?;
        let mut linker = Linker::new(&engine);
        ropewalk_wasi::add_to_linker(&mut linker, |ctx| ctx)?;
        let mut context = self.context()?;
        let context = context.restore(&suspended.wasi()?)?;
        let mut restored = suspended.snapshot()?.restore(&linker, &modules, context)?;
        let held = restored.continuation(Writing::held()).ok();
        let instance = restored.instance(Writing::held()).ok();
        let (call, store) = (restored.calls.pop(), &mut restored.store);
        self.prepare(store)?;
        let writing = self.snapshots.prepare(store, || Ok(suspended.program.clone()))?;
        let rest = self.go_on(store, call, held.zip(instance), writing);
        let results = timeout::run(self.timeout, rest);
        Ok(self.finish(store, results))
    }

    /// Goes on with a call, or with what the host held.
    async fn go_on(
        &self,
        store: &mut Store<WasiCtx>,
        call: Option<RestoredCall>,
        held: Option<(Continuation, Instance)>,
        writing: Option<Writing>,
    ) -> Result<Vec<Val>> {
        match (call, held, writing) {
            (Some(call), ..) if self.timeout.is_some() => call.resume_async(store, &[]).await,
            (Some(call), ..) => call.resume(store, &[]),
            (None, Some((held, instance)), Some(mut writing)) => {
                self.snapshots.find_tag(&mut writing, store, instance)?;
                writing.resume(store, held, &[], self.timeout.is_some()).await
            }
            _ => bail!("nothing ran when it was written down"),
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
        let writing = self.snapshots.prepare(&mut store, || self.program())?;
        let run = self.run(&mut store, &module, &preloads, writing);
        let results = timeout::run(self.timeout, run);
        Ok(self.finish(&mut store, results))
    }

    /// The program, to be written down.
    fn program(&self) -> Result<Program> {
        Program::new(crate::arguments(), &self.modules())
    }

    /// Readies a store for the program.
    fn prepare(&self, store: &mut Store<WasiCtx>) -> Result<()> {
        if let Some(fuel) = self.fuel {
            store.set_fuel(fuel)?;
        }
        if let Some(timeout) = self.timeout {
            store.set_timeout(timeout)?;
        }
        self.post_mortem.prepare(store);
        self.tracing.prepare(store, self.file(), self.max_recorded)?;
        self.profiling.prepare(store)
    }

    /// Shows how the program has ended, and writes what is to be written of it. The exit code is
    /// the program's, unless it succeeded and something could not be written.
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
                let code = diagnostic::report(&error);
                if !error.is::<Asleep>() {
                    written.extend(self.post_mortem.write(store, self.file(), &error));
                }
                code
            }
        };
        for error in written.into_iter().filter_map(Result::err) {
            diagnostic::print(&error);
            if code == ExitCode::SUCCESS {
                code = ExitCode::from(diagnostic::INPUT_ERROR);
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

    /// Runs the program; returns the results of a function that was chosen.
    async fn run(
        &self,
        store: &mut Store<WasiCtx>,
        module: &Module,
        preloads: &[(&str, Module)],
        mut writing: Option<Writing>,
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
        if let Some(writing) = &mut writing {
            self.snapshots.find_tag(writing, store, instance)?;
        }
        match writing.filter(Writing::is_by_tag) {
            Some(writing) => writing.call(store, func, &arguments, self.timeout.is_some()).await,
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
            // Without one, programs run all the same.
            config.cache(Cache::of_user().ok());
        }
        Engine::new(&config)
    }

    /// What the program gets to see.
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

    /// The arguments of the function that was chosen. A program's are read by itself.
    fn arguments(&self, ty: FuncType, name: &str) -> Result<Vec<Val>> {
        if self.invoke.is_none() {
            return Ok(Vec::new());
        }
        let typed: Option<Vec<&str>> =
            self.file_and_args[1..].iter().map(|argument| argument.to_str()).collect();
        argument::parse(name, &ty, &typed.context("an argument is not text in UTF-8")?)
    }

    /// Calls a function. Only one that must end in time is given up while it waits;
    /// any other blocks this thread, which has nothing else to do.
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

    /// Makes an instance. If imports are missing, all of them are listed.
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
            imports::explain(error, &input::name(file), module.imports().filter(missing))
        })
    }

    /// An instance that others import from.
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

    /// Begins a library that asks for it. A program begins itself.
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
            return format!("{file} exports no function");
        }
        let hint = if self.invoke.is_none() { "; choose one with --invoke" } else { "" };
        format!("{file} exports no function `{name}`{hint}. It exports: {}", functions.join(", "))
    }
}

/// Prints results, one per line.
fn print(results: &[Val], store: &Store<WasiCtx>) -> Result<()> {
    for result in results {
        output::line(shown(result, store)?)?;
    }
    Ok(())
}

/// A variable with its value, given or inherited. Nothing if there is none to inherit.
fn assignment(variable: &OsString) -> Result<Option<(OsString, OsString)>> {
    let bytes = variable.as_bytes();
    let split = bytes.iter().position(|byte| *byte == b'=');
    let name = std::ffi::OsStr::from_bytes(&bytes[..split.unwrap_or(bytes.len())]);
    ensure!(!name.is_empty(), "--env {}: expected NAME=VALUE", variable.display());
    let value = match split {
        Some(split) => Some(std::ffi::OsStr::from_bytes(&bytes[split + 1..]).to_owned()),
        None => std::env::var_os(name),
    };
    Ok(value.map(|value| (name.to_owned(), value)))
}

fn exported_functions(module: &Module) -> Vec<String> {
    let exports = module.exports();
    let functions = exports.filter(|export| matches!(export.ty(), ExternType::Func(_)));
    functions.map(|export| plain::name(export.name()).into_owned()).collect()
}
