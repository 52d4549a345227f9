//! Operations on objects, host values, exceptions and functions.

use super::value::{kept, make, value};
use super::{Context, Verdict, chosen, outcome};
use crate::api::model::*;
use crate::api::operation::{Choice, Extra, ValueKind};
use ropewalk::*;
use std::panic::resume_unwind;
use std::sync::Mutex;

/// An exported function that creates objects, and the type of references to them.
pub fn maker(store: &mut Context<'_>, name: &str) -> Option<(Func, ValType)> {
    let instance = *store.data().instances.first()?;
    let func = instance.get_func(&mut *store, name)?;
    let ty = *func.ty(&*store).ok()?.results().first()?;
    Some((func, ty))
}

pub fn new_node(store: &mut Context<'_>, [any, external, func]: [Choice; 3]) -> Verdict {
    let Some((_, ty)) = maker(store, "node") else { return Ok(()) };
    let ty = StructType::of(store.engine(), ty).ok_or("nodes are structs")?;
    let index = store.data().objects.len();
    let (any, first) = value(store, any, ValueKind::Any)?;
    let (external, second) = value(store, external, ValueKind::Extern)?;
    let (func, third) = value(store, func, ValueKind::Func)?;
    let fields = [Val::I32(index as i32), any, Val::I64(3), external, func];
    let made = StructRef::new(&mut *store, &ty, &fields);
    let fits = first.zip(second).zip(third);
    if let Some(made) = outcome(made, fits.is_some(), "StructRef::new")?
        && let Some(((first, second), third)) = fits
    {
        let slots = vec![Expected::I32(index as i32), first, Expected::I64(3), second, third];
        keep(store, made.into(), false, slots)?;
    }
    Ok(())
}

pub fn new_array(store: &mut Context<'_>, elements: &[Choice]) -> Verdict {
    let Some((_, ty)) = maker(store, "array") else { return Ok(()) };
    let ty = ArrayType::of(store.engine(), ty).ok_or("arrays are arrays")?;
    let mut values = Vec::new();
    let mut slots = Vec::new();
    for choice in elements.iter().take(40) {
        let (value, expected) = value(store, *choice, ValueKind::Any)?;
        values.push(value);
        slots.push(expected);
    }
    let made = ArrayRef::new(&mut *store, &ty, &values);
    let slots: Option<Vec<Expected>> = slots.into_iter().collect();
    if let Some(made) = outcome(made, slots.is_some(), "ArrayRef::new")?
        && let Some(slots) = slots
    {
        keep(store, made.into(), true, slots)?;
    }
    Ok(())
}

pub fn keep(
    store: &mut Context<'_>,
    reference: AnyRef,
    is_array: bool,
    slots: Vec<Expected>,
) -> Verdict {
    let owned = reference.own(&mut *store).map_err(|error| format!("{error:?}"))?;
    let model = store.data_mut();
    model.objects.push(Object { is_array, slots, owned: Some(owned) });
    model.note(reference.into(), Expected::Object(model.objects.len() - 1));
    Ok(())
}

pub fn set_field(store: &mut Context<'_>, which: u8, slot: u8, choice: Choice) -> Verdict {
    let Some(Expected::Object(index)) = kept(store.data(), ValueKind::Any, which) else {
        return Ok(());
    };
    let object = &store.data().objects[index];
    let (is_array, len, slot) = (object.is_array, object.slots.len(), slot as usize % 8);
    let kind = match (is_array, slot) {
        (true, _) | (_, 1) => ValueKind::Any,
        (_, 0) => ValueKind::I32,
        (_, 2) => ValueKind::I64,
        (_, 3) => ValueKind::Extern,
        _ => ValueKind::Func,
    };
    let (given, fits) = value(store, choice, kind)?;
    let Val::AnyRef(Some(object)) = make(store, Expected::Object(index))? else { return Ok(()) };
    let failed = |error: Error| format!("object {index}: {error:?}");
    let result = if is_array {
        let array = object.as_array(&*store).map_err(failed)?;
        let array = array.ok_or_else(|| format!("object {index} is no array"))?;
        array.set(&mut *store, slot as u32, given)
    } else {
        let node = object.as_struct(&*store).map_err(failed)?;
        let node = node.ok_or_else(|| format!("object {index} is no struct"))?;
        node.set_field(&mut *store, slot, given)
    };
    let should_work = fits.is_some() && slot < len && (is_array || slot > 0);
    if outcome(result, should_work, "setting a field")?.is_some()
        && let Some(value) = fits
    {
        store.data_mut().objects[index].slots[slot] = value;
    }
    Ok(())
}

/// A host value with a `Drop` implementation.
#[allow(dead_code, reason = "it is there to be dropped")]
enum Dropped {
    Store(Box<Store<()>>),
    Reference(Owned<ExternRef>),
    Panics(Bomb),
}

/// The panic message of a host value that is dropped.
pub const DROPPED: &str = "a value panics when it is dropped";

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            resume_unwind(Box::new(DROPPED));
        }
    }
}

pub fn new_extern(store: &mut Context<'_>, extra: Extra) -> Verdict {
    let index = store.data().externs.len();
    let dropped = match extra {
        Extra::Nothing => None,
        Extra::HoldsStore => Some(Dropped::Store(Box::new(Store::new(store.engine(), ())))),
        Extra::HoldsReference(which) => {
            let externs = &store.data().externs;
            chosen(which, index).map(|which| Dropped::Reference(externs[which].clone()))
        }
        Extra::Panics => Some(Dropped::Panics(Bomb)),
    };
    // A value with a `Drop` implementation is dropped soon.
    if let Some(dropped) = dropped {
        let mut scope = RootScope::new(&mut *store);
        let made = ExternRef::new(&mut scope, Mutex::new(dropped)).map(drop);
        outcome(made, true, "ExternRef::new")?;
    }
    let made = ExternRef::new(&mut *store, Marked(index));
    let Some(made) = outcome(made, true, "ExternRef::new")? else { return Ok(()) };
    let owned = made.own(&mut *store).map_err(|error| format!("{error:?}"))?;
    store.data_mut().externs.push(owned);
    store.data_mut().note(made.into(), Expected::Extern(index));
    Ok(())
}

pub fn new_exception(store: &mut Context<'_>, number: Choice, choice: Choice) -> Verdict {
    let Some(tag) = failure_tag(store) else { return Ok(()) };
    let (number, first) = value(store, number, ValueKind::I32)?;
    let (given, second) = value(store, choice, ValueKind::Any)?;
    let fits = first.zip(second);
    let made = ExnRef::new(&mut *store, tag, &[number, given]);
    if let Some(made) = outcome(made, fits.is_some(), "ExnRef::new")?
        && let Some((first, second)) = fits
    {
        let owned = made.own(&mut *store).map_err(|error| format!("{error:?}"))?;
        let model = store.data_mut();
        model.exceptions.push((owned, first, second));
        model.note(made.into(), Expected::Exn(model.exceptions.len() - 1));
    }
    Ok(())
}

pub fn failure_tag(store: &mut Context<'_>) -> Option<Tag> {
    let instance = *store.data().instances.first()?;
    let tag = instance.get_tag(&mut *store, "failure")?;
    store.data().lend(Item::Tag(tag));
    Some(tag)
}

pub fn new_func(store: &mut Context<'_>) -> Verdict {
    let number = store.data().funcs.len() as i32;
    let func = Func::wrap(&mut *store, move || number);
    store.data().lend(Item::Func(func));
    store.data_mut().funcs.push(func);
    Ok(())
}
