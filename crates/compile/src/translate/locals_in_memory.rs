//! Locals that are kept in stack slots.
//!
//! Cranelift computes the value of each variable in each block, which can take time proportional to
//! the product of the two numbers, or more. Where the [survey](crate::driver) finds this out of
//! proportion to the length of a function, its locals are kept in stack slots instead. The code is
//! slow, but compiles in linear time.
//!
//! References have a slot of their own. Every call lists them, whether they are needed afterwards
//! or not.

use super::Translator;
use crate::emit::clif_type;
use cranelift_codegen::ir::{
    self, InstBuilder, StackSlot, StackSlotData, StackSlotKind, UserStackMapEntry, Value, types::*,
};
use ropewalk_abi::ValType;

/// The place of a local in memory.
#[derive(Clone, Copy, Debug)]
pub(super) struct LocalSlot {
    pub(super) slot: StackSlot,
    pub(super) offset: i32,
}

/// The slots of a function that keeps its locals in memory.
#[derive(Default)]
pub(super) struct LocalSlots {
    /// The slot for numbers and vectors, and the slot for references.
    slots: [Option<StackSlot>; 2],
    /// How many references there are.
    references: usize,
}

impl Translator<'_> {
    /// A place for a local that is not a first-class stack.
    pub(super) fn new_local_slot(&mut self, ty: ValType) -> LocalSlot {
        let is_listed = self.env.is_listed(ty);
        self.local_slots.references += usize::from(is_listed);
        let mut slot = self.local_slots.slots[usize::from(is_listed)];
        let offset = self.grow_slot(&mut slot, clif_type(ty).bytes().max(8));
        self.local_slots.slots[usize::from(is_listed)] = slot;
        LocalSlot { slot: slot.expect("it was just made"), offset: offset as i32 }
    }

    /// Makes a slot larger, or creates it; returns the size before.
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

    pub(super) fn store_local(&mut self, place: LocalSlot, value: Value) {
        self.ins().stack_store(I64, value, place.slot, place.offset);
    }

    /// Loads a local, in words: other loads would prevent frames from moving.
    pub(super) fn load_local(&mut self, place: LocalSlot, ty: ValType) -> Value {
        let flags = ir::MemFlagsData::new().with_endianness(ir::Endianness::Little);
        let mut word =
            |ty, offset| self.ins().stack_load(I64, ty, place.slot, place.offset + offset);
        match ty {
            ValType::I32 => word(I32, 0),
            ValType::I64 | ValType::Ref(_) => word(I64, 0),
            ValType::F32 => {
                let bits = word(I32, 0);
                self.ins().bitcast(F32, flags, bits)
            }
            ValType::F64 => {
                let bits = word(I64, 0);
                self.ins().bitcast(F64, flags, bits)
            }
            ValType::V128 => {
                let (low, high) = (word(I64, 0), word(I64, 8));
                let vector = self.ins().scalar_to_vector(I64X2, low);
                let vector = self.ins().insertlane(vector, high, 1);
                self.ins().bitcast(I8X16, flags, vector)
            }
        }
    }

    /// The references among the locals in memory, for the stack map of a call.
    pub(super) fn list_local_slots(&self) -> Vec<UserStackMapEntry> {
        let Some(slot) = self.local_slots.slots[1] else { return Vec::new() };
        let word = size_of::<u64>() as u32;
        let entry = |i| UserStackMapEntry { ty: I64, slot, offset: i * word };
        (0..self.local_slots.references as u32).map(entry).collect()
    }
}
