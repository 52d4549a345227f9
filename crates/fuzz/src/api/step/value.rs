//! Turns choices into values, and compares values with the model.

use super::{Context, Verdict, chosen};
use crate::api::model::*;
use crate::api::operation::{Choice, ValueKind};
use ropewalk::*;

/// A value for a place of a kind and its expected value, or `None` if it does not fit.
pub fn value(
    store: &mut Context<'_>,
    choice: Choice,
    kind: ValueKind,
) -> Verdict<(Val, Option<Expected>)> {
    if let Choice::Handle(which) = choice {
        let handles = &store.data().handles;
        if let Some(index) = chosen(which, handles.len()) {
            let handle = handles[index];
            let is_live = store.data().scopes.contains(&handle.scope);
            let is_func = matches!(handle.value, Val::FuncRef(_));
            let fits = (is_live || is_func) && handle.expected.kind() == kind;
            return Ok((handle.value, fits.then_some(handle.expected)));
        }
    }
    if let Choice::Foreign(which) = choice
        && let Some(Item::Value(value)) = store.data().borrowed(which)
    {
        return Ok((value, None));
    }
    let expected = expected(store.data(), choice, kind);
    let value = make(store, expected)?;
    Ok((value, (expected.kind() == kind).then_some(expected)))
}

/// The expected value of a choice for a place of a kind.
pub fn expected(model: &Model, choice: Choice, kind: ValueKind) -> Expected {
    let number = |kind: ValueKind, bits: u64| match kind {
        ValueKind::I32 => Expected::I32(bits as i32),
        ValueKind::I64 => Expected::I64(bits as i64),
        ValueKind::F32 => Expected::F32(bits as u32 & 0x7f00_0000),
        ValueKind::F64 => Expected::F64(bits & 0x7ff0_0000_0000),
        ValueKind::V128 => Expected::V128(u128::from(bits) << 32 | 5),
        reference => Expected::Null(reference),
    };
    match choice {
        Choice::Number(bits) => number(kind, bits),
        Choice::I31(bits) if kind == ValueKind::Any => Expected::I31(bits.into()),
        Choice::Kept(which) | Choice::Handle(which) | Choice::Foreign(which) => {
            kept(model, kind, which).unwrap_or(Expected::default_of(kind))
        }
        Choice::Any(which) => {
            use ValueKind::*;
            let kinds = [I32, I64, F32, F64, V128, Func, Extern, Any, Exn];
            let kind = kinds[which as usize % kinds.len()];
            kept(model, kind, which / 16).unwrap_or(number(kind, which.into()))
        }
        _ => Expected::default_of(kind),
    }
}

/// An item of a kind to which the model has a reference.
pub fn kept(model: &Model, kind: ValueKind, which: u8) -> Option<Expected> {
    match kind {
        ValueKind::Any => {
            let owned = |index: &usize| model.objects[*index].owned.is_some();
            let objects: Vec<usize> = (0..model.objects.len()).filter(owned).collect();
            Some(Expected::Object(objects[chosen(which, objects.len())?]))
        }
        ValueKind::Extern => Some(Expected::Extern(chosen(which, model.externs.len())?)),
        ValueKind::Func => Some(Expected::Func(chosen(which, model.funcs.len())?)),
        ValueKind::Exn => Some(Expected::Exn(chosen(which, model.exceptions.len())?)),
        _ => None,
    }
}

/// Creates a value in the current scope.
pub fn make(store: &mut Context<'_>, expected: Expected) -> Verdict<Val> {
    let failed = |error: Error| format!("a reference that is kept is not there: {error:?}");
    let value = match expected {
        Expected::I32(value) => Val::I32(value),
        Expected::I64(value) => Val::I64(value),
        Expected::F32(bits) => Val::F32(bits),
        Expected::F64(bits) => Val::F64(bits),
        Expected::V128(value) => Val::V128(value),
        Expected::Null(kind) => Val::default_for(kind.ty()),
        Expected::I31(value) => AnyRef::i31(&mut *store, value).into(),
        Expected::Object(index) => match store.data().objects[index].owned.clone() {
            Some(owned) => owned.get(&mut *store).map_err(failed)?.into(),
            None => return Err(format!("object {index} is not kept")),
        },
        Expected::Extern(index) => {
            let owned = store.data().externs[index].clone();
            owned.get(&mut *store).map_err(failed)?.into()
        }
        Expected::Func(index) => store.data().funcs[index].into(),
        Expected::Exn(index) => {
            let owned = store.data().exceptions[index].0.clone();
            owned.get(&mut *store).map_err(failed)?.into()
        }
    };
    store.data_mut().note(value, expected);
    Ok(value)
}

/// Compares a value that the engine just returned.
pub fn compare(store: &mut Context<'_>, value: Val, expected: Expected) -> Verdict {
    store.data_mut().note(value, expected);
    compare_again(store, value, expected)
}

/// Compares a value that the engine returned earlier.
pub fn compare_again(store: &mut Context<'_>, value: Val, expected: Expected) -> Verdict {
    let is_equal = match (value, expected) {
        (Val::I32(found), Expected::I32(value)) => found == value,
        (Val::I64(found), Expected::I64(value)) => found == value,
        (Val::F32(found), Expected::F32(value)) => found == value,
        (Val::F64(found), Expected::F64(value)) => found == value,
        (Val::V128(found), Expected::V128(value)) => found == value,
        (Val::FuncRef(None), Expected::Null(kind)) => kind == ValueKind::Func,
        (Val::ExternRef(None), Expected::Null(kind)) => kind == ValueKind::Extern,
        (Val::AnyRef(None), Expected::Null(kind)) => kind == ValueKind::Any,
        (Val::ExnRef(None), Expected::Null(kind)) => kind == ValueKind::Exn,
        (Val::AnyRef(Some(found)), Expected::I31(value)) => {
            found.as_i31(&*store).map_err(|error| format!("{error:?}"))? == Some(value)
        }
        (Val::AnyRef(Some(found)), Expected::Object(index)) => is_object(store, found, index)?,
        (Val::ExternRef(Some(found)), Expected::Extern(index)) => {
            let data = found.data(store).map_err(|error| format!("{error:?}"))?;
            data.downcast_ref::<Marked>().is_some_and(|marked| marked.0 == index)
        }
        (Val::FuncRef(Some(found)), Expected::Func(index)) => {
            let func = found.typed::<(), i32>(&*store).map_err(|error| format!("{error:?}"))?;
            let number = func.call(&mut *store, ()).map_err(|error| format!("{error:?}"))?;
            number == index as i32
        }
        (Val::ExnRef(Some(found)), Expected::Exn(index)) => is_exception(store, found, index)?,
        _ => false,
    };
    match is_equal {
        true => Ok(()),
        false => Err(format!("expected {expected:?}, found {value:?}")),
    }
}

pub fn is_object(store: &mut Context<'_>, found: AnyRef, index: usize) -> Verdict<bool> {
    let failed = |error: Error| format!("object {index}: {error:?}");
    let object = &store.data().objects[index];
    let (is_array, len, owned) = (object.is_array, object.slots.len(), object.owned.clone());
    if let Some(owned) = owned {
        let own = owned.get(&mut *store).map_err(failed)?;
        if !own.same(&found, &*store).map_err(failed)? {
            return Ok(false);
        }
    }
    if is_array {
        let array = found.as_array(&*store).map_err(failed)?;
        let array = array.ok_or_else(|| format!("object {index} is no array"))?;
        return Ok(array.len(&*store).map_err(failed)? as usize == len);
    }
    let node = found.as_struct(&*store).map_err(failed)?;
    let node = node.ok_or_else(|| format!("object {index} is no struct"))?;
    let number = node.field(&mut *store, 0).map_err(failed)?;
    Ok(number.i32() == Some(index as i32))
}

pub fn is_exception(store: &mut Context<'_>, found: ExnRef, index: usize) -> Verdict<bool> {
    let (_, number, value) = store.data().exceptions[index];
    let values = found.values(&mut *store).map_err(|error| format!("{error:?}"))?;
    let [first, second] = values[..] else { return Ok(false) };
    compare(store, first, number)?;
    compare(store, second, value)?;
    Ok(true)
}
