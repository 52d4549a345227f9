//! When a program is written down, and what becomes of it then.

use std::path::PathBuf;
use std::sync::Arc;

use anyhow::{Context, ensure};
use clap::Args;
use nix::sys::signal::{SigSet, Signal};
use ropewalk::{
    Config, Continuation, Func, Instance, Result, Resumed, SnapshotOptions, Store, Tag, Val,
};
use ropewalk_wasi::WasiCtx;

use crate::suspended::Program;

/// The name of what the host has of a program: its instance, and the rest of it.
const MAIN: &str = "main";

/// The options for writing a program down.
#[derive(Args)]
pub(crate) struct Snapshots {
    /// Writes the program down when the process gets a signal, such as SIGUSR1, or when the
    /// program suspends with a tag that it exports under this name; then the program ends
    /// here, and `ropewalk resume` goes on with it.
    #[arg(long, value_name = "SIGNAL|TAG", requires = "output")]
    snapshot_on: Option<String>,

    /// The file that the program is written to, each time anew.
    #[arg(short = 'o', long = "snapshot-output", value_name = "FILE", requires = "snapshot_on")]
    output: Option<PathBuf>,

    /// The program goes on here as well after it was written down.
    #[arg(long, requires = "snapshot_on")]
    snapshot_and_go_on: bool,
}

/// The program was written down, and ends here.
#[derive(Debug)]
pub(crate) struct Asleep(pub PathBuf);

impl std::fmt::Display for Asleep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the program was written to {0}; `ropewalk resume {0}` goes on", self.0.display())
    }
}

impl std::error::Error for Asleep {}

/// A program that is written down.
pub(crate) struct Writing {
    program: Arc<Program>,
    output: PathBuf,
    goes_on: bool,
    /// The tag that it suspends with for that, and the instance that exports it.
    tag: Option<(Tag, Instance)>,
}

fn only(signal: Signal) -> SigSet {
    let mut signals = SigSet::empty();
    signals.add(signal);
    signals
}

fn signal(name: &str) -> Option<Signal> {
    let name = name.to_ascii_uppercase();
    let name = if name.starts_with("SIG") { name } else { format!("SIG{name}") };
    name.parse().ok()
}

impl Snapshots {
    /// Keeps the signal from ending the process. This comes before there are other threads,
    /// which are then kept from it too.
    pub(crate) fn block_signal(&self) -> Result<()> {
        match self.snapshot_on.as_deref().and_then(signal) {
            Some(signal) => {
                let blocked = only(signal).thread_block();
                blocked.with_context(|| format!("cannot wait for {signal}"))
            }
            None => Ok(()),
        }
    }

    pub(crate) fn configure(&self, config: &mut Config) {
        if let Some(when) = &self.snapshot_on {
            config.snapshots(true);
            if signal(when).is_some() {
                config.interruption(true);
            }
        }
    }

    /// Whether the program is written down.
    pub(crate) fn is_on(&self) -> bool {
        self.snapshot_on.is_some()
    }

    /// Lets the signal write the program down, if it is one.
    pub(crate) fn prepare(
        &self,
        store: &mut Store<WasiCtx>,
        program: impl FnOnce() -> Result<Program>,
    ) -> Result<Option<Writing>> {
        let (Some(when), Some(output)) = (&self.snapshot_on, &self.output) else { return Ok(None) };
        let program = Arc::new(program()?);
        let (output, goes_on) = (output.clone(), self.snapshot_and_go_on);
        if let Some(signal) = signal(when) {
            write_on(signal, store, program.clone(), output.clone(), goes_on)?;
        }
        Ok(Some(Writing { program, output, goes_on, tag: None }))
    }

    /// Finds the tag that the program suspends with to be written down, if there is one.
    pub(crate) fn find_tag(
        &self,
        writing: &mut Writing,
        store: &mut Store<WasiCtx>,
        instance: Instance,
    ) -> Result<()> {
        let Some(name) = self.snapshot_on.as_ref().filter(|name| signal(name).is_none()) else {
            return Ok(());
        };
        let tag = instance.get_tag(&mut *store, name).with_context(|| {
            format!("--snapshot-on {name}: it is no signal, and the module exports no such tag")
        })?;
        let ty = tag.ty(&*store)?;
        ensure!(
            ty.ty.results().is_empty(),
            "--snapshot-on {name}: nobody would know the results of the tag, which are {}",
            ty.ty
        );
        writing.tag = Some((tag, instance));
        Ok(())
    }
}

/// Writes the program down when a signal comes. A thread of its own waits for it, so that no
/// handler runs while WebAssembly does.
fn write_on(
    signal: Signal,
    store: &mut Store<WasiCtx>,
    program: Arc<Program>,
    output: PathBuf,
    goes_on: bool,
) -> Result<()> {
    let handle = store.on_snapshot_request(SnapshotOptions::new(), move |store, snapshot| {
        program.write(&output, &snapshot?, store.data())?;
        if goes_on { Ok(()) } else { Err(Asleep(output.clone()).into()) }
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
    pub(crate) fn call(
        &self,
        store: &mut Store<WasiCtx>,
        func: Func,
        arguments: &[Val],
    ) -> Result<Vec<Val>> {
        let continuation = Continuation::new(&mut *store, func)?;
        self.resume(store, continuation, arguments)
    }

    /// Continues a program that was written down so.
    pub(crate) fn resume(
        &self,
        store: &mut Store<WasiCtx>,
        mut continuation: Continuation,
        arguments: &[Val],
    ) -> Result<Vec<Val>> {
        let tags: Vec<Tag> = self.tag.iter().map(|(tag, _)| *tag).collect();
        let mut arguments = arguments.to_vec();
        loop {
            match continuation.resume_on(&mut *store, &tags, &arguments)? {
                Resumed::Returned(results) => return Ok(results),
                Resumed::Suspended { continuation: rest, .. } => {
                    let mut options = SnapshotOptions::new();
                    if let Some((_, instance)) = self.tag {
                        options.name_instance(MAIN, instance);
                    }
                    let snapshot = store.snapshot(options.name_continuation(MAIN, &rest))?;
                    self.program.write(&self.output, &snapshot, store.data())?;
                    if !self.goes_on {
                        return Err(Asleep(self.output.clone()).into());
                    }
                    (continuation, arguments) = (rest, Vec::new());
                }
            }
        }
    }

    /// The name of what the host has of a program.
    pub(crate) fn held() -> &'static str {
        MAIN
    }
}
