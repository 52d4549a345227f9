//! Runs a module in a mode of the engine.

use super::generate::Case;
use crate::oracle::modes::Mode;
use crate::oracle::observation::{Cause, Ending, Observation, Value, f32_bits, f64_bits};
use ropewalk::{
    AsContextMut, Caller, Exception, Extern, Instance, Linker, Module, RefType, Store, Tag, Trap,
    TrapCode, Val, ValType,
};

/// The values that the host received.
type Notes = Vec<Value>;

/// Runs all exports of a module.
pub fn observe(mode: &Mode, case: &Case) -> Result<Observation, String> {
    let module = Module::from_binary(&mode.engine, &case.wasm)
        .map_err(|error| format!("{}: refused: {error}", mode.name))?;
    let mut store = Store::new(&mode.engine, Notes::new());
    let mut seen = Observation::default();
    let linker = linker(&mut store).map_err(|error| format!("{error:?}"))?;
    let instance = match linker.instantiate(&mut store, &module) {
        Ok(instance) => instance,
        Err(error) => {
            seen.end("instantiated", ending(&mut store, &error)?);
            return Ok(seen);
        }
    };
    call_all(&mut store, instance, case, &mut seen)?;
    look_at_all(&mut store, instance, &mut seen)?;
    seen.notes = std::mem::take(store.data_mut());
    Ok(seen)
}

fn linker(store: &mut Store<Notes>) -> ropewalk::Result<Linker<Notes>> {
    let mut linker = Linker::new(&store.engine().clone());
    linker.func_wrap(
        "host",
        "note",
        |mut caller: Caller<'_, Notes>, a: i32, b: i64, c: f32, d: f64| {
            let values = [a.into(), b.into(), Val::F32(c.to_bits()), Val::F64(d.to_bits())];
            caller.data_mut().extend(values.map(number).into_iter().flatten());
        },
    )?;
    linker.func_wrap("host", "give", |caller: Caller<'_, Notes>| caller.data().len() as i64)?;
    linker.func_wrap(
        "host",
        "pass",
        |a: Option<ropewalk::ExternRef>, b: Option<ropewalk::AnyRef>| (b, a),
    )?;
    let tag = Tag::with_params(&mut *store, [ValType::I32])?;
    linker.define(store, "host", "tag", tag)?;
    Ok(linker)
}

/// Calls each function whose parameters are numbers and nullable references.
fn call_all(
    store: &mut Store<Notes>,
    instance: Instance,
    case: &Case,
    seen: &mut Observation,
) -> Result<(), String> {
    let exports = instance.exports(&mut *store).map_err(|error| format!("{error:?}"))?;
    let mut numbers = case.numbers.iter().copied().cycle();
    for (name, item) in exports {
        let Extern::Func(func) = item else { continue };
        let ty = func.ty(&*store).map_err(|error| format!("{error:?}"))?;
        let arguments = ty.params().iter().map(|ty| argument(*ty, &mut numbers));
        let Some(arguments) = arguments.collect::<Option<Vec<Val>>>() else { continue };
        let mut results = vec![Val::I32(0); ty.results().len()];
        let ending = match func.call(&mut *store, &arguments, &mut results) {
            Ok(()) => Ending::Returned(values(store, &results)?),
            Err(error) => ending(store, &error)?,
        };
        if !seen.end(&name, ending) {
            break;
        }
    }
    Ok(())
}

fn argument(ty: ValType, numbers: &mut impl Iterator<Item = u64>) -> Option<Val> {
    let mut next = || numbers.next().unwrap_or(0);
    Some(match ty {
        ValType::I32 => Val::I32(next() as i32),
        ValType::I64 => Val::I64(next() as i64),
        ValType::F32 => Val::F32(f32_bits(next())),
        ValType::F64 => Val::F64(f64_bits(next())),
        ValType::V128 => Val::V128(u128::from(next()) << 64 | u128::from(next())),
        ValType::Ref(RefType { nullable: true, .. }) => Val::default_for(ty),
        _ => return None,
    })
}

/// Records the final contents of memories, globals and tables.
fn look_at_all(
    store: &mut Store<Notes>,
    instance: Instance,
    seen: &mut Observation,
) -> Result<(), String> {
    let failed = |error: ropewalk::Error| format!("{error:?}");
    for (name, item) in instance.exports(&mut *store).map_err(failed)? {
        match item {
            Extern::Memory(memory) => seen.memory(&name, memory.data(store).map_err(failed)?),
            Extern::Global(global) => {
                let value = global.get(&mut *store).map_err(failed)?;
                let value = values(store, &[value])?;
                seen.global(&name, value);
            }
            Extern::Table(table) => {
                let size = table.size(&*store).map_err(failed)?;
                let mut held = Vec::new();
                for i in 0..size {
                    let value = table.get(&mut *store, i).map_err(failed)?;
                    held.extend(values(store, &[value])?);
                }
                seen.table(&name, held);
            }
            _ => {}
        }
    }
    Ok(())
}

fn number(value: Val) -> Option<Value> {
    Some(match value {
        Val::I32(value) => Value::I32(value),
        Val::I64(value) => Value::I64(value),
        Val::F32(bits) => Value::F32(f32_bits(bits.into())),
        Val::F64(bits) => Value::F64(f64_bits(bits)),
        Val::V128(bits) => Value::V128(bits),
        _ => return None,
    })
}

fn values(store: &mut Store<Notes>, values: &[Val]) -> Result<Vec<Value>, String> {
    let value = |value: &Val| match *value {
        Val::AnyRef(Some(reference)) => {
            let number = reference.as_i31(&mut *store).map_err(|error| format!("{error:?}"))?;
            Ok(number.map_or(Value::Reference, Value::I31))
        }
        Val::FuncRef(None) | Val::ExternRef(None) | Val::AnyRef(None) => Ok(Value::Null),
        Val::ExnRef(None) | Val::ContRef(None) => Ok(Value::Null),
        other => Ok(number(other).unwrap_or(Value::Reference)),
    };
    values.iter().map(value).collect()
}

/// The outcome of a call that did not return.
fn ending(store: &mut Store<Notes>, error: &ropewalk::Error) -> Result<Ending, String> {
    if let Some(trap) = error.downcast_ref::<Trap>() {
        let cause = cause(trap.code());
        let cause = cause.ok_or_else(|| format!("a trap of stack switching: {error:?}"))?;
        return Ok(Ending::Trapped(cause));
    }
    let Some(exception) = error.downcast_ref::<Exception>() else {
        return Err(format!("an error of no kind: {error:?}"));
    };
    let thrown = exception.values(store.as_context_mut()).map_err(|error| format!("{error:?}"))?;
    Ok(Ending::Threw(values(store, &thrown)?))
}

fn cause(code: TrapCode) -> Option<Cause> {
    Some(match code {
        TrapCode::Unreachable => Cause::Unreachable,
        TrapCode::MemoryOutOfBounds => Cause::MemoryOutOfBounds,
        TrapCode::TableOutOfBounds | TrapCode::UndefinedElement => Cause::TableOutOfBounds,
        TrapCode::UninitializedElement => Cause::UninitializedElement,
        TrapCode::IndirectCallTypeMismatch => Cause::TypeMismatch,
        TrapCode::IntegerDivideByZero => Cause::DivideByZero,
        TrapCode::IntegerOverflow => Cause::IntegerOverflow,
        TrapCode::InvalidConversionToInteger => Cause::InvalidConversion,
        TrapCode::CallStackExhausted | TrapCode::OutOfMemory => Cause::Exhausted,
        TrapCode::ArrayOutOfBounds => Cause::ArrayOutOfBounds,
        TrapCode::CastFailure => Cause::CastFailure,
        TrapCode::NullReference
        | TrapCode::NullFunctionReference
        | TrapCode::NullStructReference
        | TrapCode::NullArrayReference
        | TrapCode::NullI31Reference
        | TrapCode::NullExceptionReference => Cause::NullReference,
        _ => return None,
    })
}
