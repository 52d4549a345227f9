//! Operations on globals, tables and memories.

use super::value::value;
use super::{Context, Verdict, chosen, outcome};
use crate::api::model::*;
use crate::api::operation::{Choice, ValueKind};
use ropewalk::*;

pub fn new_global(
    store: &mut Context<'_>,
    kind: ValueKind,
    mutable: bool,
    choice: Choice,
) -> Verdict {
    let (given, fits) = value(store, choice, kind)?;
    let ty = GlobalType { content: kind.ty(), mutable };
    let global = Global::new(&mut *store, ty, given);
    if let Some(global) = outcome(global, fits.is_some(), "Global::new")?
        && let Some(value) = fits
    {
        store.data().lend(Item::Global(global));
        store.data_mut().globals.push(GlobalModel { global, kind, mutable, value });
    }
    Ok(())
}

pub fn set_global(store: &mut Context<'_>, which: u8, choice: Choice) -> Verdict {
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

pub fn new_table(
    store: &mut Context<'_>,
    kind: ValueKind,
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
        store.data().lend(Item::Table(table));
        let elements = vec![value; minimum as usize];
        store.data_mut().tables.push(TableModel { table, kind, maximum, elements });
    }
    Ok(())
}

pub fn set_table(store: &mut Context<'_>, which: u8, index: u8, choice: Choice) -> Verdict {
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

pub fn grow_table(store: &mut Context<'_>, which: u8, by: u8, choice: Choice) -> Verdict {
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
            return Err(format!("Table::grow returns {old}, but there were {len} elements"));
        }
        store.data_mut().tables[number].elements.resize(len + by, value);
    }
    Ok(())
}

/// The size of a page.
pub const PAGE: u64 = 1 << 16;

pub fn new_memory(store: &mut Context<'_>, pages: u8, maximum: Option<u8>) -> Verdict {
    if store.data().memories.len() > 6 {
        return Ok(());
    }
    let (minimum, maximum) = (u64::from(pages % 3), maximum.map(|most| u64::from(most % 5)));
    let ty = MemoryType { minimum, maximum, memory64: pages & 128 != 0 };
    let should_work = maximum.is_none_or(|maximum| minimum <= maximum);
    let memory = Memory::new(&mut *store, ty);
    if let Some(memory) = outcome(memory, should_work, "Memory::new")? {
        store.data().lend(Item::Memory(memory));
        let memory = MemoryModel { memory, pages: minimum, maximum, bytes: vec![] };
        store.data_mut().memories.push(memory);
    }
    Ok(())
}

pub fn write_memory(store: &mut Context<'_>, which: u8, at: u32, byte: u8) -> Verdict {
    let Some(index) = chosen(which, store.data().memories.len()) else { return Ok(()) };
    let MemoryModel { memory, pages, .. } = store.data().memories[index];
    // Most accesses are near the end.
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

pub fn grow_memory(store: &mut Context<'_>, which: u8, by: u8) -> Verdict {
    let Some(index) = chosen(which, store.data().memories.len()) else { return Ok(()) };
    let MemoryModel { memory, pages, maximum, .. } = store.data().memories[index];
    let by = u64::from(by % 3);
    let has_room = maximum.is_none_or(|maximum| pages + by <= maximum);
    let result = memory.grow(&mut *store, by);
    if let Some(old) = outcome(result, has_room, "Memory::grow")? {
        if old != pages {
            return Err(format!("Memory::grow returns {old}, but there were {pages} pages"));
        }
        store.data_mut().memories[index].pages += by;
    }
    Ok(())
}
