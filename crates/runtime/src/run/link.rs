//! Links imports: checks that the given values have the expected types.

use crate::code::LoadedModule;
use crate::code::types::{TypeRegistry, is_subtype};
use crate::store::Store;
use crate::vm::host_function::HostFunction;
use crate::vm::import::ImportValue;
use ropewalk_abi::module::{Import, Item};
use ropewalk_abi::{ExternType, GlobalType, MemoryType, TableType, TagType, TypeInfo};
use std::fmt;

/// An import that is missing or has the wrong type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkError {
    /// The module name of the import.
    pub module: String,
    /// The name of the import.
    pub name: String,
    /// The type that the module expects.
    pub expected: ExternType,
    /// The type of the given value, or `None` if the import is missing.
    pub found: Option<ExternType>,
    /// Both types, with defined types written out.
    described: Option<[String; 2]>,
}

impl LinkError {
    /// The error for a missing import.
    pub fn missing(module: &str, name: &str, expected: ExternType) -> LinkError {
        let [module, name] = [module, name].map(str::to_string);
        LinkError { module, name, expected, found: None, described: None }
    }

    /// The error for an import with another type.
    fn mistyped(
        types: &TypeRegistry,
        module: &LoadedModule,
        import: &Import,
        found: ExternType,
    ) -> Box<LinkError> {
        let error = missing(module, import);
        let described = [&error.expected, &found].map(|ty| types.describe_extern(ty));
        Box::new(LinkError { found: Some(found), described: Some(described), ..error })
    }
}

impl fmt::Display for LinkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let LinkError { module, name, expected, described, .. } = self;
        match described {
            None => write!(f, "unknown import \"{module}\" \"{name}\": expected a {expected}"),
            Some([expected, found]) => write!(
                f,
                "incompatible import type for \"{module}\" \"{name}\": \
                 expected {expected}, found {found}"
            ),
        }
    }
}

impl std::error::Error for LinkError {}

/// The error for a missing import.
pub fn missing(module: &LoadedModule, import: &Import) -> LinkError {
    LinkError::missing(&import.module, &import.name, module.item_type(import.item))
}

/// Checks that a host function fits an import, before there is a store.
pub fn check_host(
    types: &TypeRegistry,
    module: &LoadedModule,
    import: &Import,
    host: &HostFunction,
) -> Result<(), Box<LinkError>> {
    let fits = match import.item {
        Item::Func(function) => {
            host_fits(types, module, module.info.functions[function as usize], host)
        }
        _ => false,
    };
    if fits {
        return Ok(());
    }
    let found = ExternType::Func(types.func_type(host.type_id));
    Err(LinkError::mistyped(types, module, import, found))
}

/// Checks that the given values fit the imports of a module.
pub(crate) fn check(
    store: &Store,
    module: &LoadedModule,
    imports: &[ImportValue],
) -> Result<(), Box<LinkError>> {
    for (import, value) in module.info.imports.iter().zip(imports) {
        if !fits(store, module, import.item, value) {
            let found = type_of(store, value);
            return Err(LinkError::mistyped(&store.options.types, module, import, found));
        }
    }
    match module.info.imports.get(imports.len()) {
        Some(import) => Err(Box::new(missing(module, import))),
        None => Ok(()),
    }
}

fn fits(store: &Store, module: &LoadedModule, item: Item, value: &ImportValue) -> bool {
    let info = &module.info;
    match (item, value) {
        (Item::Func(function), ImportValue::Func(func_ref)) => {
            // SAFETY: functions live as long as the store that they belong to.
            let found = unsafe { func_ref.as_ref() }.ty;
            function_fits(module, info.functions[function as usize], found)
        }
        (Item::Func(function), ImportValue::Host(host)) => {
            host_fits(&store.options.types, module, info.functions[function as usize], host)
        }
        (Item::Table(table), ImportValue::Table(index)) => {
            let expected = module.engine_table_type(info.tables[table as usize]);
            table_fits(&store.objects.table(*index).ty(), &expected)
        }
        (Item::Memory(memory), ImportValue::Memory(index)) => {
            memory_fits(&store.objects.memory(*index).ty(), &info.memories[memory as usize])
        }
        (Item::Global(global), ImportValue::Global(item)) => {
            let expected = module.engine_global_type(info.globals[global as usize]);
            global_fits(store, &item.ty, &expected)
        }
        (Item::Tag(tag), ImportValue::Tag(def)) => {
            let expected = module.type_infos[info.tags[tag as usize] as usize].0;
            // SAFETY: tags live as long as the store that they belong to.
            std::ptr::eq(unsafe { def.as_ref() }.ty, expected)
        }
        _ => false,
    }
}

fn function_fits(module: &LoadedModule, expected: u32, found: *const TypeInfo) -> bool {
    // SAFETY: types live as long as the engine.
    unsafe { is_subtype(&*found, &*module.type_infos[expected as usize].0) }
}

/// Whether a host function can be called with a type. It has no declared supertypes, because Rust
/// has no types for the defined types of modules. So its parameters and results are compared.
fn host_fits(
    types: &TypeRegistry,
    module: &LoadedModule,
    expected: u32,
    host: &HostFunction,
) -> bool {
    if function_fits(module, expected, host.ty) {
        return true;
    }
    // SAFETY: types live as long as the engine.
    let expected = types.func_type(unsafe { (*module.type_infos[expected as usize].0).id });
    let found = types.func_type(host.type_id);
    let mut params = expected.params().iter().zip(found.params());
    expected.params().len() == found.params().len()
        && params.all(|(given, taken)| types.is_subtype(*given, *taken))
        && (host.results_fit)(types, found.results(), expected.results())
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

/// A mutable global must have the same type. An immutable one can have a subtype.
fn global_fits(store: &Store, found: &GlobalType, expected: &GlobalType) -> bool {
    match (found.mutable, expected.mutable) {
        (true, true) => found.content == expected.content,
        (false, false) => store.options.types.is_subtype(found.content, expected.content),
        _ => false,
    }
}

fn type_of(store: &Store, value: &ImportValue) -> ExternType {
    let func_type = |ty: *const TypeInfo| {
        // SAFETY: types live as long as the engine.
        store.options.types.func_type(unsafe { (*ty).id })
    };
    match value {
        // SAFETY: functions live as long as the store that they belong to.
        ImportValue::Func(func_ref) => ExternType::Func(func_type(unsafe { func_ref.as_ref() }.ty)),
        ImportValue::Host(host) => ExternType::Func(func_type(host.ty)),
        ImportValue::Table(index) => ExternType::Table(store.objects.table(*index).ty()),
        ImportValue::Memory(index) => ExternType::Memory(store.objects.memory(*index).ty()),
        ImportValue::Global(item) => ExternType::Global(item.ty),
        ImportValue::Tag(def) => {
            // SAFETY: tags live as long as the store that they belong to.
            ExternType::Tag(TagType { ty: func_type(unsafe { def.as_ref() }.ty) })
        }
    }
}

impl LoadedModule {
    /// Whether there is address space for the memories of this module. Some may be imported.
    pub fn has_space(&self, store: &Store, imports: &[ImportValue]) -> bool {
        let count = self.count_memories32();
        self.checks_memories
            || self.can_use(store, imports)
                && (count == 0 || store.options.memories.has_space(count))
    }

    /// Whether its code can use the imported memories.
    pub(crate) fn can_use(&self, store: &Store, imports: &[ImportValue]) -> bool {
        self.checks_memories
            || imports.iter().all(|import| match import {
                ImportValue::Memory(memory) => store.objects.memory(*memory).needs_no_checks(),
                _ => true,
            })
    }
}
