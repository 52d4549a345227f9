//! Runs a module in Wasmtime.

use super::observation::{Cause, Ending, Observation, Value, f32_bits, f64_bits};
use ::wasmtime::{
    AnyRef, Caller, Config, Engine, ExternRef, ExternType, FuncType, Instance, Linker, Module,
    OptLevel, Rooted, Store, StoreLimits, StoreLimitsBuilder, Tag, TagType, ThrownException, Trap,
    V128, Val, ValType,
};
use std::sync::LazyLock;

static ENGINE: LazyLock<Engine> = LazyLock::new(|| {
    let mut config = Config::new();
    config.cranelift_opt_level(OptLevel::Speed);
    config.wasm_function_references(true).wasm_gc(true).wasm_exceptions(true);
    config.wasm_tail_call(true).wasm_multi_memory(true).wasm_memory64(true);
    config.wasm_wide_arithmetic(true).wasm_extended_const(true);
    // The same size as in the engine under test.
    config.max_wasm_stack(1 << 20).async_stack_size(4 << 20);
    Engine::new(&config).expect("a valid configuration")
});

/// The values that the host received, and the limits of a store.
struct Host {
    notes: Vec<Value>,
    limits: StoreLimits,
}

/// Runs all exports of a module. Returns `None` if Wasmtime does not support it.
pub fn observe(wasm: &[u8], numbers: &[u64]) -> Result<Option<Observation>, String> {
    let Ok(module) = Module::new(&ENGINE, wasm) else { return Ok(None) };
    let limits = StoreLimitsBuilder::new().memory_size(256 << 20).build();
    let mut store = Store::new(&ENGINE, Host { notes: Vec::new(), limits });
    store.limiter(|host| &mut host.limits);
    let mut seen = Observation::default();
    let linker = linker(&mut store).map_err(|error| format!("Wasmtime: {error:?}"))?;
    let instance = match linker.instantiate(&mut store, &module) {
        Ok(instance) => instance,
        Err(error) => {
            seen.end("instantiated", ending(&mut store, &error)?);
            return Ok(Some(seen));
        }
    };
    call_all(&mut store, instance, &module, numbers, &mut seen)?;
    look_at_all(&mut store, instance, &module, &mut seen)?;
    seen.notes = std::mem::take(&mut store.data_mut().notes);
    Ok(Some(seen))
}

fn linker(store: &mut Store<Host>) -> ::wasmtime::Result<Linker<Host>> {
    let mut linker = Linker::new(&ENGINE);
    linker.func_wrap(
        "host",
        "note",
        |mut caller: Caller<'_, Host>, a: i32, b: i64, c: f32, d: f64| {
            let (c, d) = (f32_bits(c.to_bits().into()), f64_bits(d.to_bits()));
            let values = [Value::I32(a), Value::I64(b), Value::F32(c), Value::F64(d)];
            caller.data_mut().notes.extend(values);
        },
    )?;
    linker
        .func_wrap("host", "give", |caller: Caller<'_, Host>| caller.data().notes.len() as i64)?;
    linker.func_wrap(
        "host",
        "pass",
        |_: Caller<'_, Host>, a: Option<Rooted<ExternRef>>, b: Option<Rooted<AnyRef>>| (b, a),
    )?;
    let ty = TagType::new(FuncType::new(&ENGINE, [ValType::I32], []));
    let tag = Tag::new(&mut *store, &ty)?;
    linker.define(store, "host", "tag", tag)?;
    Ok(linker)
}

fn call_all(
    store: &mut Store<Host>,
    instance: Instance,
    module: &Module,
    numbers: &[u64],
    seen: &mut Observation,
) -> Result<(), String> {
    let mut numbers = numbers.iter().copied().cycle();
    for export in module.exports() {
        let ExternType::Func(ty) = export.ty() else { continue };
        let Some(func) = instance.get_func(&mut *store, export.name()) else { continue };
        let arguments = ty.params().map(|ty| argument(&ty, &mut numbers));
        let Some(arguments) = arguments.collect::<Option<Vec<Val>>>() else { continue };
        let mut results = vec![Val::I32(0); ty.results().len()];
        let ending = match func.call(&mut *store, &arguments, &mut results) {
            Ok(()) => Ending::Returned(values(store, &results)?),
            Err(error) => ending(store, &error)?,
        };
        if !seen.end(export.name(), ending) {
            break;
        }
    }
    Ok(())
}

fn argument(ty: &ValType, numbers: &mut impl Iterator<Item = u64>) -> Option<Val> {
    let mut next = || numbers.next().unwrap_or(0);
    Some(match ty {
        ValType::I32 => Val::I32(next() as i32),
        ValType::I64 => Val::I64(next() as i64),
        ValType::F32 => Val::F32(f32_bits(next())),
        ValType::F64 => Val::F64(f64_bits(next())),
        ValType::V128 => Val::V128(V128::from(u128::from(next()) << 64 | u128::from(next()))),
        ValType::Ref(ty) if ty.is_nullable() => Val::null_ref(ty.heap_type()),
        _ => return None,
    })
}

fn look_at_all(
    store: &mut Store<Host>,
    instance: Instance,
    module: &Module,
    seen: &mut Observation,
) -> Result<(), String> {
    for export in module.exports() {
        let name = export.name();
        match export.ty() {
            ExternType::Memory(_) => {
                if let Some(memory) = instance.get_memory(&mut *store, name) {
                    seen.memory(name, memory.data(&*store));
                }
            }
            ExternType::Global(_) => {
                if let Some(global) = instance.get_global(&mut *store, name) {
                    let value = global.get(&mut *store);
                    seen.global(name, values(store, &[value])?);
                }
            }
            ExternType::Table(_) => {
                let Some(table) = instance.get_table(&mut *store, name) else { continue };
                let mut held = Vec::new();
                for i in 0..table.size(&*store) {
                    let value = table.get(&mut *store, i).map(Val::from);
                    let value = value.ok_or_else(|| "an element is missing".to_string())?;
                    held.extend(values(store, &[value])?);
                }
                seen.table(name, held);
            }
            _ => {}
        }
    }
    Ok(())
}

fn values(store: &mut Store<Host>, values: &[Val]) -> Result<Vec<Value>, String> {
    let value = |value: &Val| {
        Ok(match value {
            Val::I32(value) => Value::I32(*value),
            Val::I64(value) => Value::I64(*value),
            Val::F32(bits) => Value::F32(f32_bits((*bits).into())),
            Val::F64(bits) => Value::F64(f64_bits(*bits)),
            Val::V128(bits) => Value::V128(bits.as_u128()),
            Val::AnyRef(Some(reference)) => {
                let number = reference.as_i31(&*store).map_err(|error| format!("{error:?}"))?;
                number.map_or(Value::Reference, |number| Value::I31(number.get_u32()))
            }
            Val::FuncRef(None) | Val::ExternRef(None) | Val::AnyRef(None) | Val::ExnRef(None) => {
                Value::Null
            }
            _ => Value::Reference,
        })
    };
    values.iter().map(value).collect()
}

fn ending(store: &mut Store<Host>, error: &::wasmtime::Error) -> Result<Ending, String> {
    if error.is::<ThrownException>() {
        let exception = store.take_pending_exception();
        let exception = exception.ok_or_else(|| "an exception is missing".to_string())?;
        let thrown = exception.fields(&mut *store).map_err(|error| format!("{error:?}"))?;
        let thrown: Vec<Val> = thrown.collect();
        return Ok(Ending::Threw(values(store, &thrown)?));
    }
    // Other errors mean that something is full.
    let Some(trap) = error.downcast_ref::<Trap>() else {
        return Ok(Ending::Trapped(Cause::Exhausted));
    };
    Ok(Ending::Trapped(match trap {
        Trap::UnreachableCodeReached => Cause::Unreachable,
        Trap::MemoryOutOfBounds => Cause::MemoryOutOfBounds,
        Trap::TableOutOfBounds => Cause::TableOutOfBounds,
        Trap::IndirectCallToNull => Cause::UninitializedElement,
        Trap::BadSignature => Cause::TypeMismatch,
        Trap::IntegerDivisionByZero => Cause::DivideByZero,
        Trap::IntegerOverflow => Cause::IntegerOverflow,
        Trap::BadConversionToInteger => Cause::InvalidConversion,
        Trap::NullReference => Cause::NullReference,
        Trap::ArrayOutOfBounds => Cause::ArrayOutOfBounds,
        Trap::CastFailure => Cause::CastFailure,
        Trap::StackOverflow | Trap::AllocationTooLarge => Cause::Exhausted,
        other => return Err(format!("another trap of Wasmtime: {other:?}")),
    }))
}
