//! Imports: what is given must fit what is asked for.

use crate::code::LoadedModule;
use crate::store::{GlobalItem, HostFunction, Store};
use crate::types::TypeRegistry;
use ropewalk_abi::module::{Import, Item};
use ropewalk_abi::{ExternType, FuncRef, MemoryType, TableType};
use std::fmt;
use std::ptr::NonNull;
use std::sync::Arc;

/// What is given for an import.
#[derive(Clone, Debug)]
pub enum ImportValue {
    /// A function of the store.
    Func(NonNull<FuncRef>),
    /// A function of the host.
    Host(Arc<HostFunction>),
    /// A table, by its number in the store.
    Table(usize),
    /// A memory, by its number in the store.
    Memory(usize),
    /// A global.
    Global(GlobalItem),
}

/// An import that is missing or does not fit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError {
    /// The module that is imported from.
    pub module: String,
    /// The name of the import.
    pub name: String,
    /// What the module asks for.
    pub expected: ExternType,
    /// What it was given, if anything.
    pub found: Option<ExternType>,
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkError { module, name, expected, found } = self;
        match found {
            None => write!(f, "unknown import \"{module}\" \"{name}\": expected a {expected}"),
            Some(found) => write!(
                f,
                "incompatible import type for \"{module}\" \"{name}\": \
                 expected {expected}, found {found}"
            ),
        }
    }
}

impl std::error::Error for LinkError {}

/// The error for an import that nothing is given for.
pub fn missing(module: &LoadedModule, import: &Import) -> LinkError {
    LinkError {
        module: import.module.clone(),
        name: import.name.clone(),
        expected: module.info.item_type(import.item),
        found: None,
    }
}

/// Checks that what is given fits what the module asks for.
pub(crate) fn check(
    store: &Store,
    types: &TypeRegistry,
    module: &LoadedModule,
    imports: &[ImportValue],
) -> Result<(), LinkError> {
    for (import, value) in module.info.imports.iter().zip(imports) {
        if !fits(store, module, import.item, value) {
            let found = Some(type_of(store, types, value));
            return Err(LinkError { found, ..missing(module, import) });
        }
    }
    match module.info.imports.get(imports.len()) {
        Some(import) => Err(missing(module, import)),
        None => Ok(()),
    }
}

fn fits(store: &Store, module: &LoadedModule, item: Item, value: &ImportValue) -> bool {
    let info = &module.info;
    match (item, value) {
        (Item::Func(function), ImportValue::Func(func_ref)) => {
            // SAFETY: functions live as long as the store that they belong to.
            let type_id = unsafe { func_ref.as_ref() }.type_id;
            type_id == module.type_ids[info.functions[function as usize] as usize]
        }
        (Item::Func(function), ImportValue::Host(host)) => {
            host.type_id == module.type_ids[info.functions[function as usize] as usize]
        }
        (Item::Table(table), ImportValue::Table(index)) => {
            table_fits(&store.table(*index).ty(), &info.tables[table as usize])
        }
        (Item::Memory(memory), ImportValue::Memory(index)) => {
            memory_fits(&store.memory(*index).ty(), &info.memories[memory as usize])
        }
        (Item::Global(global), ImportValue::Global(item)) => {
            item.ty == info.globals[global as usize]
        }
        _ => false,
    }
}

fn table_fits(found: &TableType, expected: &TableType) -> bool {
    found.element == expected.element
        && found.table64 == expected.table64
        && limits_fit((found.minimum, found.maximum), (expected.minimum, expected.maximum))
}

fn memory_fits(found: &MemoryType, expected: &MemoryType) -> bool {
    found.memory64 == expected.memory64
        && limits_fit((found.minimum, found.maximum), (expected.minimum, expected.maximum))
}

fn limits_fit(found: (u64, Option<u64>), expected: (u64, Option<u64>)) -> bool {
    let maximum_fits = match (found.1, expected.1) {
        (_, None) => true,
        (None, Some(_)) => false,
        (Some(found), Some(expected)) => found <= expected,
    };
    found.0 >= expected.0 && maximum_fits
}

fn type_of(store: &Store, types: &TypeRegistry, value: &ImportValue) -> ExternType {
    match value {
        ImportValue::Func(func_ref) => {
            // SAFETY: functions live as long as the store that they belong to.
            let type_id = unsafe { func_ref.as_ref() }.type_id;
            ExternType::Func((*types.get(type_id)).clone())
        }
        ImportValue::Host(host) => ExternType::Func((*types.get(host.type_id)).clone()),
        ImportValue::Table(index) => ExternType::Table(store.table(*index).ty()),
        ImportValue::Memory(index) => ExternType::Memory(store.memory(*index).ty()),
        ImportValue::Global(item) => ExternType::Global(item.ty),
    }
}
