//! Runs a program on the engine.

use super::model::{Outcome, Seen};
use super::modes::Mode;
use super::program::{Program, Ty};
use anyhow::{Context, Result, anyhow, bail};
use ropewalk::{
    Caller, Engine, Error, Exception, Func, Global, Instance, Linker, Module, Store, Tag, Trap, Val,
};

/// What the host knows of a store.
#[derive(Default)]
struct Host {
    seen: Vec<Seen>,
    functions: Vec<Option<Func>>,
    /// Those that the program uses.
    tags: Vec<Option<Tag>>,
}

/// A program in a store.
struct Run {
    store: Store<Host>,
    fuel: Global,
    digest: Global,
}

/// Modules that are compiled in a mode.
pub struct Compiled {
    engine: Engine,
    modules: Vec<Module>,
}

/// Compiles the modules of a program.
pub fn prepare(texts: &[String], mode: &Mode) -> Result<Compiled> {
    let engine = Engine::new(&mode.config)?;
    let modules = texts.iter().map(|text| compile(&engine, text, mode.lowered));
    let modules = modules.collect::<Result<Vec<_>>>()?;
    Ok(Compiled { engine, modules })
}

/// What the host sees in each of the stores.
pub fn run(program: &Program, compiled: &Compiled, stores: usize) -> Result<Vec<Vec<Seen>>> {
    let Compiled { engine, modules } = compiled;
    let runs = (0..stores).map(|_| Run::new(engine, modules, program));
    let mut runs = runs.collect::<Result<Vec<_>>>()?;
    for call in &program.calls {
        for run in &mut runs {
            run.call(program, call.function, call.argument)?;
        }
    }
    Ok(runs.into_iter().map(|mut run| std::mem::take(&mut run.store.data_mut().seen)).collect())
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

fn linker(engine: &Engine) -> Result<Linker<Host>> {
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "log", |mut caller: Caller<'_, Host>, number: i64| {
        caller.data_mut().seen.push(Seen::Log(number));
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

/// Calls a function of the program for the program.
fn enter(mut caller: Caller<'_, Host>, function: i32, argument: i64, swallow: i32) -> Result<i64> {
    let functions = &caller.data().functions;
    let function = functions.get(function as usize).copied().flatten();
    let function = function.context("not a function")?.typed::<i64, i64>(&mut caller)?;
    match function.call(&mut caller, argument) {
        Err(error) if swallow != 0 => Ok(match error.downcast_ref::<Exception>() {
            None => -1,
            Some(_) => -2,
        }),
        result => result,
    }
}

impl Run {
    fn new(engine: &Engine, modules: &[Module], program: &Program) -> Result<Run> {
        let mut store = Store::new(engine, Host::default());
        let mut linker = linker(engine)?;
        let mut instances = Vec::new();
        for (number, module) in modules.iter().enumerate() {
            let instance = linker.instantiate(&mut store, module)?;
            linker.instance(&mut store, &format!("m{number}"), instance)?;
            instances.push(instance);
        }
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
        if !program.script.is_empty() {
            let memory = first.get_memory(&mut store, "script").context("no script")?;
            let script = program.script.iter();
            let script: Vec<u8> =
                script.flat_map(|number| (*number as u16).to_le_bytes()).collect();
            memory.write(&mut store, 0, &script)?;
        }
        let fuel = global(&mut store, first, "fuel")?;
        let digest = global(&mut store, first, "digest")?;
        Ok(Run { store, fuel, digest })
    }

    fn call(&mut self, program: &Program, function: usize, argument: i64) -> Result<()> {
        self.fuel.set(&mut self.store, Val::I64(program.fuel))?;
        let function = self.store.data().functions[function].context("not a function")?;
        let function = function.typed::<i64, i64>(&mut self.store)?;
        let outcome = match function.call(&mut self.store, argument) {
            Ok(number) => Outcome::Returned(number),
            Err(error) => self.outcome(program, &error)?,
        };
        let digest = self.digest.get(&mut self.store)?.i64().context("a number")?;
        self.store.data_mut().seen.push(Seen::End(outcome, digest));
        Ok(())
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
