//! Loads and stores of fields and elements.

use crate::emit::{clif_type, program_value, trap};
use crate::translate::Translator;
use cranelift_codegen::ir::{
    AliasRegion, AliasRegionData, InstBuilder, MemFlagsData, Value, types::*,
};
use ropewalk_abi::access::NULL_PAGE;
use ropewalk_abi::{StorageType, TrapCode, ValType};

/// An access below this address faults, since the first page is never mapped. So an access through
/// null at a smaller offset needs no check.
pub(super) const UNMAPPED: u32 = NULL_PAGE as u32;

/// The place of a field or an element.
pub(super) struct HeapAccess {
    pub base: Value,
    pub offset: i32,
    pub storage: StorageType,
    /// The trap for a fault of the access, or none if it cannot fault.
    pub null: Option<TrapCode>,
}

/// Regions of the heap that never alias. Cranelift forgets what it knows of a region only at a
/// call, or at a store to the same region. The region of a place is the same for every type that
/// has the place, since a subtype stores inherited fields in the same way.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum HeapRegion {
    /// The type and the length of an object, which never change.
    Head,
    Bytes,
    Shorts,
    Words32,
    Words64,
    Floats32,
    Floats64,
    Vectors,
    References,
}

impl HeapRegion {
    fn of(storage: StorageType) -> HeapRegion {
        match storage {
            StorageType::I8 => HeapRegion::Bytes,
            StorageType::I16 => HeapRegion::Shorts,
            StorageType::Val(ValType::I32) => HeapRegion::Words32,
            StorageType::Val(ValType::I64) => HeapRegion::Words64,
            StorageType::Val(ValType::F32) => HeapRegion::Floats32,
            StorageType::Val(ValType::F64) => HeapRegion::Floats64,
            StorageType::Val(ValType::V128) => HeapRegion::Vectors,
            StorageType::Val(ValType::Ref(_)) => HeapRegion::References,
        }
    }
}

impl Translator<'_> {
    /// Loads a value. A packed one is sign-extended if `signed`.
    pub(super) fn load_place(&mut self, at: &HeapAccess, signed: bool) -> Value {
        let flags = self.heap_flags(HeapRegion::of(at.storage), at.null);
        let (base, offset) = (at.base, at.offset);
        let ins = self.ins();
        match (at.storage, signed) {
            (StorageType::I8, false) => ins.uload8(I32, flags, base, offset),
            (StorageType::I8, true) => ins.sload8(I32, flags, base, offset),
            (StorageType::I16, false) => ins.uload16(I32, flags, base, offset),
            (StorageType::I16, true) => ins.sload16(I32, flags, base, offset),
            (StorageType::Val(ty), _) => {
                ins.load(clif_type(ty), program_value(flags), base, offset)
            }
        }
    }

    pub(super) fn store_place(&mut self, at: &HeapAccess, value: Value) {
        let flags = self.heap_flags(HeapRegion::of(at.storage), at.null);
        let (base, offset) = (at.base, at.offset);
        let ins = self.ins();
        match at.storage {
            StorageType::I8 => ins.istore8(flags, value, base, offset),
            StorageType::I16 => ins.istore16(flags, value, base, offset),
            StorageType::Val(_) => ins.store(flags, value, base, offset),
        };
    }

    /// The flags of an access to a region, where `null` is the trap for a fault. The access is not
    /// marked as aligned, since vectors are not.
    pub(super) fn heap_flags(
        &mut self,
        region: HeapRegion,
        null: Option<TrapCode>,
    ) -> MemFlagsData {
        let region = self.alias_region(region);
        MemFlagsData::new().with_trap_code(null.map(trap)).with_alias_region(Some(region))
    }

    fn alias_region(&mut self, region: HeapRegion) -> AliasRegion {
        let data = AliasRegionData { user_id: region as u32, description: "heap".into() };
        self.builder.func.dfg.alias_regions.insert(data)
    }
}
