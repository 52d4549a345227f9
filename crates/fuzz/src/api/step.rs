//! One operation, done and compared with the model.

use super::call;
use super::model::*;
use super::module;
use super::operation::{Choice, Extra, Kind, Operation, Operations};
use ropewalk::*;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::sync::Mutex;

/// The store in which something is done: as such, in a scope, or in a host
/// function.
pub type Context<'a> = StoreContextMut<'a, Model>;

pub type Verdict<T = ()> = std::result::Result<T, String>;

/// Does operations one after the other.
pub fn steps(store: &mut Context<'_>, operations: &Operations) -> Verdict {
    for operation in &operations.0 {
        let before = store.data().position();
        let result = catch_unwind(AssertUnwindSafe(|| step(store, operation)));
        // A value of the host may panic when it is found to be garbage, before
        // anything else happens.
        let result = result.or_else(|panic| match panic.downcast_ref() {
            Some(&DROPPED) => Ok(Ok(())),
            _ => Err(panic),
        });
        store.data_mut().go_back(before);
        result
            .unwrap_or_else(|panic| resume_unwind(panic))
            .map_err(|wrong| format!("{wrong}\nin {operation:?}"))?;
        if let Some(wrong) = store.data_mut().wrong.take() {
            return Err(wrong);
        }
    }
    Ok(())
}

fn step(store: &mut Context<'_>, operation: &Operation) -> Verdict {
    match operation {
        Operation::NewGlobal { kind, mutable, value } => new_global(store, *kind, *mutable, *value),
        Operation::SetGlobal(which, value) => set_global(store, *which, *value),
        Operation::NewTable { kind, size, maximum, value } => {
            new_table(store, *kind, *size, *maximum, *value)
        }
        Operation::SetTable(which, index, value) => set_table(store, *which, *index, *value),
        Operation::GrowTable(which, by, value) => grow_table(store, *which, *by, *value),
        Operation::NewMemory { pages, maximum } => new_memory(store, *pages, *maximum),
        Operation::WriteMemory(which, at, byte) => write_memory(store, *which, *at, *byte),
        Operation::GrowMemory(which, by) => grow_memory(store, *which, *by),
        Operation::NewNode(any, external, func) => new_node(store, [*any, *external, *func]),
        Operation::NewArray(elements) => new_array(store, elements),
        Operation::SetField(which, slot, value) => set_field(store, *which, *slot, *value),
        Operation::NewExtern(extra) => new_extern(store, *extra),
        Operation::NewException(number, value) => new_exception(store, *number, *value),
        Operation::Forget(which) => {
            if let Some(index) = chosen(*which, store.data().objects.len()) {
                store.data_mut().objects[index].owned = None;
            }
            Ok(())
        }
        Operation::NewFunc => new_func(store),
        Operation::Instantiate { right } => call::instantiate(store, *right),
        Operation::Foreign(thing, how) => use_foreign(store, *thing, *how),
        Operation::UseHandles => use_handles(store),
        Operation::Wrong(which) => do_wrong(store, *which),
        Operation::Scope(operations) => in_scope(store, operations),
        Operation::Call(called) => call::call(store, called),
        Operation::Verify => verify(store),
    }
}

/// Which of so many a number chooses.
pub fn chosen(choice: u8, count: usize) -> Option<usize> {
    (choice as usize).checked_rem(count)
}

/// The error of something that must fail, or that must not.
pub fn outcome<T>(result: Result<T>, should_work: bool, what: &str) -> Verdict<Option<T>> {
    match (result, should_work) {
        (Ok(value), true) => Ok(Some(value)),
        (Err(_), false) => Ok(None),
        (Ok(_), false) => Err(format!("{what} should have failed")),
        (Err(error), true) => Err(format!("{what} failed: {error:?}")),
    }
}

// ---- values

/// A value for a place of a kind, and what it is, unless it does not fit there.
pub fn value(
    store: &mut Context<'_>,
    choice: Choice,
    kind: Kind,
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
        && let Some(Thing::Value(value)) = store.data().borrowed(which)
    {
        return Ok((value, None));
    }
    let expected = expected(store.data(), choice, kind);
    let value = make(store, expected)?;
    Ok((value, (expected.kind() == kind).then_some(expected)))
}

/// What a choice means for a place of a kind.
fn expected(model: &Model, choice: Choice, kind: Kind) -> Expected {
    let number = |kind: Kind, bits: u64| match kind {
        Kind::I32 => Expected::I32(bits as i32),
        Kind::I64 => Expected::I64(bits as i64),
        Kind::F32 => Expected::F32(bits as u32 & 0x7f00_0000),
        Kind::F64 => Expected::F64(bits & 0x7ff0_0000_0000),
        Kind::V128 => Expected::V128(u128::from(bits) << 32 | 5),
        reference => Expected::Null(reference),
    };
    match choice {
        Choice::Number(bits) => number(kind, bits),
        Choice::I31(bits) if kind == Kind::Any => Expected::I31(bits.into()),
        Choice::Kept(which) | Choice::Handle(which) | Choice::Foreign(which) => {
            kept(model, kind, which).unwrap_or(Expected::default_of(kind))
        }
        Choice::Any(which) => {
            use Kind::*;
            let kinds = [I32, I64, F32, F64, V128, Func, Extern, Any, Exn];
            let kind = kinds[which as usize % kinds.len()];
            kept(model, kind, which / 16).unwrap_or(number(kind, which.into()))
        }
        _ => Expected::default_of(kind),
    }
}

/// Something of a kind that the model keeps a reference to.
fn kept(model: &Model, kind: Kind, which: u8) -> Option<Expected> {
    match kind {
        Kind::Any => {
            let owned = |index: &usize| model.objects[*index].owned.is_some();
            let objects: Vec<usize> = (0..model.objects.len()).filter(owned).collect();
            Some(Expected::Object(objects[chosen(which, objects.len())?]))
        }
        Kind::Extern => Some(Expected::Extern(chosen(which, model.externs.len())?)),
        Kind::Func => Some(Expected::Func(chosen(which, model.funcs.len())?)),
        Kind::Exn => Some(Expected::Exn(chosen(which, model.exceptions.len())?)),
        _ => None,
    }
}

/// Makes a value, in the present scope.
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

/// Whether a value that was just given is what it must be.
pub fn compare(store: &mut Context<'_>, value: Val, expected: Expected) -> Verdict {
    store.data_mut().note(value, expected);
    compare_again(store, value, expected)
}

/// Whether a value that was given at some time is what it must be.
fn compare_again(store: &mut Context<'_>, value: Val, expected: Expected) -> Verdict {
    let is_equal = match (value, expected) {
        (Val::I32(found), Expected::I32(value)) => found == value,
        (Val::I64(found), Expected::I64(value)) => found == value,
        (Val::F32(found), Expected::F32(value)) => found == value,
        (Val::F64(found), Expected::F64(value)) => found == value,
        (Val::V128(found), Expected::V128(value)) => found == value,
        (Val::FuncRef(None), Expected::Null(kind)) => kind == Kind::Func,
        (Val::ExternRef(None), Expected::Null(kind)) => kind == Kind::Extern,
        (Val::AnyRef(None), Expected::Null(kind)) => kind == Kind::Any,
        (Val::ExnRef(None), Expected::Null(kind)) => kind == Kind::Exn,
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

fn is_object(store: &mut Context<'_>, found: AnyRef, index: usize) -> Verdict<bool> {
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

fn is_exception(store: &mut Context<'_>, found: ExnRef, index: usize) -> Verdict<bool> {
    let (_, number, value) = store.data().exceptions[index];
    let values = found.values(&mut *store).map_err(|error| format!("{error:?}"))?;
    let [first, second] = values[..] else { return Ok(false) };
    compare(store, first, number)?;
    compare(store, second, value)?;
    Ok(true)
}

// ---- globals and tables

fn new_global(store: &mut Context<'_>, kind: Kind, mutable: bool, choice: Choice) -> Verdict {
    let (given, fits) = value(store, choice, kind)?;
    let ty = GlobalType { content: kind.ty(), mutable };
    let global = Global::new(&mut *store, ty, given);
    if let Some(global) = outcome(global, fits.is_some(), "Global::new")?
        && let Some(value) = fits
    {
        store.data().lend(Thing::Global(global));
        store.data_mut().globals.push(GlobalModel { global, kind, mutable, value });
    }
    Ok(())
}

fn set_global(store: &mut Context<'_>, which: u8, choice: Choice) -> Verdict {
    let Some(index) = chosen(which, store.data().globals.len()) else { return Ok(()) };
    let GlobalModel { global, kind, mutable, .. } = store.data().globals[index];
    let (given, fits) = value(store, choice, kind)?;
    let result = global.set(&mut *store, given);
    if outcome(result, fits.is_some() && mutable, "Global::set")?.is_some()
        && let Some(value) = fits
    {
        store.data_mut().globals[index].value = value;
    }
    Ok(())
}

fn new_table(
    store: &mut Context<'_>,
    kind: Kind,
    size: u8,
    maximum: Option<u8>,
    choice: Choice,
) -> Verdict {
    let ValType::Ref(element) = kind.ty() else { return Ok(()) };
    let (given, fits) = value(store, choice, kind)?;
    let (minimum, maximum) = (u64::from(size % 20), maximum.map(u64::from));
    let ty = TableType { element, minimum, maximum, table64: false };
    let should_work = fits.is_some() && maximum.is_none_or(|maximum| minimum <= maximum);
    let table = Table::new(&mut *store, ty, given);
    if let Some(table) = outcome(table, should_work, "Table::new")?
        && let Some(value) = fits
    {
        store.data().lend(Thing::Table(table));
        let elements = vec![value; minimum as usize];
        store.data_mut().tables.push(TableModel { table, kind, maximum, elements });
    }
    Ok(())
}

fn set_table(store: &mut Context<'_>, which: u8, index: u8, choice: Choice) -> Verdict {
    let Some(number) = chosen(which, store.data().tables.len()) else { return Ok(()) };
    let TableModel { table, kind, ref elements, .. } = store.data().tables[number];
    let (len, index) = (elements.len(), index as usize % 24);
    let (given, fits) = value(store, choice, kind)?;
    let result = table.set(&mut *store, index as u64, given);
    if outcome(result, fits.is_some() && index < len, "Table::set")?.is_some()
        && let Some(value) = fits
    {
        store.data_mut().tables[number].elements[index] = value;
    }
    Ok(())
}

fn grow_table(store: &mut Context<'_>, which: u8, by: u8, choice: Choice) -> Verdict {
    let Some(number) = chosen(which, store.data().tables.len()) else { return Ok(()) };
    let TableModel { table, kind, maximum, ref elements } = store.data().tables[number];
    let (len, by) = (elements.len(), by as usize % 8);
    let (given, fits) = value(store, choice, kind)?;
    let has_room = maximum.is_none_or(|maximum| (len + by) as u64 <= maximum);
    let result = table.grow(&mut *store, by as u64, given);
    if let Some(old) = outcome(result, fits.is_some() && has_room, "Table::grow")?
        && let Some(value) = fits
    {
        if old != len as u64 {
            return Err(format!("Table::grow answers {old}, but there were {len} elements"));
        }
        store.data_mut().tables[number].elements.resize(len + by, value);
    }
    Ok(())
}

// ---- memories

/// How many bytes a page has.
const PAGE: u64 = 1 << 16;

fn new_memory(store: &mut Context<'_>, pages: u8, maximum: Option<u8>) -> Verdict {
    if store.data().memories.len() > 6 {
        return Ok(());
    }
    let (minimum, maximum) = (u64::from(pages % 3), maximum.map(|most| u64::from(most % 5)));
    let ty = MemoryType { minimum, maximum, memory64: pages & 128 != 0 };
    let should_work = maximum.is_none_or(|maximum| minimum <= maximum);
    let memory = Memory::new(&mut *store, ty);
    if let Some(memory) = outcome(memory, should_work, "Memory::new")? {
        store.data().lend(Thing::Memory(memory));
        let memory = MemoryModel { memory, pages: minimum, maximum, bytes: vec![] };
        store.data_mut().memories.push(memory);
    }
    Ok(())
}

fn write_memory(store: &mut Context<'_>, which: u8, at: u32, byte: u8) -> Verdict {
    let Some(index) = chosen(which, store.data().memories.len()) else { return Ok(()) };
    let MemoryModel { memory, pages, .. } = store.data().memories[index];
    // Near the end, most often.
    let size = pages * PAGE;
    let at = if at.is_multiple_of(4) {
        u64::from(at)
    } else {
        (size + u64::from(at % 16)).saturating_sub(8)
    };
    let result = memory.write(&mut *store, at as usize, &[byte]);
    if outcome(result, at < size, "Memory::write")?.is_some() {
        let bytes = &mut store.data_mut().memories[index].bytes;
        bytes.retain(|(there, _)| *there != at as usize);
        bytes.push((at as usize, byte));
    }
    Ok(())
}

fn grow_memory(store: &mut Context<'_>, which: u8, by: u8) -> Verdict {
    let Some(index) = chosen(which, store.data().memories.len()) else { return Ok(()) };
    let MemoryModel { memory, pages, maximum, .. } = store.data().memories[index];
    let by = u64::from(by % 3);
    let has_room = maximum.is_none_or(|maximum| pages + by <= maximum);
    let result = memory.grow(&mut *store, by);
    if let Some(old) = outcome(result, has_room, "Memory::grow")? {
        if old != pages {
            return Err(format!("Memory::grow answers {old}, but there were {pages} pages"));
        }
        store.data_mut().memories[index].pages += by;
    }
    Ok(())
}

// ---- objects

/// An exported function that makes objects, and the number of their type.
fn maker(store: &mut Context<'_>, name: &str) -> Option<(Func, u32)> {
    let instance = *store.data().instances.first()?;
    let func = instance.get_func(&mut *store, name)?;
    match func.ty(&*store).ok()?.results() {
        [ValType::Ref(RefType { heap: HeapType::Concrete(number), .. })] => Some((func, *number)),
        _ => None,
    }
}

fn new_node(store: &mut Context<'_>, [any, external, func]: [Choice; 3]) -> Verdict {
    let Some((_, ty)) = maker(store, "node") else { return Ok(()) };
    let index = store.data().objects.len();
    let (any, first) = value(store, any, Kind::Any)?;
    let (external, second) = value(store, external, Kind::Extern)?;
    let (func, third) = value(store, func, Kind::Func)?;
    let fields = [Val::I32(index as i32), any, Val::I64(3), external, func];
    let made = StructRef::new(&mut *store, ty, &fields);
    let fits = first.zip(second).zip(third);
    if let Some(made) = outcome(made, fits.is_some(), "StructRef::new")?
        && let Some(((first, second), third)) = fits
    {
        let slots = vec![Expected::I32(index as i32), first, Expected::I64(3), second, third];
        keep(store, made.into(), false, slots)?;
    }
    Ok(())
}

fn new_array(store: &mut Context<'_>, elements: &[Choice]) -> Verdict {
    let Some((_, ty)) = maker(store, "array") else { return Ok(()) };
    let mut values = Vec::new();
    let mut slots = Vec::new();
    for choice in elements.iter().take(40) {
        let (value, expected) = value(store, *choice, Kind::Any)?;
        values.push(value);
        slots.push(expected);
    }
    let made = ArrayRef::new(&mut *store, ty, &values);
    let slots: Option<Vec<Expected>> = slots.into_iter().collect();
    if let Some(made) = outcome(made, slots.is_some(), "ArrayRef::new")?
        && let Some(slots) = slots
    {
        keep(store, made.into(), true, slots)?;
    }
    Ok(())
}

fn keep(
    store: &mut Context<'_>,
    reference: AnyRef,
    is_array: bool,
    slots: Vec<Expected>,
) -> Verdict {
    let owned = reference.to_owned(&mut *store).map_err(|error| format!("{error:?}"))?;
    let model = store.data_mut();
    model.objects.push(Object { is_array, slots, owned: Some(owned) });
    model.note(reference.into(), Expected::Object(model.objects.len() - 1));
    Ok(())
}

fn set_field(store: &mut Context<'_>, which: u8, slot: u8, choice: Choice) -> Verdict {
    let Some(Expected::Object(index)) = kept(store.data(), Kind::Any, which) else { return Ok(()) };
    let object = &store.data().objects[index];
    let (is_array, len, slot) = (object.is_array, object.slots.len(), slot as usize % 8);
    let kind = match (is_array, slot) {
        (true, _) | (_, 1) => Kind::Any,
        (_, 0) => Kind::I32,
        (_, 2) => Kind::I64,
        (_, 3) => Kind::Extern,
        _ => Kind::Func,
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

/// Does something when it is dropped, beside being a value of the host.
#[allow(dead_code, reason = "it is there to be dropped")]
enum Dropped {
    Store(Box<Store<()>>),
    Reference(Owned<ExternRef>),
    Panics(Bomb),
}

/// What a value panics with when it is dropped.
pub const DROPPED: &str = "a value panics when it is dropped";

struct Bomb;

impl Drop for Bomb {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            resume_unwind(Box::new(DROPPED));
        }
    }
}

fn new_extern(store: &mut Context<'_>, extra: Extra) -> Verdict {
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
    // What does something when it is dropped is dropped soon.
    if let Some(dropped) = dropped {
        let mut scope = RootScope::new(&mut *store);
        let made = ExternRef::new(&mut scope, Mutex::new(dropped)).map(drop);
        outcome(made, true, "ExternRef::new")?;
    }
    let made = ExternRef::new(&mut *store, Marked(index));
    let Some(made) = outcome(made, true, "ExternRef::new")? else { return Ok(()) };
    let owned = made.to_owned(&mut *store).map_err(|error| format!("{error:?}"))?;
    store.data_mut().externs.push(owned);
    store.data_mut().note(made.into(), Expected::Extern(index));
    Ok(())
}

fn new_exception(store: &mut Context<'_>, number: Choice, choice: Choice) -> Verdict {
    let Some(tag) = failure_tag(store) else { return Ok(()) };
    let (number, first) = value(store, number, Kind::I32)?;
    let (given, second) = value(store, choice, Kind::Any)?;
    let fits = first.zip(second);
    let made = ExnRef::new(&mut *store, tag, &[number, given]);
    if let Some(made) = outcome(made, fits.is_some(), "ExnRef::new")?
        && let Some((first, second)) = fits
    {
        let owned = made.to_owned(&mut *store).map_err(|error| format!("{error:?}"))?;
        let model = store.data_mut();
        model.exceptions.push((owned, first, second));
        model.note(made.into(), Expected::Exn(model.exceptions.len() - 1));
    }
    Ok(())
}

/// The tag that the first instance exports.
pub fn failure_tag(store: &mut Context<'_>) -> Option<Tag> {
    let instance = *store.data().instances.first()?;
    let tag = instance.get_tag(&mut *store, "failure")?;
    store.data().lend(Thing::Tag(tag));
    Some(tag)
}

fn new_func(store: &mut Context<'_>) -> Verdict {
    let number = store.data().funcs.len() as i32;
    let func = Func::wrap(&mut *store, move || number);
    store.data().lend(Thing::Func(func));
    store.data_mut().funcs.push(func);
    Ok(())
}

// ---- misuse

/// Uses something of another store here.
fn use_foreign(store: &mut Context<'_>, which: u8, how: u8) -> Verdict {
    let Some(thing) = store.data().borrowed(which) else { return Ok(()) };
    let worked = match thing {
        // Null and numbers belong to no store.
        Thing::Value(value) => match value {
            Val::AnyRef(Some(found)) => match how % 3 {
                0 => found.as_i31(&*store).is_ok(),
                1 => found.as_struct(&*store).is_ok(),
                _ => found.to_owned(&mut *store).is_ok(),
            },
            Val::ExternRef(Some(found)) => found.data(store).is_ok(),
            Val::ExnRef(Some(found)) => found.values(&mut *store).is_ok(),
            Val::FuncRef(Some(found)) => found.ty(&*store).is_ok(),
            _ => false,
        },
        Thing::Global(global) => match how % 3 {
            0 => global.get(&mut *store).is_ok(),
            1 => global.set(&mut *store, Val::I32(1)).is_ok(),
            _ => global.ty(&*store).is_ok(),
        },
        Thing::Table(table) => match how % 3 {
            0 => table.get(&mut *store, 0).is_ok(),
            1 => table.grow(&mut *store, 1, Val::AnyRef(None)).is_ok(),
            _ => table.size(&*store).is_ok(),
        },
        Thing::Memory(memory) => match how % 3 {
            0 => memory.data(store).is_ok(),
            1 => memory.grow(&mut *store, 1).is_ok(),
            _ => memory.write(&mut *store, 0, &[1]).is_ok(),
        },
        Thing::Func(func) => match how % 2 {
            0 => func.call(&mut *store, &[], &mut [Val::I32(0)]).is_ok(),
            _ => func.typed::<(), i32>(&*store).is_ok(),
        },
        Thing::Tag(tag) => ExnRef::new(&mut *store, tag, &[Val::I32(1), Val::AnyRef(None)]).is_ok(),
        Thing::Instance(instance) => match how % 2 {
            0 => instance.get_func(&mut *store, "wrapped").is_some(),
            _ => instance.exports(&mut *store).is_ok(),
        },
    };
    match worked {
        true => Err("something of another store was accepted".to_string()),
        false => Ok(()),
    }
}

/// Uses every handle: those whose scope has not ended must be what they were.
fn use_handles(store: &mut Context<'_>) -> Verdict {
    let handles = store.data().handles.clone();
    for handle in handles {
        let is_live = store.data().scopes.contains(&handle.scope);
        let works = match handle.value {
            Val::AnyRef(Some(found)) => found.as_i31(&*store).is_ok(),
            Val::ExternRef(Some(found)) => found.data(store).is_ok(),
            Val::ExnRef(Some(found)) => found.tag(&*store).is_ok(),
            // Functions live as long as their store.
            _ => continue,
        };
        match (is_live, works) {
            (true, true) => compare_again(store, handle.value, handle.expected)?,
            (false, false) => {}
            (true, false) => return Err("a reference ended before its scope".to_string()),
            (false, true) => return Err("a reference outlived its scope".to_string()),
        }
    }
    Ok(())
}

/// Something that fails whatever the store has.
fn do_wrong(store: &mut Context<'_>, which: u8) -> Verdict {
    let instance = store.data().instances.first().copied();
    let Some(instance) = instance else { return Ok(()) };
    let func = |store: &mut Context<'_>, name: &str| instance.get_func(store, name);
    let worked = match which % 12 {
        0 => instance.get_func(&mut *store, "memory").is_some(),
        1 => instance.get_memory(&mut *store, "nothing").is_some(),
        2 => instance.get_typed_func::<(), i32>(&mut *store, "i32").is_ok(),
        3 => instance.get_typed_func::<i64, i32>(&mut *store, "i32").is_ok(),
        4 => instance.get_typed_func::<i32, i64>(&mut *store, "i32").is_ok(),
        5 => match func(store, "i32") {
            Some(func) => func.call(&mut *store, &[Val::I64(1)], &mut [Val::I32(0)]).is_ok(),
            None => true,
        },
        6 => match func(store, "i32") {
            Some(func) => func.call(&mut *store, &[], &mut [Val::I32(0)]).is_ok(),
            None => true,
        },
        7 => match func(store, "i32") {
            Some(func) => func.call(&mut *store, &[Val::I32(1)], &mut []).is_ok(),
            None => true,
        },
        8 => StructRef::new(&mut *store, u32::MAX, &[]).is_ok(),
        9 => match maker(store, "node") {
            Some((_, ty)) => ArrayRef::new(&mut *store, ty, &[]).is_ok(),
            None => true,
        },
        10 => {
            let element = RefType { nullable: true, heap: HeapType::Concrete(u32::MAX) };
            let ty = GlobalType { content: ValType::Ref(element), mutable: true };
            Global::new(&mut *store, ty, Val::AnyRef(None)).is_ok()
        }
        _ => Module::new(store.engine(), "(module (func (result i32)))").is_ok(),
    };
    match worked {
        true => Err("what is wrong was accepted".to_string()),
        false => Ok(()),
    }
}

// ---- scopes, and everything

fn in_scope(store: &mut Context<'_>, operations: &Operations) -> Verdict {
    let scopes = store.data_mut().begin_scope();
    let result = {
        let mut scope = RootScope::new(&mut *store);
        steps(&mut scope.as_context_mut(), operations)
    };
    store.data_mut().scopes.truncate(scopes);
    result
}

/// Compares everything with the model.
pub fn verify(store: &mut Context<'_>) -> Verdict {
    for i in 0..store.data().globals.len() {
        let GlobalModel { global, value, .. } = store.data().globals[i];
        let found = global.get(&mut *store).map_err(|error| format!("global {i}: {error:?}"))?;
        compare(store, found, value).map_err(|wrong| format!("global {i}: {wrong}"))?;
    }
    for i in 0..store.data().tables.len() {
        let table = store.data().tables[i].table;
        for (j, value) in store.data().tables[i].elements.clone().into_iter().enumerate() {
            let found = table.get(&mut *store, j as u64);
            let found = found.map_err(|error| format!("table {i}: {error:?}"))?;
            compare(store, found, value).map_err(|wrong| format!("table {i}, {j}: {wrong}"))?;
        }
    }
    for i in 0..store.data().memories.len() {
        verify_memory(store, i)?;
    }
    for i in 0..store.data().objects.len() {
        verify_object(store, i)?;
    }
    Ok(())
}

fn verify_memory(store: &mut Context<'_>, index: usize) -> Verdict {
    let MemoryModel { memory, pages, ref bytes, .. } = store.data().memories[index];
    let data = memory.data(store).map_err(|error| format!("memory {index}: {error:?}"))?;
    let as_written = bytes.iter().all(|(at, byte)| data[*at] == *byte);
    match data.len() as u64 == pages * PAGE && as_written {
        true => Ok(()),
        false => Err(format!("memory {index} is not as it was written")),
    }
}

fn verify_object(store: &mut Context<'_>, index: usize) -> Verdict {
    let Object { is_array, slots, owned } = &store.data().objects[index];
    let (is_array, slots, owned) = (*is_array, slots.clone(), owned.clone());
    let Some(owned) = owned else { return Ok(()) };
    let failed = |error: Error| format!("object {index}: {error:?}");
    let object = owned.get(&mut *store).map_err(failed)?;
    for (i, expected) in slots.into_iter().enumerate() {
        let found = if is_array {
            let array = object.as_array(&*store).map_err(failed)?;
            let array = array.ok_or_else(|| format!("object {index} is no array"))?;
            array.get(&mut *store, i as u32).map_err(failed)?
        } else {
            let node = object.as_struct(&*store).map_err(failed)?;
            let node = node.ok_or_else(|| format!("object {index} is no struct"))?;
            node.field(&mut *store, i).map_err(failed)?
        };
        compare(store, found, expected).map_err(|wrong| format!("object {index}, {i}: {wrong}"))?;
    }
    Ok(())
}

/// The module, compiled for the engine of a store.
pub fn module(store: &Context<'_>) -> Verdict<Module> {
    module::compiled(store.engine()).map_err(|error| format!("does not compile: {error:?}"))
}
