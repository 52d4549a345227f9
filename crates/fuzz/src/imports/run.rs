//! The oracle: a module is rejected with a message, or does the same in every mode, traps only as
//! documented, and leaves the store usable.

use super::generate::{Case, ENTRIES};
use super::vocabulary;
use crate::oracle::modes::{self, Mode, OnceEach};
use ropewalk::{
    Caller, Error, Exception, FuncType, Global, GlobalType, Instance, Linker, Module, ModuleError,
    Store, Trap, TrapCode, Val, ValType,
};

/// The maximum number of nested entries in one run.
const AGAIN: usize = 12;

#[derive(Default)]
struct Host {
    log: Vec<i32>,
    /// The number of a value that did not match its type.
    confused: Option<i32>,
    again: usize,
    instances: Vec<Instance>,
    /// The instance whose tag the host throws.
    shared: Option<Instance>,
}

/// Runs a case, and reports problems.
pub fn check(case: &Case) -> Result<(), String> {
    let engine = &modes::all()[0].engine;
    let (validated, compiled) =
        (Module::validate(engine, &case.source), Module::new(engine, &case.source));
    match (validated, compiled, &case.misuse) {
        (Ok(()), Ok(_), Some(misuse)) => {
            Err(format!("accepted, expected the error {:?}", misuse.message))
        }
        (Ok(()), Ok(module), None) => runs_alike(case, &module),
        (Err(validated), Err(compiled), misuse) => {
            let (validated, compiled) = (refusal(&validated)?, refusal(&compiled)?);
            if validated != compiled {
                return Err(format!("two messages: {validated:?} and {compiled:?}"));
            }
            match misuse {
                Some(misuse) if compiled.contains(misuse.message) => Ok(()),
                // Errors about code before `start` come first.
                _ if case.wild_routs && compiled.contains("used as a rout") => Ok(()),
                _ => Err(format!("rejected: {compiled}")),
            }
        }
        (validated, compiled, _) => Err(format!(
            "validating and compiling disagree: {:?} and {:?}",
            validated.err(),
            compiled.err()
        )),
    }
}

/// The message of a rejected module, which must have a position.
fn refusal(error: &Error) -> Result<String, String> {
    let error = error.downcast_ref::<ModuleError>();
    let error = error.ok_or_else(|| "rejected with an error of another kind".to_string())?;
    match error.position() {
        Some(_) => Ok(error.message().to_string()),
        None => Err(format!("rejected without a position: {error}")),
    }
}

/// Runs a module in the default mode and in one other.
fn runs_alike(case: &Case, module: &Module) -> Result<(), String> {
    let [default, ..] = modes::all() else { return Err("there is no mode".to_string()) };
    let other = &modes::all()[case.mode];
    let first = in_mode(default, module).map_err(|error| format!("{}: {error}", default.name))?;
    let module = Module::new(&other.engine, &case.source)
        .map_err(|error| format!("{}: rejected: {error}", other.name))?;
    let second = in_mode(other, &module).map_err(|error| format!("{}: {error}", other.name))?;
    match first == second {
        true => Ok(()),
        false => Err(format!("default: {first:?}\n{}: {second:?}", other.name)),
    }
}

/// The outcomes of the calls, and the log.
#[derive(Debug, PartialEq, Eq)]
struct Outcome {
    calls: Vec<String>,
    log: Vec<i32>,
}

fn in_mode(mode: &Mode, module: &Module) -> Result<Outcome, String> {
    let mut store = Store::new(&mode.engine, Host::default());
    let mut calls = Vec::new();
    instantiate(&mut store, module).map_err(|error| format!("does not link: {error:?}"))?;
    for _ in 0..2 {
        for i in 0..2 * ENTRIES {
            let result = enter(&mut store, i);
            calls.push(ending(&mut store, result)?);
            store.data_mut().again = 0;
        }
        if let Some(number) = store.data().confused {
            return Err(format!("a value does not match its type ({number})"));
        }
        still_good(&mut store)?;
        store.gc();
    }
    let log = std::mem::take(&mut store.data_mut().log);
    Ok(Outcome { calls, log })
}

/// Creates two instances of the module, and the instance that they share.
fn instantiate(store: &mut Store<Host>, module: &Module) -> ropewalk::Result<()> {
    let engine = store.engine().clone();
    static SHARED: OnceEach = OnceEach::new();
    let shared = SHARED.module(&engine, vocabulary::shared())?;
    let shared = Instance::new(&mut *store, &shared, &[])?;
    store.data_mut().shared = Some(shared);
    let mut linker = Linker::new(&engine);
    linker.instance(&mut *store, "shared", shared)?;
    host(&mut linker, store, shared)?;
    linker.allow_shadowing(true);
    for base in [0, 8] {
        let ty = GlobalType { content: ValType::I32, mutable: false };
        let base = Global::new(&mut *store, ty, Val::I32(base))?;
        linker.define(&mut *store, "host", "base", base)?;
        let instance = linker.instantiate(&mut *store, module)?;
        store.data_mut().instances.push(instance);
    }
    Ok(())
}

fn host(
    linker: &mut Linker<Host>,
    store: &mut Store<Host>,
    shared: Instance,
) -> ropewalk::Result<()> {
    linker.func_wrap("host", "log", |mut caller: Caller<'_, Host>, value: i32| {
        caller.data_mut().log.push(value);
    })?;
    linker.func_wrap("host", "confused", |mut caller: Caller<'_, Host>, number: i32| {
        caller.data_mut().confused = Some(number);
    })?;
    linker.func_wrap("host", "again", |mut caller: Caller<'_, Host>, entry: i32| {
        let host = caller.data_mut();
        host.again += 1;
        if host.again > AGAIN {
            return;
        }
        let instance = host.instances[entry as usize % 2];
        let name = format!("go{}", entry as usize / 2 % ENTRIES);
        let Some(entry) = instance.get_func(&mut caller, &name) else { return };
        let result = entry.call(&mut caller, &[], &mut []).map(|()| 0);
        let number = match result {
            Ok(_) => -100,
            Err(error) => match error.downcast_ref::<Trap>() {
                Some(trap) => -200 - trap.code() as i32,
                None => -300,
            },
        };
        caller.data_mut().log.push(number);
    })?;
    linker.func_wrap("host", "fail", || Err::<(), _>(Error::msg("the host fails")))?;
    linker.func_wrap("host", "throw", throw)?;
    for name in ["stack", "fiber", "c0"] {
        let ty = shared.get_global(&mut *store, &format!("g.{name}.0"));
        let ty = ty.expect("exported").ty(&*store)?.content;
        let ty = FuncType::new([ty], [ty]);
        linker.func_new("host", &format!("pass.{name}"), ty, |_, given, results| {
            results[0] = given[0];
            Ok(())
        })?;
    }
    // These are never called.
    for (design, name) in [("stack", "new"), ("task", "resume"), ("first-class", "new_stack")] {
        let fake = |mut caller: Caller<'_, Host>| caller.data_mut().confused = Some(-1);
        linker.func_wrap(&format!("ropewalk:{design}"), name, fake)?;
    }
    Ok(())
}

fn throw(mut caller: Caller<'_, Host>) -> ropewalk::Result<()> {
    let shared = caller.data().shared.expect("set before anything runs");
    let tag = shared.get_tag(&mut caller, "e1").expect("exported");
    Err(Exception::new(&mut caller, tag, &[Val::I32(77)])?.into())
}

/// Calls one of the exported functions of both instances.
fn enter(store: &mut Store<Host>, number: usize) -> ropewalk::Result<()> {
    let instance = store.data().instances[number % 2];
    let name = format!("go{}", number / 2 % ENTRIES);
    let entry = instance.get_func(&mut *store, &name).expect("exported");
    entry.call(store, &[], &mut [])
}

/// The outcome of a call, or an error if it is not allowed.
fn ending(store: &mut Store<Host>, result: ropewalk::Result<()>) -> Result<String, String> {
    let error = match result {
        Ok(()) => return Ok("returned".to_string()),
        Err(error) => error,
    };
    if let Some(trap) = error.downcast_ref::<Trap>() {
        return match NEVER.contains(&trap.code()) {
            true => Err(format!("an impossible trap: {error:?}")),
            false => Ok(trap.code().to_string()),
        };
    }
    if let Some(exception) = error.downcast_ref::<Exception>() {
        let values = exception.values(&mut *store);
        let values = values.map_err(|error| format!("an exception without values: {error}"))?;
        return Ok(format!("an exception of {} values", values.len()));
    }
    match crate::message(&error) == "the host fails" {
        true => Ok("the host fails".to_string()),
        false => Err(format!("an unexpected error: {error:?}")),
    }
}

/// Traps that generated modules cannot cause.
const NEVER: [TrapCode; 14] = [
    TrapCode::MemoryOutOfBounds,
    TrapCode::TableOutOfBounds,
    TrapCode::UndefinedElement,
    TrapCode::IntegerDivideByZero,
    TrapCode::IntegerOverflow,
    TrapCode::InvalidConversionToInteger,
    TrapCode::CallStackExhausted,
    TrapCode::TooManyStacks,
    TrapCode::NullStructReference,
    TrapCode::NullArrayReference,
    TrapCode::NullI31Reference,
    TrapCode::ArrayOutOfBounds,
    TrapCode::CastFailure,
    TrapCode::OutOfMemory,
];

/// Checks that a known program of each design still works.
fn still_good(store: &mut Store<Host>) -> Result<(), String> {
    let engine = store.engine().clone();
    static GOOD: [OnceEach; 5] = [const { OnceEach::new() }; 5];
    for ((name, source), once) in sums().into_iter().zip(&GOOD) {
        let module = once.module(&engine, source).expect("a known program compiles");
        match sum(store, &module) {
            Ok(55) => {}
            other => return Err(format!("afterwards the sum of {name} is {other:?}")),
        }
    }
    let before = store.stack_statistics();
    store.gc();
    let after = store.stack_statistics();
    match after.live <= before.live && after.live <= before.peak {
        true => Ok(()),
        false => Err(format!("a collection makes stacks: {before:?} and then {after:?}")),
    }
}

/// The sum of the first five squares.
fn sum(store: &mut Store<Host>, module: &Module) -> ropewalk::Result<i32> {
    let instance = Instance::new(&mut *store, module, &[])?;
    let sum = instance.get_typed_func::<i32, i32>(&mut *store, "sum")?;
    sum.call(store, 5)
}

/// Programs that add up squares, one for each design.
fn sums() -> Vec<(&'static str, &'static str)> {
    const SQUARES: &str = include_str!("../../../../examples/continuations-squares.wat");
    const BY_HAND: &str = include_str!("../../../wast/tests/scripts/reserved-imports-by-hand.wast");
    // Each module of the script ends at its assertions.
    let modules = BY_HAND.split("\n(assert").filter_map(|part| {
        let begin = part.find("\n(module")?;
        part.contains("\"sum\"").then_some(&part[begin..])
    });
    let designs = ["bag of stacks", "tasks", "fibers", "first-class stacks"];
    let designs = designs.into_iter().zip(modules);
    std::iter::once(("typed continuations", SQUARES)).chain(designs).collect()
}
