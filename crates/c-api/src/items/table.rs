//! Tables.

use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::{Data, wasm_store_t};
use crate::objects::value::{load_reference, store_reference};
use crate::support::boundary::{or_default, required};
use crate::types::externtype::wasm_externtype_t;
use crate::types::valtype::kind_of;
use anyhow::Result;
use ropewalk::{StoreContextMut, Table, TableType, Val, ValType};

/// Converts an object or null to an element of a table.
fn element(
    context: &mut StoreContextMut<'_, Data>,
    ty: &TableType,
    reference: Option<&wasm_ref_t>,
) -> Result<Val> {
    let kind = kind_of(context.engine(), ValType::Ref(ty.element));
    load_reference(context, kind, reference)
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_table_new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
    init: Option<&wasm_ref_t>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let store = &required(store, "a store")?.0;
        let ty = required(ty, "a table type")?.table()?;
        let table = store.enter(|mut context| {
            let init = element(&mut context, &ty, init)?;
            Table::new(context, ty, init)
        })?;
        wasm_ref_t::boxed(store, Object::Table(table))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_table_get(
    table: Option<&wasm_ref_t>,
    index: u32,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let (store, table) = required(table, "a table")?.table()?;
        let found = store.enter(|mut context| {
            let value = table.get(&mut context, index.into())?;
            store_reference(store, context, value)
        })?;
        Ok(found.map(Box::new))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_table_set(
    table: Option<&wasm_ref_t>,
    index: u32,
    reference: Option<&wasm_ref_t>,
) -> bool {
    or_default(|| {
        let (store, table) = required(table, "a table")?.table()?;
        store.enter(|mut context| {
            let ty = table.ty(&context)?;
            let value = element(&mut context, &ty, reference)?;
            table.set(context, index.into(), value)
        })?;
        Ok(true)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_table_size(table: Option<&wasm_ref_t>) -> u32 {
    or_default(|| {
        let (store, table) = required(table, "a table")?.table()?;
        let size = store.enter(|context| table.size(context))?;
        Ok(u32::try_from(size).unwrap_or(u32::MAX))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_table_grow(
    table: Option<&wasm_ref_t>,
    delta: u32,
    init: Option<&wasm_ref_t>,
) -> bool {
    or_default(|| {
        let (store, table) = required(table, "a table")?.table()?;
        store.enter(|mut context| {
            let ty = table.ty(&context)?;
            let init = element(&mut context, &ty, init)?;
            table.grow(context, delta.into(), init)
        })?;
        Ok(true)
    })
}
