//! Compiles workflows, and defines the host functions that they call.
//!
//! A host function only takes a snapshot, records the call, and ends the run. The worker performs
//! the call.

use crate::snapshot;
use crate::workflow::{Call, Outcome};
use anyhow::{Context, Result, ensure};
use ropewalk::{Caller, Config, Engine, Error, Linker, Module, Restoring, Store};

/// The maximum length of a text in bytes.
const MAX_TEXT: u32 = 4096;

/// Compiled workflows.
pub struct Guest {
    module: Module,
    linker: Linker<Host>,
    /// Restores snapshots.
    pub restoring: Restoring<Host>,
}

/// The data of a store.
#[derive(Debug, Default)]
pub struct Host {
    /// The call that stopped the workflow, and the snapshot.
    stopped: Option<(Call, Vec<u8>)>,
}

/// The error that ends a run after its snapshot.
#[derive(Debug)]
struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the workflow has stopped at a snapshot")
    }
}

impl std::error::Error for Stopped {}

impl Guest {
    /// Compiles a module.
    pub fn new(source: &str) -> Result<Guest> {
        let engine = Engine::new(Config::new().snapshots(true))?;
        let module = Module::new(&engine, source)?;
        let linker = linker(&engine)?;
        let mut restoring = Restoring::new(&engine, [module.clone()]);
        restoring.functions(&linker)?;
        Ok(Guest { module, linker, restoring })
    }

    /// Runs a new workflow up to its first call.
    pub fn begin(&self, input: i64) -> Outcome {
        let mut store = Store::new(self.module.engine(), Host::default());
        let mut run = || -> Result<i32> {
            let instance = self.linker.instantiate(&mut store, &self.module)?;
            let run = instance.get_typed_func::<i64, i32>(&mut store, "run")?;
            run.call(&mut store, input)
        };
        let returned = run();
        outcome(store.into_data(), returned)
    }

    /// Restores a workflow and runs it up to its next call. `result` is the result of its
    /// last call.
    pub fn resume(&self, image: Vec<u8>, result: Option<i32>) -> Outcome {
        match snapshot::resume(&self.restoring, image, result) {
            Ok((host, returned)) => outcome(host, returned),
            Err(error) => Outcome::Failed(format!("{error:#}")),
        }
    }
}

fn outcome(host: Host, returned: Result<i32>) -> Outcome {
    match (returned, host.stopped) {
        (Err(error), Some((call, image))) if error.is::<Stopped>() => Outcome::Calls(call, image),
        (Ok(code), _) => Outcome::Returned(code),
        (Err(error), _) => Outcome::Failed(format!("{error:#}")),
    }
}

fn linker(engine: &Engine) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap(
        "durable",
        "sleep",
        |mut caller: Caller<'_, Host>, time: i64| -> Result<()> {
            Err(stop(&mut caller, Call::Sleep(u64::try_from(time).unwrap_or(0))))
        },
    )?;
    linker.func_wrap(
        "durable",
        "log",
        |mut caller: Caller<'_, Host>, at: u32, length: u32| -> Result<()> {
            let text = text(&mut caller, at, length)?;
            Err(stop(&mut caller, Call::Log(text)))
        },
    )?;
    type ToCall = fn(String) -> Call;
    let with_result: [(&str, ToCall); 2] = [("http", Call::Http), ("approve", Call::Approve)];
    for (name, call) in with_result {
        linker.func_wrap(
            "durable",
            name,
            move |mut caller: Caller<'_, Host>, at: u32, length: u32| -> Result<i32> {
                let text = text(&mut caller, at, length)?;
                Err(stop(&mut caller, call(text)))
            },
        )?;
    }
    Ok(linker)
}

/// Takes a snapshot; returns the error that ends the run.
fn stop(caller: &mut Caller<'_, Host>, call: Call) -> Error {
    match snapshot::take(caller) {
        Ok(image) => {
            caller.data_mut().stopped = Some((call, image));
            Stopped.into()
        }
        Err(error) => error.context("cannot take a snapshot of the workflow"),
    }
}

/// A text in the memory of a workflow.
fn text(caller: &mut Caller<'_, Host>, at: u32, length: u32) -> Result<String> {
    ensure!(length <= MAX_TEXT, "expected a text of at most {MAX_TEXT} bytes, found {length}");
    let memory = caller.get_export("memory").and_then(|export| export.into_memory());
    let memory = memory.context("the workflow does not export its memory")?;
    let mut bytes = vec![0; length as usize];
    memory.read(caller, at as usize, &mut bytes)?;
    Ok(String::from_utf8(bytes)?)
}
