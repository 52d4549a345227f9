//! Runs a program on the engine.

use super::model::{Outcome, Seen};
use super::modes::Mode;
use super::program::{Call, Program, Ty};
use super::snapshots::{self, SnapshotState};
use anyhow::{Context, Result, anyhow, bail};
use ropewalk::{
    Caller, Engine, Error, Exception, Func, Global, Instance, Linker, Module, Store, Tag, Trap, Val,
};

/// The host's data of a store.
#[derive(Default)]
pub struct Host {
    pub seen: Vec<Seen>,
    functions: Vec<Option<Func>>,
    /// The tags of the program.
    tags: Vec<Option<Tag>>,
    /// The number of host functions that wait for WebAssembly.
    pub nested: usize,
    /// The state of snapshots, if the mode has them.
    pub snapshots: Option<Box<SnapshotState>>,
}

impl Host {
    /// A host that has already seen something.
    pub fn after(seen: Vec<Seen>) -> Host {
        Host { seen, ..Host::default() }
    }
}

pub struct Run {
    pub store: Store<Host>,
    /// The instances of its modules.
    pub instances: Vec<Instance>,
    fuel: Global,
    digest: Global,
}

/// The modules of a program, compiled in a mode.
pub struct Compiled {
    pub engine: Engine,
    pub modules: Vec<Module>,
}

/// What the host saw, and a name for the store.
pub type Sight = (String, Vec<Seen>);

pub fn prepare(texts: &[String], mode: &Mode) -> Result<Compiled> {
    let engine = Engine::new(&mode.config)?;
    let modules = texts.iter().map(|text| compile(&engine, text, mode.lowered));
    let modules = modules.collect::<Result<Vec<_>>>()?;
    Ok(Compiled { engine, modules })
}

/// Runs a program in each of the stores.
pub fn run(program: &Program, compiled: &Compiled, stores: usize) -> Result<Vec<Sight>> {
    let runs = (0..stores).map(|_| Run::new(compiled, program));
    let mut runs = runs.collect::<Result<Vec<_>>>()?;
    for call in &program.calls {
        for run in &mut runs {
            run.call(program, call)?;
        }
    }
    let sights = runs.into_iter().enumerate();
    Ok(sights.map(|(number, run)| (format!("store {number}"), run.into_seen())).collect())
}

fn compile(engine: &Engine, text: &str, lowered: bool) -> Result<Module> {
    let compiled = if lowered {
        let parsed = ropewalk_text::Text::parse(text)?;
        Module::from_binary(engine, parsed.binary())
    } else {
        Module::new(engine, text)
    };
    compiled.context("the module does not compile")
}

/// The host functions that programs import.
pub fn linker(engine: &Engine) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "log", |mut caller: Caller<'_, Host>, number: i64| {
        caller.data_mut().seen.push(Seen::Log(number));
        snapshots::logged(&mut caller);
    })?;
    linker.func_wrap("host", "fail", || -> Result<()> { bail!("the host fails") })?;
    linker.func_wrap(
        "host",
        "throw",
        |mut caller: Caller<'_, Host>, number: i64| -> Result<()> {
            let tag = caller.data().tags[0].context("no tag 0")?;
            Err(Exception::new(&mut caller, tag, &[Val::I64(number)])?.into())
        },
    )?;
    linker.func_wrap("host", "enter", enter)?;
    Ok(linker)
}

/// Calls a function of the program on its behalf.
fn enter(mut caller: Caller<'_, Host>, function: i32, argument: i64, swallow: i32) -> Result<i64> {
    let functions = &caller.data().functions;
    let function = functions.get(function as usize).copied().flatten();
    let function = function.context("not a function")?.typed::<i64, i64>(&mut caller)?;
    caller.data_mut().nested += 1;
    let result = function.call(&mut caller, argument);
    caller.data_mut().nested -= 1;
    match result {
        Err(error) if swallow != 0 => Ok(match error.downcast_ref::<Exception>() {
            None => -1,
            Some(_) => -2,
        }),
        result => result,
    }
}

impl Run {
    /// Instantiates a program in a new store.
    pub fn new(compiled: &Compiled, program: &Program) -> Result<Run> {
        let Compiled { engine, modules } = compiled;
        let mut store = Store::new(engine, Host::default());
        let mut linker = linker(engine)?;
        let mut instances = Vec::new();
        for (number, module) in modules.iter().enumerate() {
            let instance = linker.instantiate(&mut store, module)?;
            linker.instance(&mut store, &format!("m{number}"), instance)?;
            instances.push(instance);
        }
        let first = *instances.first().context("no module")?;
        if !program.script.is_empty() {
            let memory = first.get_memory(&mut store, "script").context("no script")?;
            let script = program.script.iter();
            let script: Vec<u8> =
                script.flat_map(|number| (*number as u16).to_le_bytes()).collect();
            memory.write(&mut store, 0, &script)?;
        }
        Run::of(store, instances, program)
    }

    /// A program whose modules are already instantiated.
    pub fn of(mut store: Store<Host>, instances: Vec<Instance>, program: &Program) -> Result<Run> {
        let first = *instances.first().context("no module")?;
        for (tag, definition) in program.tags.iter().enumerate() {
            let tag = instances[definition.module].get_tag(&mut store, &format!("e{tag}"));
            store.data_mut().tags.push(tag);
        }
        for (id, function) in program.functions.iter().enumerate() {
            let instance = instances[function.module];
            let function = instance.get_func(&mut store, &format!("f{id}"));
            store.data_mut().functions.push(function);
        }
        let fuel = global(&mut store, first, "fuel")?;
        let digest = global(&mut store, first, "digest")?;
        Ok(Run { store, instances, fuel, digest })
    }

    pub fn call(&mut self, program: &Program, call: &Call) -> Result<()> {
        self.fuel.set(&mut self.store, Val::I64(program.fuel))?;
        let function = self.store.data().functions[call.function].context("not a function")?;
        let function = function.typed::<i64, i64>(&mut self.store)?;
        let result = function.call(&mut self.store, call.argument);
        self.end(program, result)
    }

    /// Records the outcome of a call.
    pub fn end(&mut self, program: &Program, result: Result<i64>) -> Result<()> {
        let outcome = match result {
            Ok(number) => Outcome::Returned(number),
            Err(error) => self.outcome(program, &error)?,
        };
        let digest = self.digest.get(&mut self.store)?.i64().context("a number")?;
        self.store.data_mut().seen.push(Seen::End(outcome, digest));
        Ok(())
    }

    pub fn into_seen(self) -> Vec<Seen> {
        self.store.into_data().seen
    }

    fn outcome(&mut self, program: &Program, error: &Error) -> Result<Outcome> {
        if let Some(trap) = error.downcast_ref::<Trap>() {
            return Ok(Outcome::Trapped(trap.code().to_string()));
        }
        let Some(exception) = error.downcast_ref::<Exception>() else {
            return Ok(Outcome::Trapped(crate::message(error)));
        };
        let tag = exception.tag(&mut self.store)?;
        let number = self.store.data().tags.iter().position(|known| *known == Some(tag));
        let number = number.ok_or_else(|| anyhow!("an exception with an unknown tag"))?;
        let values = exception.values(&mut self.store)?;
        let types = program.tags[number].signature.params.iter();
        let numbers = types.zip(&values).filter(|(ty, _)| **ty == Ty::I64);
        let numbers = numbers.map(|(_, value)| value.i64().unwrap_or_default()).collect();
        Ok(Outcome::Thrown(number, numbers))
    }
}

fn global(store: &mut Store<Host>, instance: Instance, name: &str) -> Result<Global> {
    instance.get_global(store, name).with_context(|| format!("no global {name}"))
}
