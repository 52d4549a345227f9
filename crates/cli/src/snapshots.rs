//! When a program is written down, and what becomes of it then.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, bail, ensure};
use clap::Args;
use nix::sys::signal::{SigSet, Signal};
use ropewalk::{
    Config, Continuation, ExternType, Func, Instance, Module, Result, Resumed, Snapshot,
    SnapshotOptions, Store, Tag, Val,
};
use ropewalk_wasi::WasiCtx;

use crate::files::Output;
use crate::suspended::Program;
use crate::{colour, plain};

/// The name of what the host has of a program: its instance, and the rest of it.
const MAIN: &str = "main";

/// The options for writing a program down.
#[derive(Args, Default)]
pub(crate) struct Snapshots {
    /// Writes the program down when the process gets a signal, such as SIGUSR1, or when the
    /// program suspends with a tag that it exports under this name; then the program ends
    /// here, and `ropewalk resume` goes on with it. A name of a signal has its SIG.
    #[arg(long, value_name = "SIGNAL|TAG", value_parser = when, requires = "output")]
    snapshot_on: Option<When>,

    /// The file that the program is written to, each time anew.
    #[arg(short = 'o', long = "snapshot-output", value_name = "FILE", requires = "snapshot_on")]
    output: Option<PathBuf>,

    /// The program goes on here as well after it was written down.
    #[arg(long, requires = "snapshot_on")]
    snapshot_and_go_on: bool,

    /// Whether a recording is replayed. Nothing is written down then.
    #[arg(skip)]
    is_replayed: bool,
}

/// When a program is written down.
#[derive(Clone, Debug)]
enum When {
    Signal(Signal),
    /// When it suspends with the tag of this name.
    Tag(String),
}

/// A name of a signal is one of the kernel's, with its `SIG`; any other is a tag's.
fn when(name: &str) -> Result<When> {
    let Ok(signal) = name.parse() else { return Ok(When::Tag(name.to_owned())) };
    match signal {
        Signal::SIGKILL | Signal::SIGSTOP => {
            bail!("no process can wait for {name}; use another one, such as SIGUSR1 or SIGTERM")
        }
        Signal::SIGSEGV | Signal::SIGBUS | Signal::SIGILL | Signal::SIGFPE => bail!(
            "by {name} the engine learns of traps of the program; use another one, such as SIGUSR1"
        ),
        _ => Ok(When::Signal(signal)),
    }
}

/// The program ends here, since it was written down.
#[derive(Debug)]
pub(crate) enum Asleep {
    Written(PathBuf),
    /// It did so when it was recorded.
    Replayed,
}

impl std::fmt::Display for Asleep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Asleep::Written(path) => {
                let path = path.display();
                write!(f, "the program was written to {path}; `ropewalk resume {path}` goes on")
            }
            Asleep::Replayed => {
                f.write_str("when it was recorded, the program was written down here, and ended")
            }
        }
    }
}

impl std::error::Error for Asleep {}

/// How a program is written down, each time.
struct How {
    program: Program,
    output: PathBuf,
    goes_on: bool,
}

impl How {
    /// Writes the program down. Fails if it is to end here. If it cannot be written down, that
    /// is said, and it goes on: it would be lost.
    fn write(&self, snapshot: Result<Snapshot>, context: &WasiCtx) -> Result<()> {
        let output = Output { what: WHAT, path: &self.output };
        let written = snapshot.and_then(|it| self.program.write(&output, &it, context));
        match written {
            Ok(()) if self.goes_on => Ok(()),
            Ok(()) => Err(Asleep::Written(self.output.clone()).into()),
            Err(error) => {
                colour::print(&format!(
                    "warning: the program was not written down, and goes on: {error:#}"
                ));
                Ok(())
            }
        }
    }
}

/// How messages call what is written.
const WHAT: &str = "the snapshot";

/// A program that is written down.
pub(crate) struct Writing {
    /// Nothing if a recording is replayed.
    how: Option<Arc<How>>,
    goes_on: bool,
    /// The tag that it suspends with for that, and the instance that exports it.
    tag: Option<(Tag, Instance)>,
}

fn only(signal: Signal) -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(signal);
    signals
}

impl Snapshots {
    /// The options for a program that is replayed. Signals are not recorded; at its tag the
    /// program goes on, or ends, as it did.
    pub(crate) fn replayed(self) -> Snapshots {
        match self.signal() {
            Some(_) => Snapshots::default(),
            None => Snapshots { is_replayed: true, ..self },
        }
    }

    /// The options for a program that goes on, with the path from wherever that is.
    pub(crate) fn with_output(self, output: impl FnOnce(PathBuf) -> PathBuf) -> Snapshots {
        Snapshots { output: self.output.map(output), ..self }
    }

    /// What is written.
    pub(crate) fn output(&self) -> Option<Output<'_>> {
        let path = self.output.as_deref().filter(|_| self.is_on())?;
        Some(Output { what: WHAT, path })
    }

    /// Keeps the signal from ending the process. This comes before there are other threads,
    /// which are then kept from it too.
    pub(crate) fn block_signal(&self) -> Result<()> {
        match self.signal() {
            Some(signal) => {
                let blocked = only(signal).thread_block();
                blocked.with_context(|| format!("cannot wait for {signal}"))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn configure(&self, config: &mut Config) {
        if self.is_on() {
            config.snapshots(true);
        }
        if self.signal().is_some() {
            config.interruption(true);
        }
    }

    /// Whether the program is written down.
    pub(crate) fn is_on(&self) -> bool {
        self.snapshot_on.is_some() && !self.is_replayed
    }

    /// The signal at which it is.
    pub(crate) fn signal(&self) -> Option<Signal> {
        match self.snapshot_on {
            Some(When::Signal(signal)) => Some(signal),
            _ => None,
        }
    }

    fn tag(&self) -> Option<&str> {
        match &self.snapshot_on {
            Some(When::Tag(name)) => Some(name),
            _ => None,
        }
    }

    /// Fails unless a module has the tag with which it is to suspend.
    pub(crate) fn check(&self, module: &Module) -> Result<()> {
        let Some(name) = self.tag() else { return Ok(()) };
        let Some(ExternType::Tag(ty)) = module.get_export(name) else {
            bail!("--snapshot-on {name}: {}", no_such_tag(name, module));
        };
        ensure!(
            ty.ty.results().is_empty(),
            "--snapshot-on {name}: nobody would know the results of the tag, which are {}",
            ty.ty
        );
        Ok(())
    }

    /// Lets the signal write the program down, if it is one.
    pub(crate) fn prepare(
        &self,
        store: &mut Store<WasiCtx>,
        program: impl FnOnce() -> Result<Program>,
    ) -> Result<Option<Writing>> {
        let (Some(_), Some(output)) = (&self.snapshot_on, &self.output) else { return Ok(None) };
        let (output, goes_on) = (output.clone(), self.snapshot_and_go_on);
        if self.is_replayed {
            return Ok(Some(Writing { how: None, goes_on, tag: None }));
        }
        let how = Arc::new(How { program: program()?, output, goes_on });
        if let Some(signal) = self.signal() {
            write_on(signal, store, how.clone())?;
        }
        Ok(Some(Writing { how: Some(how), goes_on, tag: None }))
    }

    /// Finds the tag that the program suspends with to be written down, if there is one.
    pub(crate) fn find_tag(
        &self,
        writing: &mut Writing,
        store: &mut Store<WasiCtx>,
        instance: Instance,
    ) -> Result<()> {
        if let Some(name) = self.tag() {
            let tag = instance.get_tag(store, name).context("the module has lost its tag")?;
            writing.tag = Some((tag, instance));
        }
        Ok(())
    }
}

/// Says which tags there are instead of one that is not there.
fn no_such_tag(name: &str, module: &Module) -> String {
    let exports = module.exports().filter(|export| matches!(export.ty(), ExternType::Tag(_)));
    let tags: Vec<_> = exports.map(|export| plain::name(export.name()).into_owned()).collect();
    let tags = if tags.is_empty() { "none".to_owned() } else { tags.join(", ") };
    let upper = name.to_ascii_uppercase();
    let signal = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    let hint = match signal.parse::<Signal>() {
        Ok(signal) => format!("; the signal is {signal}"),
        Err(_) => String::new(),
    };
    format!(
        "it is no signal, such as SIGUSR1, and the module exports no such tag. The tags that it \
         exports: {tags}{hint}"
    )
}

/// Writes the program down when a signal comes. A thread of its own waits for it, so that no
/// handler runs while WebAssembly does.
fn write_on(signal: Signal, store: &mut Store<WasiCtx>, how: Arc<How>) -> Result<()> {
    let handle = store.on_snapshot_request(SnapshotOptions::new(), move |store, snapshot| {
        how.write(snapshot, store.data())
    })?;
    let signals = only(signal);
    std::thread::Builder::new().name("signals".to_string()).spawn(move || {
        while signals.wait().is_ok() {
            handle.request();
        }
    })?;
    Ok(())
}

impl Writing {
    /// Whether the program suspends to be written down.
    pub(crate) fn is_by_tag(&self) -> bool {
        self.tag.is_some()
    }

    /// Calls a function that suspends with the tag.
    pub(crate) async fn call(
        &self,
        store: &mut Store<WasiCtx>,
        func: Func,
        arguments: &[Val],
        is_polled: bool,
    ) -> Result<Vec<Val>> {
        let continuation = Continuation::new(&mut *store, func)?;
        self.resume(store, continuation, arguments, is_polled).await
    }

    /// Continues a program that was written down so. Only if it is polled, it is given up while
    /// it waits.
    pub(crate) async fn resume(
        &self,
        store: &mut Store<WasiCtx>,
        mut continuation: Continuation,
        arguments: &[Val],
        is_polled: bool,
    ) -> Result<Vec<Val>> {
        let tags: Vec<Tag> = self.tag.iter().map(|(tag, _)| *tag).collect();
        let mut arguments = arguments.to_vec();
        loop {
            let resumed = match is_polled {
                true => continuation.resume_on_async(&mut *store, &tags, &arguments).await?,
                false => continuation.resume_on(&mut *store, &tags, &arguments)?,
            };
            match resumed {
                Resumed::Returned(results) => return Ok(results),
                Resumed::Suspended { continuation: rest, .. } => {
                    self.suspended(store, &rest)?;
                    (continuation, arguments) = (rest, Vec::new());
                }
            }
        }
    }

    /// Writes down a program that has suspended with the tag, unless it is replayed. Fails if it
    /// ends here.
    fn suspended(&self, store: &mut Store<WasiCtx>, rest: &Continuation) -> Result<()> {
        let Some(how) = &self.how else {
            let ends = !self.goes_on && store.data_mut().has_replayed_all();
            return if ends { Err(Asleep::Replayed.into()) } else { Ok(()) };
        };
        let mut options = SnapshotOptions::new();
        if let Some((_, instance)) = self.tag {
            options.name_instance(MAIN, instance);
        }
        let snapshot = store.snapshot(options.name_continuation(MAIN, rest));
        how.write(snapshot, store.data())
    }

    /// The name of what the host has of a program.
    pub(crate) fn held() -> &'static str {
        MAIN
    }
}
