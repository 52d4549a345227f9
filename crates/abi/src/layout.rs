//! The layout of instances.
//!
//! ```text
//! InstanceHeader
//! FuncImport     for each imported function
//! *MemoryDef     for each imported memory
//! *TableDef      for each imported table
//! *RawVal        for each imported global
//! MemoryDef      for each defined memory
//! TableDef       for each defined table
//! *TypeInfo      for each type
//! *TagDef        for each tag
//! u64 ... 0      for each clause list, as in `clauses`
//! RawVal         for each defined global
//! FuncRef        for each function that is used as a value
//! HostContext    for each imported function; used if the host defines it
//! ```

use crate::clauses;
use crate::context::*;
use crate::module::ModuleInfo;
use std::mem::size_of;

/// Offsets in an instance of one module, in bytes from its header.
#[derive(Clone, Debug, Default)]
pub struct InstanceLayout {
    imported_functions: u32,
    imported_memories: u32,
    imported_tables: u32,
    imported_globals: u32,
    defined_memories: u32,
    defined_tables: u32,
    types: u32,
    tags: u32,
    handler_tables: u32,
    /// The place of the clauses of each list among the words of all lists.
    handler_places: Vec<u32>,
    defined_globals: u32,
    func_refs: u32,
    host_contexts: u32,
    size: u32,
    first_memory: u32,
    first_table: u32,
    first_global: u32,
}

/// The instance is larger than offsets in generated code allow.
#[derive(Debug, PartialEq, Eq)]
pub struct InstanceTooLarge;

impl InstanceLayout {
    /// The layout for instances of a module.
    pub fn new(module: &ModuleInfo) -> Result<Self, InstanceTooLarge> {
        let mut end = size_of::<InstanceHeader>() as u64;
        let mut array = |count: usize, size: usize, align: u64| {
            end = end.next_multiple_of(align);
            let start = end;
            end += count as u64 * size as u64;
            u32::try_from(start).map_err(|_| InstanceTooLarge)
        };
        let mut handler_words: u32 = 0;
        let mut handler_places = Vec::new();
        for table in &module.handler_tables {
            let before = clauses::words_before(table.len());
            handler_places.push(handler_words.saturating_add(before as u32));
            let words = u32::try_from(before + table.len() + 1).map_err(|_| InstanceTooLarge)?;
            handler_words = handler_words.checked_add(words).ok_or(InstanceTooLarge)?;
        }
        let pointer = size_of::<usize>();
        let imported = module.imported_functions as usize;
        let defined = |all: usize, imported: u32| all - imported as usize;
        let layout = InstanceLayout {
            imported_functions: array(imported, size_of::<FuncImport>(), 8)?,
            imported_memories: array(module.imported_memories as usize, pointer, 8)?,
            imported_tables: array(module.imported_tables as usize, pointer, 8)?,
            imported_globals: array(module.imported_globals as usize, pointer, 8)?,
            defined_memories: array(
                defined(module.memories.len(), module.imported_memories),
                size_of::<MemoryDef>(),
                8,
            )?,
            defined_tables: array(
                defined(module.tables.len(), module.imported_tables),
                size_of::<TableDef>(),
                8,
            )?,
            types: array(module.types.len(), pointer, 8)?,
            tags: array(module.tags.len(), pointer, 8)?,
            handler_tables: array(handler_words as usize, size_of::<u64>(), 8)?,
            handler_places,
            defined_globals: array(
                defined(module.globals.len(), module.imported_globals),
                size_of::<RawVal>(),
                16,
            )?,
            func_refs: array(module.func_ref_count as usize, size_of::<FuncRef>(), 8)?,
            host_contexts: array(imported, size_of::<HostContext>(), 8)?,
            size: array(0, 0, 16)?,
            first_memory: module.imported_memories,
            first_table: module.imported_tables,
            first_global: module.imported_globals,
        };
        if layout.size > i32::MAX as u32 {
            return Err(InstanceTooLarge);
        }
        Ok(layout)
    }

    /// The size of an instance.
    pub fn size(&self) -> usize {
        self.size as usize
    }

    /// The [`FuncImport`] of an imported function.
    pub fn imported_function(&self, function: u32) -> i32 {
        at(self.imported_functions, function, size_of::<FuncImport>())
    }

    /// The pointer to an imported memory's [`MemoryDef`].
    pub fn imported_memory(&self, memory: u32) -> i32 {
        at(self.imported_memories, memory, size_of::<usize>())
    }

    /// The pointer to an imported table's [`TableDef`].
    pub fn imported_table(&self, table: u32) -> i32 {
        at(self.imported_tables, table, size_of::<usize>())
    }

    /// The pointer to an imported global's value.
    pub fn imported_global(&self, global: u32) -> i32 {
        at(self.imported_globals, global, size_of::<usize>())
    }

    /// The [`MemoryDef`] of a memory that the module defines.
    pub fn defined_memory(&self, memory: u32) -> i32 {
        at(self.defined_memories, memory - self.first_memory, size_of::<MemoryDef>())
    }

    /// The [`TableDef`] of a table that the module defines.
    pub fn defined_table(&self, table: u32) -> i32 {
        at(self.defined_tables, table - self.first_table, size_of::<TableDef>())
    }

    /// The value of a global that the module defines.
    pub fn defined_global(&self, global: u32) -> i32 {
        at(self.defined_globals, global - self.first_global, size_of::<RawVal>())
    }

    /// The pointer to the [`TypeInfo`] of a type.
    pub fn type_info(&self, ty: u32) -> i32 {
        at(self.types, ty, size_of::<usize>())
    }

    /// The pointer to the [`TagDef`] of a tag.
    pub fn tag(&self, tag: u32) -> i32 {
        at(self.tags, tag, size_of::<usize>())
    }

    /// The first clause of a list, by its number in [`ModuleInfo::handler_tables`].
    pub fn handler_table(&self, number: u32) -> i32 {
        at(self.handler_tables, self.handler_places[number as usize], size_of::<u64>())
    }

    /// The [`FuncRef`] with this number in [`ModuleInfo::func_refs`].
    pub fn func_ref(&self, number: u32) -> i32 {
        at(self.func_refs, number, size_of::<FuncRef>())
    }

    /// The [`HostContext`] of an imported function.
    pub fn host_context(&self, function: u32) -> i32 {
        at(self.host_contexts, function, size_of::<HostContext>())
    }
}

fn at(array: u32, index: u32, size: usize) -> i32 {
    (array + index * size as u32) as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::*;

    #[test]
    fn arrays_follow_each_other_aligned() {
        let module = ModuleInfo {
            types: vec![SubType::func(FuncType::default()); 3],
            functions: vec![0, 1],
            imported_functions: 1,
            globals: vec![GlobalType { content: ValType::V128, mutable: true }; 2],
            func_ref_count: 1,
            ..ModuleInfo::default()
        };
        let layout = InstanceLayout::new(&module).unwrap();
        assert_eq!(layout.imported_function(0) as usize, size_of::<InstanceHeader>());
        assert_eq!(layout.defined_global(0) % 16, 0);
        assert_eq!(layout.defined_global(1) - layout.defined_global(0), 16);
        assert!(layout.func_ref(0) < layout.host_context(0));
        assert_eq!(layout.size() % 16, 0);
    }
}
