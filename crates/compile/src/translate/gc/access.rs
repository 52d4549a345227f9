//! Loads and stores of what objects hold.

use crate::pointers::program_value;
use crate::translate::{Translator, clif_type, trap};
use cranelift_codegen::ir::{
    AliasRegion, AliasRegionData, InstBuilder, MemFlagsData, Value, types::*,
};
use ropewalk_abi::access::NULL_PAGE;
use ropewalk_abi::{StorageType, TrapCode, ValType};

/// A word at an address below this faults when it is accessed: the first page
/// is never mapped. So an access through null, at an offset below this, checks
/// for null at no cost.
pub(super) const UNMAPPED: u32 = NULL_PAGE as u32;

/// Where a field or an element is.
pub(super) struct Slot {
    pub base: Value,
    pub offset: i32,
    pub storage: StorageType,
    /// The trap that it is if the access faults, or none if it cannot.
    pub null: Option<TrapCode>,
}

/// Parts of the heap that stores never confuse: Cranelift forgets what it knows
/// of a part only at a call, or at a store to the same part. The part of a
/// place is the same for every type that sees it, as a subtype stores the
/// fields that it inherits in the same way.
#[derive(Clone, Copy)]
#[repr(u32)]
pub(super) enum Part {
    /// What never changes once the object is made: its type, its length.
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

impl Part {
    fn of(storage: StorageType) -> Part {
        match storage {
            StorageType::I8 => Part::Bytes,
            StorageType::I16 => Part::Shorts,
            StorageType::Val(ValType::I32) => Part::Words32,
            StorageType::Val(ValType::I64) => Part::Words64,
            StorageType::Val(ValType::F32) => Part::Floats32,
            StorageType::Val(ValType::F64) => Part::Floats64,
            StorageType::Val(ValType::V128) => Part::Vectors,
            StorageType::Val(ValType::Ref(_)) => Part::References,
        }
    }
}

impl Translator<'_> {
    /// Loads a value; a packed one is extended by its sign if `signed`.
    pub(super) fn load_place(&mut self, at: &Slot, signed: bool) -> Value {
        let flags = self.heap_flags(Part::of(at.storage), at.null);
        let (base, offset) = (at.base, at.offset);
        let ins = self.builder.ins();
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

    pub(super) fn store_place(&mut self, at: &Slot, value: Value) {
        let flags = self.heap_flags(Part::of(at.storage), at.null);
        let (base, offset) = (at.base, at.offset);
        let ins = self.builder.ins();
        match at.storage {
            StorageType::I8 => ins.istore8(flags, value, base, offset),
            StorageType::I16 => ins.istore16(flags, value, base, offset),
            StorageType::Val(_) => ins.store(flags, value, base, offset),
        };
    }

    /// The flags of an access to a part of the heap; `null` is the trap that it
    /// is if it faults. Nothing claims to be aligned, as vectors are not.
    pub(super) fn heap_flags(&mut self, part: Part, null: Option<TrapCode>) -> MemFlagsData {
        let region = self.heap_region(part);
        MemFlagsData::new().with_trap_code(null.map(trap)).with_alias_region(Some(region))
    }

    fn heap_region(&mut self, part: Part) -> AliasRegion {
        let data = AliasRegionData { user_id: part as u32, description: "heap".into() };
        self.builder.func.dfg.alias_regions.insert(data)
    }
}
