//! Calls into WebAssembly that call the host, which runs further operations.

use super::model::*;
use super::module;
use super::operation::{Call, End, Path, ValueKind};
use super::step::{self, Context, DROPPED, Verdict, chosen, compare, make, outcome, value};
use ropewalk::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};

/// The maximum depth of nested calls in a case.
const DEPTH: usize = 5;

/// The error of a failing host function.
const FAILURE: &str = "the host function fails";

pub fn instantiate(store: &mut Context<'_>, right: bool) -> Verdict {
    if store.data().instances.len() > 4 {
        return Ok(());
    }
    let module = step::module(store)?;
    let mut linker = Linker::new(store.engine());
    if !right {
        outcome(linker.instantiate(&mut *store, &module), false, "an import is missing")?;
        if let Some(other) = module::of_another(store.engine()) {
            link(&mut linker).map_err(|error| format!("{error:?}"))?;
            outcome(linker.instantiate(&mut *store, &other), false, "a module of another engine")?;
        }
        return Ok(());
    }
    link(&mut linker).map_err(|error| format!("{error:?}"))?;
    outcome(linker.func_wrap("host", "wrapped", || 1), false, "a second definition")?;
    let instance = linker.instantiate(&mut *store, &module);
    let instance = instance.map_err(|error| format!("does not link: {error:?}"))?;
    store.data().lend(Item::Instance(instance));
    store.data_mut().instances.push(instance);
    adopt(store, instance)
}

fn link(linker: &mut Linker<Model>) -> Result<()> {
    linker.func_wrap("host", "wrapped", wrapped)?;
    let any = ValueKind::Any.ty();
    let ty = FuncType::new([any, ValType::I64, ValType::F32], [any, ValType::I32]);
    linker.func_new("host", "dynamic", ty, |mut caller, given, results| {
        let numbers = (given[1].i64().unwrap_or(0), given[2].f32().unwrap_or(0.0));
        let value = reached(&mut caller.as_context_mut(), given[0], numbers)?;
        results[0] = value;
        results[1] = Val::I32(1);
        Ok(())
    })?;
    Ok(())
}

/// Adds the exports of an instance to the model.
fn adopt(store: &mut Context<'_>, instance: Instance) -> Verdict {
    let exports = instance.exports(&mut *store).map_err(|error| format!("{error:?}"))?;
    for (_, item) in exports {
        match item {
            Extern::Global(global) => {
                let ty = global.ty(&*store).map_err(|error| format!("{error:?}"))?;
                let Some(kind) = ValueKind::of(ty.content) else { continue };
                let value = Expected::default_of(kind);
                let global = GlobalModel { global, kind, mutable: ty.mutable, value };
                store.data_mut().globals.push(global);
            }
            Extern::Table(table) => {
                let ty = table.ty(&*store).map_err(|error| format!("{error:?}"))?;
                let Some(kind) = ValueKind::of(ValType::Ref(ty.element)) else { continue };
                let elements = vec![Expected::default_of(kind); ty.minimum as usize];
                let table = TableModel { table, kind, maximum: ty.maximum, elements };
                store.data_mut().tables.push(table);
            }
            Extern::Memory(memory) => {
                let ty = memory.ty(&*store).map_err(|error| format!("{error:?}"))?;
                let (pages, maximum) = (ty.minimum, ty.maximum);
                store.data_mut().memories.push(MemoryModel {
                    memory,
                    pages,
                    maximum,
                    bytes: vec![],
                });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Calls an exported function, which calls the host.
pub fn call(store: &mut Context<'_>, call: &Call) -> Verdict {
    let Some(index) = chosen(call.instance, store.data().instances.len()) else { return Ok(()) };
    if store.data().depth >= DEPTH {
        return Ok(());
    }
    let instance = store.data().instances[index];
    let name = match call.path {
        Path::Wrapped => "wrapped",
        Path::Dynamic => "dynamic",
        Path::Continued => "continued",
        Path::Task => "task",
        Path::Caught => "caught",
    };
    let func = instance.get_func(&mut *store, name).ok_or_else(|| format!("no export {name}"))?;
    let (argument, fits) = value(store, call.argument, ValueKind::Any)?;
    let Some(expected) = fits else {
        let arguments = [argument, Val::I64(1), Val::F32(0)];
        let result = func.call(&mut *store, &arguments, &mut [Val::AnyRef(None), Val::I32(0)]);
        outcome(result, false, "a call with an argument of another type")?;
        return Ok(());
    };
    let Some(end) = end(store, call.end)? else { return Ok(()) };
    let before = store.data().position();
    let numbers = (77, 0.5);
    let operations = call.operations.clone();
    store.data_mut().frames.push(HostFrame { argument: expected, numbers, operations, end });
    store.data_mut().depth += 1;
    let result = catch_unwind(AssertUnwindSafe(|| match (call.typed, argument) {
        (true, Val::AnyRef(argument)) => {
            let func = func.typed::<(Option<AnyRef>, i64, f32), (Option<AnyRef>, i32)>(&*store)?;
            let (value, number) = func.call(&mut *store, (argument, numbers.0, numbers.1))?;
            Ok((Val::AnyRef(value), Val::I32(number)))
        }
        _ => {
            let arguments = [argument, numbers.0.into(), numbers.1.into()];
            let mut results = [Val::I32(0); 2];
            func.call(&mut *store, &arguments, &mut results)?;
            Ok((results[0], results[1]))
        }
    }));
    let model = store.data_mut();
    model.go_back(before);
    if let Some(wrong) = model.wrong.take() {
        return Err(wrong);
    }
    ended(store, result, end, matches!(call.path, Path::Caught))
}

/// Chooses how the host function ends.
fn end(store: &mut Context<'_>, end: End) -> Verdict<Option<FrameEnd>> {
    Ok(match end {
        End::Return(choice) => {
            let (_, fits) = value(store, choice, ValueKind::Any)?;
            // A kept object is read again when it is needed.
            let is_kept = |expected: &Expected| match expected {
                Expected::Object(index) => store.data().objects[*index].owned.is_some(),
                _ => true,
            };
            Some(FrameEnd::Return(fits.filter(is_kept).unwrap_or(Expected::Null(ValueKind::Any))))
        }
        End::Fail => Some(FrameEnd::Fail),
        End::Throw(choice) => {
            let (_, fits) = value(store, choice, ValueKind::Exn)?;
            match fits {
                Some(Expected::Exn(index)) => Some(FrameEnd::Throw(index)),
                _ => None,
            }
        }
        End::Panic => Some(FrameEnd::Panic),
    })
}

/// Checks that a call ended as the host function did.
fn ended(
    store: &mut Context<'_>,
    result: std::thread::Result<Result<(Val, Val)>>,
    end: FrameEnd,
    is_caught: bool,
) -> Verdict {
    match (result, end) {
        (Ok(Ok((value, number))), FrameEnd::Return(expected)) => {
            compare(store, number, Expected::I32(1))?;
            compare(store, value, expected)
        }
        (Ok(Ok((value, number))), FrameEnd::Throw(index)) if is_caught => {
            let (_, first, second) = store.data().exceptions[index];
            // The tag of another instance is not caught.
            compare(store, number, first)?;
            compare(store, value, second)
        }
        (Ok(Err(error)), FrameEnd::Throw(index)) => {
            let exception = error.downcast_ref::<Exception>();
            let exception = exception.ok_or_else(|| format!("no exception: {error:?}"))?;
            let reference =
                exception.reference(&mut *store).map_err(|error| format!("{error:?}"))?;
            compare(store, reference.into(), Expected::Exn(index))
        }
        (Ok(Err(error)), FrameEnd::Fail) if crate::message(&error) == FAILURE => Ok(()),
        // The object was forgotten in between.
        (Ok(Err(_)), FrameEnd::Return(Expected::Object(index)))
            if store.data().objects[index].owned.is_none() =>
        {
            Ok(())
        }
        (Err(_), FrameEnd::Panic) => Ok(()),
        // The call collected a host value that panics when it is dropped.
        (Err(panic), _) if panic.downcast_ref() == Some(&DROPPED) => Ok(()),
        (Err(panic), _) => resume_unwind(panic),
        (Ok(other), _) => Err(format!("a call ended in another way: {other:?}")),
    }
}

/// The host function that is a closure of Rust types.
fn wrapped(
    mut caller: Caller<'_, Model>,
    any: Option<AnyRef>,
    integer: i64,
    float: f32,
) -> Result<(Option<AnyRef>, i32)> {
    let value = reached(&mut caller.as_context_mut(), Val::AnyRef(any), (integer, float))?;
    match value {
        Val::AnyRef(value) => Ok((value, 1)),
        _ => Ok((None, 1)),
    }
}

/// Runs the operations of a host function.
fn reached(store: &mut Context<'_>, argument: Val, numbers: (i64, f32)) -> Result<Val> {
    let scopes = store.data_mut().begin_scope();
    let frame = store.data_mut().frames.pop();
    let result = match frame {
        None => Err("an unexpected call of the host".to_string()),
        Some(frame) => in_frame(store, argument, numbers, &frame).map(|()| frame.end),
    };
    let value = match result {
        Ok(end) => finish(store, end),
        Err(wrong) => {
            store.data_mut().wrong = Some(wrong);
            Err(Error::msg(FAILURE))
        }
    };
    store.data_mut().scopes.truncate(scopes);
    value
}

fn in_frame(
    store: &mut Context<'_>,
    argument: Val,
    numbers: (i64, f32),
    frame: &HostFrame,
) -> Verdict {
    if numbers != frame.numbers {
        return Err(format!("a host function got {numbers:?}"));
    }
    compare(store, argument, frame.argument)?;
    step::steps(store, &frame.operations)
}

fn finish(store: &mut Context<'_>, end: FrameEnd) -> Result<Val> {
    match end {
        FrameEnd::Return(expected) => make(store, expected).map_err(Error::msg),
        FrameEnd::Fail => Err(Error::msg(FAILURE)),
        FrameEnd::Throw(index) => {
            let owned = store.data().exceptions[index].0.clone();
            let reference = owned.get(&mut *store)?;
            Err(Exception::from_ref(store, reference)?.into())
        }
        FrameEnd::Panic => resume_unwind(Box::new("a host function panics")),
    }
}
