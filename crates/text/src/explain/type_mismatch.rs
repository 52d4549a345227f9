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

/// Implements methods by those of the resources.
macro_rules! forward {
    ($(fn $name:ident($($param:ident: $ty:ty),*) -> $result:ty;)*) => {$(
        fn $name(&self, $($param: $ty),*) -> $result {
            self.inner.$name($($param),*)
        }
    )*};
}

impl WasmModuleResources for MismatchRecorder<'_> {
    fn is_subtype(&self, found: ValType, expected: ValType) -> bool {
        let matches = self.inner.is_subtype(found, expected);
        if !matches {
            self.mismatch.set(Some(TypeMismatch { found, expected }));
        }
        matches
    }

    forward! {
        fn table_at(at: u32) -> Option<TableType>;
        fn memory_at(at: u32) -> Option<MemoryType>;
        fn tag_at(at: u32) -> Option<&FuncType>;
        fn global_at(at: u32) -> Option<GlobalType>;
        fn sub_type_at(index: u32) -> Option<&SubType>;
        fn sub_type_at_id(id: CoreTypeId) -> &SubType;
        fn type_id_of_function(index: u32) -> Option<CoreTypeId>;
        fn type_index_of_function(index: u32) -> Option<u32>;
        fn element_type_at(at: u32) -> Option<RefType>;
        fn is_shared(ty: RefType) -> bool;
        fn check_heap_type(ty: &mut HeapType, offset: u64) -> Result<()>;
        fn top_type(ty: &HeapType) -> HeapType;
        fn element_count() -> u32;
        fn data_count() -> Option<u32>;
        fn is_function_referenced(index: u32) -> bool;
        fn has_function_exact_type(index: u32) -> bool;
    }
}
