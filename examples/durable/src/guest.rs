//! The code of workflows, and the functions of the host that it calls.
//!
//! Such a function does nothing. It writes the workflow down, notes what is asked for, and
//! ends the run; whoever ran it sees to the rest.

use crate::image;
use crate::workflow::{Call, Outcome};
use anyhow::{Context, Result, ensure};
use ropewalk::{Caller, Config, Engine, Error, Linker, Module, Restoring, Store};

/// How long a text can be.
const LONGEST: u32 = 4096;

/// Workflows that are compiled.
pub struct Guest {
    module: Module,
    linker: Linker<Host>,
    /// How they are read back.
    pub restoring: Restoring<Host>,
}

/// The data of a store.
#[derive(Debug, Default)]
pub struct Host {
    /// The call at which a workflow was written down.
    stopped: Option<(Call, Vec<u8>)>,
}

/// Ends the run of a workflow that was written down.
#[derive(Debug)]
struct Stopped;

impl std::fmt::Display for Stopped {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the workflow has been written down")
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

    /// Runs a workflow that was written down up to its next call. The result is that of the
    /// call at which it was.
    pub fn go_on(&self, image: Vec<u8>, result: Option<i32>) -> Outcome {
        match image::go_on(&self.restoring, image, result) {
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
    type Asks = fn(String) -> Call;
    let asking: [(&str, Asks); 2] = [("http", Call::Http), ("approve", Call::Approve)];
    for (name, call) in asking {
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

/// Writes the workflow down.
fn stop(caller: &mut Caller<'_, Host>, call: Call) -> Error {
    match image::take(caller) {
        Ok(image) => {
            caller.data_mut().stopped = Some((call, image));
            Stopped.into()
        }
        Err(error) => error.context("the workflow cannot be written down"),
    }
}

/// A text in the memory of a workflow.
fn text(caller: &mut Caller<'_, Host>, at: u32, length: u32) -> Result<String> {
    ensure!(length <= LONGEST, "a text of {length} bytes is too long");
    let memory = caller.get_export("memory").and_then(|export| export.into_memory());
    let memory = memory.context("the workflow does not export its memory")?;
    let mut bytes = vec![0; length as usize];
    memory.read(caller, at as usize, &mut bytes)?;
    Ok(String::from_utf8(bytes)?)
}
