//! `--snapshot-on`: takes snapshots of a program at a signal or a tag.

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

use crate::errors::ended::Suspended;
use crate::files::output::Output;
use crate::files::saved_program::Program;
use crate::terminal::{color, escape};

/// The name of the program's instance and of its continuation in a snapshot.
pub(crate) const MAIN: &str = "main";

/// When to take snapshots, and where to write them.
#[derive(Args, Default)]
pub(crate) struct Snapshots {
    /// Takes a snapshot when the process receives a signal, such as SIGUSR1, or when the program
    /// suspends with a tag that it exports under this name. The program then ends, and
    /// `ropewalk resume` continues it. Signal names begin with SIG.
    #[arg(long, value_name = "SIGNAL|TAG", value_parser = trigger, requires = "output")]
    snapshot_on: Option<Trigger>,

    /// The file that each snapshot is written to.
    #[arg(short = 'o', long = "snapshot-output", value_name = "FILE", requires = "snapshot_on")]
    output: Option<PathBuf>,

    /// Continues the program after a snapshot instead of ending it.
    #[arg(long, alias = "snapshot-and-go-on", requires = "snapshot_on")]
    snapshot_and_continue: bool,

    /// Whether a recording is replayed, which takes no snapshots.
    #[arg(skip)]
    is_replayed: bool,
}

/// What triggers a snapshot.
#[derive(Clone, Debug)]
enum Trigger {
    Signal(Signal),
    /// A suspension with the tag of this name.
    Tag(String),
}

/// Parses the name of a signal, with its `SIG`; any other name names a tag.
fn trigger(name: &str) -> Result<Trigger> {
    let Ok(signal) = name.parse() else { return Ok(Trigger::Tag(name.to_owned())) };
    match signal {
        Signal::SIGKILL | Signal::SIGSTOP => {
            bail!("{name} cannot be caught: use another signal, such as SIGUSR1 or SIGTERM")
        }
        Signal::SIGSEGV | Signal::SIGBUS | Signal::SIGILL | Signal::SIGFPE => {
            bail!("{name} is reserved for traps: use another signal, such as SIGUSR1")
        }
        _ => Ok(Trigger::Signal(signal)),
    }
}

/// Takes the snapshots of a program.
struct Saver {
    program: Program,
    output: PathBuf,
    continues: bool,
}

impl Saver {
    /// Saves a snapshot. Fails if the program ends here. If saving fails, prints a warning and
    /// lets the program continue, since it would be lost.
    fn save(&self, snapshot: Result<Snapshot>, context: &WasiCtx) -> Result<()> {
        let output = Output { what: WHAT, path: &self.output };
        let saved = snapshot.and_then(|it| self.program.write(&output, &it, context));
        match saved {
            Ok(()) if self.continues => Ok(()),
            Ok(()) => Err(Suspended::Saved(self.output.clone()).into()),
            Err(error) => {
                color::print(&format!(
                    "warning: no snapshot was taken and the program continues: {error:#}"
                ));
                Ok(())
            }
        }
    }
}

/// The name of the output in messages.
const WHAT: &str = "the snapshot";

/// The tag and the saver of a program that takes snapshots.
pub(crate) struct SnapshotPoints {
    /// None in a replay.
    saver: Option<Arc<Saver>>,
    continues: bool,
    /// The tag that the program suspends with to be saved, and the instance that exports it.
    tag: Option<(Tag, Instance)>,
}

fn only(signal: Signal) -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(signal);
    signals
}

impl Snapshots {
    /// The options for a replay. Signals are not recorded. At its tag the program continues or
    /// ends as it did.
    pub(crate) fn replayed(self) -> Snapshots {
        match self.signal() {
            Some(_) => Snapshots::default(),
            None => Snapshots { is_replayed: true, ..self },
        }
    }

    /// The same options with another output.
    pub(crate) fn map_output(self, output: impl FnOnce(PathBuf) -> PathBuf) -> Snapshots {
        Snapshots { output: self.output.map(output), ..self }
    }

    pub(crate) fn output(&self) -> Option<Output<'_>> {
        let path = self.output.as_deref().filter(|_| self.is_on())?;
        Some(Output { what: WHAT, path })
    }

    /// Blocks the signal in this thread. Must be called before other threads start, so that
    /// they inherit the mask.
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

    pub(crate) fn is_on(&self) -> bool {
        self.snapshot_on.is_some() && !self.is_replayed
    }

    pub(crate) fn signal(&self) -> Option<Signal> {
        match self.snapshot_on {
            Some(Trigger::Signal(signal)) => Some(signal),
            _ => None,
        }
    }

    fn tag(&self) -> Option<&str> {
        match &self.snapshot_on {
            Some(Trigger::Tag(name)) => Some(name),
            _ => None,
        }
    }

    /// Fails unless the module exports the tag, without results.
    pub(crate) fn check(&self, module: &Module) -> Result<()> {
        let Some(name) = self.tag() else { return Ok(()) };
        let Some(ExternType::Tag(ty)) = module.get_export(name) else {
            bail!("--snapshot-on {name}: {}", no_such_tag(name, module));
        };
        ensure!(
            ty.ty.results().is_empty(),
            "--snapshot-on {name}: expected a tag without results, found {}",
            ty.ty
        );
        Ok(())
    }

    /// Starts waiting for the signal, if the trigger is one.
    pub(crate) fn prepare(
        &self,
        store: &mut Store<WasiCtx>,
        program: impl FnOnce() -> Result<Program>,
    ) -> Result<Option<SnapshotPoints>> {
        let (Some(_), Some(output)) = (&self.snapshot_on, &self.output) else { return Ok(None) };
        let (output, continues) = (output.clone(), self.snapshot_and_continue);
        if self.is_replayed {
            return Ok(Some(SnapshotPoints { saver: None, continues, tag: None }));
        }
        let saver = Arc::new(Saver { program: program()?, output, continues });
        if let Some(signal) = self.signal() {
            save_on(signal, store, saver.clone())?;
        }
        Ok(Some(SnapshotPoints { saver: Some(saver), continues, tag: None }))
    }

    /// Looks up the tag, if the trigger is one.
    pub(crate) fn find_tag(
        &self,
        points: &mut SnapshotPoints,
        store: &mut Store<WasiCtx>,
        instance: Instance,
    ) -> Result<()> {
        if let Some(name) = self.tag() {
            let tag = instance
                .get_tag(store, name)
                .context("the instance does not have the tag of its module")?;
            points.tag = Some((tag, instance));
        }
        Ok(())
    }
}

/// The message about a missing tag, with the tags that the module exports.
fn no_such_tag(name: &str, module: &Module) -> String {
    let exports = module.exports().filter(|export| matches!(export.ty(), ExternType::Tag(_)));
    let tags: Vec<_> = exports.map(|export| escape::name(export.name()).into_owned()).collect();
    let tags = if tags.is_empty() { "none".to_owned() } else { tags.join(", ") };
    let upper = name.to_ascii_uppercase();
    let signal = if upper.starts_with("SIG") { upper } else { format!("SIG{upper}") };
    let hint = match signal.parse::<Signal>() {
        Ok(signal) => format!(". Did you mean the signal {signal}?"),
        Err(_) => String::new(),
    };
    format!(
        "expected a signal, such as SIGUSR1, or an exported tag. The module exports the tags: \
         {tags}{hint}"
    )
}

/// Saves the program when a signal arrives. A separate thread waits for the signal, so that no
/// signal handler runs.
fn save_on(signal: Signal, store: &mut Store<WasiCtx>, saver: Arc<Saver>) -> Result<()> {
    let handle = store.on_snapshot_request(SnapshotOptions::new(), move |store, snapshot| {
        saver.save(snapshot, store.data())
    })?;
    let signals = only(signal);
    std::thread::Builder::new().name("signals".to_string()).spawn(move || {
        while signals.wait().is_ok() {
            handle.request();
        }
    })?;
    Ok(())
}

impl SnapshotPoints {
    pub(crate) fn has_tag(&self) -> bool {
        self.tag.is_some()
    }

    /// Calls a function that may suspend with the tag.
    pub(crate) async fn call(
        &self,
        store: &mut Store<WasiCtx>,
        func: Func,
        arguments: &[Val],
        is_async: bool,
    ) -> Result<Vec<Val>> {
        let continuation = Continuation::new(&mut *store, func)?;
        self.resume(store, continuation, arguments, is_async).await
    }

    /// Resumes a program that may suspend with the tag. It can be interrupted while it waits
    /// only if it is called asynchronously.
    pub(crate) async fn resume(
        &self,
        store: &mut Store<WasiCtx>,
        mut continuation: Continuation,
        arguments: &[Val],
        is_async: bool,
    ) -> Result<Vec<Val>> {
        let tags: Vec<Tag> = self.tag.iter().map(|(tag, _)| *tag).collect();
        let mut arguments = arguments.to_vec();
        loop {
            let resumed = match is_async {
                true => continuation.resume_on_async(&mut *store, &tags, &arguments).await?,
                false => continuation.resume_on(&mut *store, &tags, &arguments)?,
            };
            match resumed {
                Resumed::Returned(results) => return Ok(results),
                Resumed::Suspended { continuation: suspended, .. } => {
                    self.save(store, &suspended)?;
                    (continuation, arguments) = (suspended, Vec::new());
                }
            }
        }
    }

    /// Saves a program that has suspended with the tag, unless it is replayed. Fails if the
    /// program ends here.
    fn save(&self, store: &mut Store<WasiCtx>, suspended: &Continuation) -> Result<()> {
        let Some(saver) = &self.saver else {
            let ends = !self.continues && store.data_mut().has_replayed_all();
            return if ends { Err(Suspended::Replayed.into()) } else { Ok(()) };
        };
        let mut options = SnapshotOptions::new();
        if let Some((_, instance)) = self.tag {
            options.name_instance(MAIN, instance);
        }
        let snapshot = store.snapshot(options.name_continuation(MAIN, suspended));
        saver.save(snapshot, store.data())
    }
}
