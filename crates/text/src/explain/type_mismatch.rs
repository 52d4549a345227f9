//! Records the types that a validator found not to match.

use std::cell::Cell;

use wasmparser::types::CoreTypeId;
use wasmparser::{
    FuncType, GlobalType, HeapType, MemoryType, RefType, Result, SubType, TableType, ValType,
    ValidatorResources, WasmModuleResources,
};

/// Two types that did not match.
#[derive(Debug, Clone, Copy)]
pub(crate) struct TypeMismatch {
    pub found: ValType,
    pub expected: ValType,
}

/// The resources of a module for a validator. Records the last types that did not match.
pub(crate) struct MismatchRecorder<'m> {
    inner: &'m ValidatorResources,
    pub mismatch: Cell<Option<TypeMismatch>>,
}

impl MismatchRecorder<'_> {
    pub fn new(inner: &ValidatorResources) -> MismatchRecorder<'_> {
        MismatchRecorder { inner, mismatch: Cell::new(None) }
    }
}

impl WasmModuleResources for MismatchRecorder<'_> {
    fn is_subtype(&self, found: ValType, expected: ValType) -> bool {
        let matches = self.inner.is_subtype(found, expected);
        if !matches {
            self.mismatch.set(Some(TypeMismatch { found, expected }));
        }
        matches
    }

    fn table_at(&self, at: u32) -> Option<TableType> {
        self.inner.table_at(at)
    }

    fn memory_at(&self, at: u32) -> Option<MemoryType> {
        self.inner.memory_at(at)
    }

    fn tag_at(&self, at: u32) -> Option<&FuncType> {
        self.inner.tag_at(at)
    }

    fn global_at(&self, at: u32) -> Option<GlobalType> {
        self.inner.global_at(at)
    }

    fn sub_type_at(&self, index: u32) -> Option<&SubType> {
        self.inner.sub_type_at(index)
    }

    fn sub_type_at_id(&self, id: CoreTypeId) -> &SubType {
        self.inner.sub_type_at_id(id)
    }

    fn type_id_of_function(&self, index: u32) -> Option<CoreTypeId> {
        self.inner.type_id_of_function(index)
    }

    fn type_index_of_function(&self, index: u32) -> Option<u32> {
        self.inner.type_index_of_function(index)
    }

    fn element_type_at(&self, at: u32) -> Option<RefType> {
        self.inner.element_type_at(at)
    }

    fn is_shared(&self, ty: RefType) -> bool {
        self.inner.is_shared(ty)
    }

    fn check_heap_type(&self, ty: &mut HeapType, offset: u64) -> Result<()> {
        self.inner.check_heap_type(ty, offset)
    }

    fn top_type(&self, ty: &HeapType) -> HeapType {
        self.inner.top_type(ty)
    }

    fn element_count(&self) -> u32 {
        self.inner.element_count()
    }

    fn data_count(&self) -> Option<u32> {
        self.inner.data_count()
    }

    fn is_function_referenced(&self, index: u32) -> bool {
        self.inner.is_function_referenced(index)
    }

    fn has_function_exact_type(&self, index: u32) -> bool {
        self.inner.has_function_exact_type(index)
    }
}
