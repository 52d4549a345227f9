//! Compares everything with the model.

use super::place::PAGE;
use super::value::compare;
use super::{Context, Verdict};
use crate::api::model::*;
use ropewalk::*;

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

pub fn verify_memory(store: &mut Context<'_>, index: usize) -> Verdict {
    let MemoryModel { memory, pages, ref bytes, .. } = store.data().memories[index];
    let data = memory.data(store).map_err(|error| format!("memory {index}: {error:?}"))?;
    let as_written = bytes.iter().all(|(at, byte)| data[*at] == *byte);
    match data.len() as u64 == pages * PAGE && as_written {
        true => Ok(()),
        false => Err(format!("memory {index} is not as it was written")),
    }
}

pub fn verify_object(store: &mut Context<'_>, index: usize) -> Verdict {
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
