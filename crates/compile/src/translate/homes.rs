//! Locals that are kept in memory.
//!
//! Cranelift finds out which value each variable has in each block, which may take the
//! product of the two numbers, and more. A function of which the
//! [survey](crate::survey) says that this is far beyond its length has its locals in stack
//! slots instead. Its code is slow, and is made in linear time.
//!
//! References have slots of their own, which every call lists, whether they are needed
//! afterwards or not.

use super::{Translator, clif_type};
use cranelift_codegen::ir::{
    self, InstBuilder, StackSlot, StackSlotData, StackSlotKind, UserStackMapEntry, Value, types::*,
};
use ropewalk_abi::ValType;

/// Where a local is kept in memory.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Home {
    pub(super) slot: StackSlot,
    pub(super) offset: i32,
}

/// The slots of a function that has its locals in memory.
#[derive(Default)]
pub(crate) struct Homes {
    /// For numbers and vectors, and for references.
    slots: [Option<StackSlot>; 2],
    /// How many references there are.
    references: usize,
}

impl Translator<'_> {
    /// A home for a local of a type that is not a first-class stack.
    pub(super) fn new_home(&mut self, ty: ValType) -> Home {
        let is_listed = self.env.is_listed(ty);
        self.homes.references += usize::from(is_listed);
        let mut slot = self.homes.slots[usize::from(is_listed)];
        let offset = self.grow_slot(&mut slot, clif_type(ty).bytes().max(8));
        self.homes.slots[usize::from(is_listed)] = slot;
        Home { slot: slot.expect("it was made"), offset: offset as i32 }
    }

    /// Makes a slot larger, or makes it; returns how large it was.
    fn grow_slot(&mut self, slot: &mut Option<StackSlot>, bytes: u32) -> u32 {
        let slot = *slot.get_or_insert_with(|| {
            let nothing = StackSlotData::new(StackSlotKind::ExplicitSlot, 0, 3);
            self.builder.create_sized_stack_slot(nothing)
        });
        let size = &mut self.builder.func.sized_stack_slots[slot].size;
        let before = *size;
        *size += bytes;
        before
    }

    pub(super) fn store_home(&mut self, home: Home, value: Value) {
        self.builder.ins().stack_store(I64, value, home.slot, home.offset);
    }

    /// Loads a local. Frames can move if they are loaded from in words only.
    pub(super) fn load_home(&mut self, home: Home, ty: ValType) -> Value {
        let flags = ir::MemFlagsData::new().with_endianness(ir::Endianness::Little);
        let mut word =
            |ty, offset| self.builder.ins().stack_load(I64, ty, home.slot, home.offset + offset);
        match ty {
            ValType::I32 => word(I32, 0),
            ValType::I64 | ValType::Ref(_) => word(I64, 0),
            ValType::F32 => {
                let bits = word(I32, 0);
                self.builder.ins().bitcast(F32, flags, bits)
            }
            ValType::F64 => {
                let bits = word(I64, 0);
                self.builder.ins().bitcast(F64, flags, bits)
            }
            ValType::V128 => {
                let (low, high) = (word(I64, 0), word(I64, 8));
                let vector = self.builder.ins().scalar_to_vector(I64X2, low);
                let vector = self.builder.ins().insertlane(vector, high, 1);
                self.builder.ins().bitcast(I8X16, flags, vector)
            }
        }
    }

    /// The references among the locals that are in memory, for the list of a call.
    pub(super) fn list_homes(&self) -> Vec<UserStackMapEntry> {
        let Some(slot) = self.homes.slots[1] else { return Vec::new() };
        let word = size_of::<u64>() as u32;
        let entry = |i| UserStackMapEntry { ty: I64, slot, offset: i * word };
        (0..self.homes.references as u32).map(entry).collect()
    }
}
