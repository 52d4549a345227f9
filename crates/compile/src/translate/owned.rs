//! The first-class stacks that a frame owns, in its locals and among its operands.
//!
//! They die with the frame. Where an instruction drops operands, code is emitted that frees them.
//! Where a frame ends otherwise, by an exception or because its stack is freed, the runtime frees
//! them. For that, every call lists slots with everything that the frame owns, whether it is needed
//! afterwards or not.
//!
//! The first [few](FEW) locals and operands are stored there at each call. Storing all of them at
//! each call would take code proportional to the product of the two numbers. So the others are
//! stored once: a local when it is set, an operand after it is pushed. An operand keeps its place
//! for as long as it is on the stack, wherever control goes: everything that is pushed within a
//! block lies above it.
//!
//! An operand that an instruction has popped has a new owner, and is not listed.

use super::Translator;
use super::locals_in_memory::LocalSlot;
use crate::CompileError;
use crate::codegen::stack_map::{OF_LOCAL, OF_OPERAND};
use crate::emit::record::{Records, block};
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::EntitySet;
use cranelift_codegen::ir::{
    Block, Inst, InstBuilder, StackSlot, StackSlotData, StackSlotKind, UserStackMapEntry, Value,
    types::*,
};
use cranelift_frontend::Variable;
use std::collections::HashMap;

/// This many locals, and this many operands, are stored at each call.
const FEW: usize = 8;
/// Code that frees a stack counts as this many entries of stack maps.
const FREEING: u64 = 500;

/// The bytes that each has in its slot.
const WORD: usize = size_of::<u64>();

/// The slot of locals, of the two.
const LOCALS: usize = 0;
/// The slot of operands.
const OPERANDS: usize = 1;

/// The first-class stacks that a function may own, and the objects with its shared locals.
#[derive(Default)]
pub(super) struct Owned {
    /// The values that are first-class stacks.
    stacks: EntitySet<Value>,
    /// The locals that hold a stack, and the objects with locals that other code shares, by their
    /// places in the slot. None for a local that is only in the slot.
    locals: Vec<Option<Variable>>,
    /// The places of locals, by index.
    places: HashMap<u32, usize>,
    /// The places that must be cleared on entry, since they are not set on every path.
    late: Vec<usize>,
    /// The operands that are first-class stacks, with their index on the operand stack, as far as
    /// it was scanned.
    operands: Vec<(usize, Value)>,
    /// How much of the operand stack was scanned.
    scanned: usize,
    /// How many of these operands are in their places.
    kept: usize,
    /// The slots of locals and operands.
    slots: [Option<StackSlot>; 2],
    /// Whether the frame is already freed, and only a switch to another stack follows.
    is_freed: bool,
    /// Entries and frees that are not charged yet.
    times: u64,
}

pub(super) struct BranchTarget {
    pub block: Block,
    pub operands: Vec<Value>,
    /// The label, if the block is an intermediate one, which frees the operands that the branch
    /// drops.
    intermediate: Option<u32>,
}

impl Translator<'_> {
    /// Marks a value as a first-class stack.
    pub(super) fn own_value(&mut self, value: Value) {
        self.owned.stacks.insert(value);
    }

    /// Marks a local as one that holds a first-class stack.
    pub(super) fn own_local(&mut self, local: u32, variable: Variable) {
        self.owned.places.insert(local, self.owned.locals.len());
        self.owned.locals.push(Some(variable));
    }

    /// A place in memory for a local that holds a first-class stack.
    pub(super) fn new_owned_slot(&mut self) -> LocalSlot {
        let place = self.owned.locals.len();
        self.owned.locals.push(None);
        LocalSlot { slot: self.owned_slot(LOCALS, place), offset: (place * WORD) as i32 }
    }

    /// Pops an object. The frame owns the stacks in its fields as if they were locals.
    pub(crate) fn own_object(&mut self) {
        let object = self.pop();
        let place = self.owned.locals.len();
        let variable = (!self.used_locals.are_in_memory).then(|| {
            let variable = self.builder.declare_var(I64);
            self.builder.declare_var_needs_stack_map(variable);
            self.builder.def_var(variable, object);
            variable
        });
        self.owned.locals.push(variable);
        if variable.is_none() || place >= FEW {
            self.owned.late.push(place);
            self.keep(LOCALS, place, object);
        }
    }

    /// Stores a local that was set, unless every call stores it.
    pub(super) fn keep_local(&mut self, local: u32, value: Value) {
        if let Some(&place) = self.owned.places.get(&local)
            && place >= FEW
        {
            self.keep(LOCALS, place, value);
        }
    }

    /// Stores operands that were pushed, unless every call stores them.
    pub(super) fn keep_operands(&mut self) {
        if !self.env.has_stackrefs || !self.is_reachable() {
            return;
        }
        self.scan_operands();
        for place in self.owned.kept.max(FEW)..self.owned.operands.len() {
            self.keep(OPERANDS, place, self.owned.operands[place].1);
        }
        self.owned.kept = self.owned.operands.len();
    }

    fn keep(&mut self, which: usize, place: usize, value: Value) {
        let slot = self.owned_slot(which, place);
        self.ins().stack_store(I64, value, slot, (place * WORD) as i32);
    }

    /// The slot of the locals or operands, with room for a place.
    fn owned_slot(&mut self, which: usize, place: usize) -> StackSlot {
        let slot = *self.owned.slots[which].get_or_insert_with(|| {
            let nothing = StackSlotData::new(StackSlotKind::ExplicitSlot, 0, 3);
            self.builder.create_sized_stack_slot(nothing)
        });
        let size = &mut self.builder.func.sized_stack_slots[slot].size;
        *size = (*size).max(((place + 1) * WORD) as u32);
        slot
    }

    /// On entry to the function, clears the places that are not set on every path.
    pub(super) fn clear_late_places(&mut self) {
        for place in std::mem::take(&mut self.owned.late) {
            let slot = self.owned_slot(LOCALS, place);
            let entry = self.builder.func.layout.entry_block().expect("a function has a block");
            let mut cursor = FuncCursor::new(self.builder.func).at_first_insertion_point(entry);
            let null = cursor.ins().iconst(I64, 0);
            cursor.ins().stack_store(I64, null, slot, (place * WORD) as i32);
        }
    }

    /// Finds the operands that are first-class stacks.
    fn scan_operands(&mut self) {
        if !self.env.has_stackrefs {
            return;
        }
        let owned = &mut self.owned;
        owned.scanned = owned.scanned.min(self.stack.take_lowest());
        let gone = owned.operands.partition_point(|(index, _)| *index < owned.scanned);
        owned.operands.truncate(gone);
        owned.kept = owned.kept.min(gone);
        for index in owned.scanned..self.stack.len() {
            if owned.stacks.contains(self.stack[index]) {
                owned.operands.push((index, self.stack[index]));
            }
        }
        owned.scanned = self.stack.len();
    }

    /// How many of the operands below the topmost ones are first-class stacks.
    pub(super) fn owned_below(&mut self, topmost: usize) -> u32 {
        self.owned_between(0, self.stack.len() - topmost).len() as u32
    }

    /// The first-class stacks among the operands between two heights.
    fn owned_between(&mut self, from: usize, to: usize) -> Vec<Value> {
        self.scan_operands();
        let operands = &self.owned.operands;
        let from = operands.partition_point(|(index, _)| *index < from);
        let to = operands.partition_point(|(index, _)| *index < to);
        operands[from..to].iter().map(|(_, value)| *value).collect()
    }

    /// The places of locals that may hold something, each with its value if that must be stored.
    fn owned_by_locals(&mut self) -> Vec<(usize, Option<Value>)> {
        let mut places = Vec::new();
        for place in 0..self.owned.locals.len() {
            let Some(variable) = self.owned.locals[place] else {
                places.push((place, None));
                continue;
            };
            let value = self.builder.use_var(variable);
            if !self.is_null_constant(value) {
                places.push((place, (place < FEW).then_some(value)));
            }
        }
        places
    }

    // ---- calls

    /// Stores what the frame owns before a call. Returns the stack map entries of the call,
    /// including the references among locals in memory.
    pub(super) fn spill_owned(&mut self) -> Vec<UserStackMapEntry> {
        let mut list = self.list_local_slots();
        let references = list.len();
        if self.env.has_stackrefs && !self.owned.is_freed {
            self.spill_locals(&mut list);
            self.spill_operands(&mut list);
            self.note_if(list.len() > references);
        }
        self.owned.times += (list.len() + self.owned.locals.len()) as u64;
        list
    }

    fn spill_locals(&mut self, list: &mut Vec<UserStackMapEntry>) {
        for (place, value) in self.owned_by_locals() {
            if let Some(value) = value {
                self.keep(LOCALS, place, value);
            }
            let slot = self.owned_slot(LOCALS, place);
            list.push(UserStackMapEntry { ty: OF_LOCAL, slot, offset: (place * WORD) as u32 });
        }
    }

    fn spill_operands(&mut self, list: &mut Vec<UserStackMapEntry>) {
        self.scan_operands();
        for place in 0..self.owned.operands.len() {
            if place < FEW || place >= self.owned.kept {
                self.keep(OPERANDS, place, self.owned.operands[place].1);
            }
            let slot = self.owned_slot(OPERANDS, place);
            list.push(UserStackMapEntry { ty: OF_OPERAND, slot, offset: (place * WORD) as u32 });
        }
    }

    /// Adds the entries from [`spill_owned`](Self::spill_owned) to a call.
    pub(super) fn list_owned(&mut self, call: Inst, list: Vec<UserStackMapEntry>) {
        self.builder.func.dfg.append_user_stack_map_entries(call, list);
    }

    /// Marks the running stack as freed, with what this frame owns, until a switch leaves it.
    pub(crate) fn set_freed(&mut self, is_freed: bool) {
        self.owned.is_freed = is_freed;
    }

    /// Marks the running stack as owning something, if this frame does.
    pub(crate) fn note_owned(&mut self) {
        let owns = self.owned_below(0) > 0 || !self.owned_by_locals().is_empty();
        self.note_if(owns);
    }

    fn note_if(&mut self, owns: bool) {
        if owns {
            let current = self.current_stack();
            let yes = self.ins().iconst(I8, 1);
            self.set(current, block::OWNS, yes);
        }
    }

    // ---- branches

    /// Branches to a label unconditionally.
    pub(crate) fn branch_to(&mut self, depth: u32) {
        self.free_dropped(depth);
        let (block, operands) = self.branch(depth);
        self.jump(block, &operands);
    }

    /// The target of a conditional branch to a label. After the branch,
    /// [`emit_intermediate`](Self::emit_intermediate) must follow.
    pub(super) fn branch_target(&mut self, depth: u32) -> BranchTarget {
        if self.dropped(depth).is_empty() {
            let (block, operands) = self.branch(depth);
            return BranchTarget { block, operands, intermediate: None };
        }
        self.intermediate_target(depth)
    }

    /// The same, always through an intermediate block.
    pub(super) fn intermediate_target(&mut self, depth: u32) -> BranchTarget {
        let block = self.builder.create_block();
        BranchTarget { block, operands: vec![], intermediate: Some(depth) }
    }

    /// Emits the intermediate block of a conditional branch, if it has one.
    pub(super) fn emit_intermediate(&mut self, target: &BranchTarget) {
        if let Some(depth) = target.intermediate {
            self.enter_sealed(target.block);
            self.branch_to(depth);
        }
    }

    fn dropped(&mut self, depth: u32) -> Vec<Value> {
        let (height, count) = self.arrival(depth);
        self.owned_between(height, self.stack.len() - count)
    }

    fn free_dropped(&mut self, depth: u32) {
        let values = self.dropped(depth);
        self.free_all(values);
    }

    /// Frees the operands below the topmost ones, before the function returns.
    pub(crate) fn free_below(&mut self, topmost: usize) {
        let values = self.owned_between(0, self.stack.len() - topmost);
        self.free_all(values);
    }

    fn free_all(&mut self, values: Vec<Value>) {
        self.owned.times += values.len() as u64 * FREEING;
        values.into_iter().for_each(|value| self.free_unless_null(value));
    }

    // ---- limits

    /// Charges for what the last operator listed at calls, or freed.
    pub(super) fn charge_listed(&mut self) -> Result<(), CompileError> {
        let places = std::mem::take(&mut self.owned.times);
        self.budget.charge_references("references that calls list", places)
    }
}
