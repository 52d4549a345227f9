//! What a frame owns: first-class stacks in its locals and among its operands.
//!
//! They die with the frame. Where an instruction leaves operands behind, code is
//! emitted that frees them. Where a frame ends otherwise, by an exception or since its
//! stack is freed, the runtime does it: at every call, what the frame owns is in slots that
//! are listed for the call, whether it is needed afterwards or not.
//!
//! The first [few](FEW) locals and operands are put there at each call. If there are more,
//! storing all of them at each call would be code for the product of the two numbers. So
//! the others are put there once: a local when it is set, an operand when it has been
//! pushed. An operand stays in its place for as long as it is on the stack, wherever
//! control goes: what is pushed within a block lies above it.
//!
//! What an instruction has taken off the operand stack is on its way to someone else
//! and not listed any more.

use super::Translator;
use super::homes::Home;
use crate::CompileError;
use crate::emit::record::{Records, block};
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::EntitySet;
use cranelift_codegen::ir::{
    Block, Inst, InstBuilder, StackSlot, StackSlotData, StackSlotKind, Type, UserStackMapEntry,
    Value, types::*,
};
use cranelift_frontend::Variable;
use std::collections::HashMap;

/// How the list of a call tells what locals own from what operands are, and both from
/// all other references.
pub(crate) const OF_LOCAL: Type = F64;
/// See [`OF_LOCAL`].
pub(crate) const OF_OPERAND: Type = F32;

/// How many locals, and how many operands, are put into slots at each call.
const FEW: usize = 8;
/// To how many entries in lists the code compares that frees a stack.
const FREEING: u64 = 500;

/// How many bytes each has in its slot.
const WORD: usize = size_of::<u64>();

/// Which of the two slots the locals are in.
const LOCALS: usize = 0;
/// Which of the two slots the operands are in.
const OPERANDS: usize = 1;

/// What a function may own.
#[derive(Default)]
pub(crate) struct Owned {
    /// The values that are first-class stacks.
    stacks: EntitySet<Value>,
    /// The locals that hold one, and objects with the locals that other code shares, by
    /// their places in the slot. One that is kept in memory is in the slot only.
    locals: Vec<Option<Variable>>,
    /// The places of locals, by their index.
    places: HashMap<u32, usize>,
    /// The places that are to be cleared when the function begins, as they are not set on
    /// every way.
    late: Vec<usize>,
    /// The operands that are first-class stacks, with their index on the operand stack, as
    /// far as that was looked through.
    operands: Vec<(usize, Value)>,
    /// How much of the operand stack was looked through.
    looked_through: usize,
    /// How many of the operands are in their places.
    kept: usize,
    /// Where locals and operands are while something is called.
    slots: [Option<StackSlot>; 2],
    /// Whether the frame is freed already, and only a switch to another stack is left to
    /// do.
    is_freed: bool,
    /// How often something was listed or freed that is not charged yet.
    times: u64,
}

/// An exception handler: what it catches, and what stays.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Caught {
    /// The tag, or none for all exceptions.
    pub tag: Option<u32>,
    /// How many of the operands that are first-class stacks stay.
    pub kept: u32,
}

/// Where a conditional branch goes.
pub(crate) struct Way {
    /// The block to go to, with operands.
    pub block: Block,
    pub operands: Vec<Value>,
    /// The label, if the block is on the way to it: operands that are left behind are freed
    /// there.
    paved: Option<u32>,
}

impl Translator<'_> {
    /// Notes that a value is a first-class stack.
    pub(crate) fn own_value(&mut self, value: Value) {
        self.owned.stacks.insert(value);
    }

    /// Notes that a local holds a first-class stack.
    pub(crate) fn own_local(&mut self, local: u32, variable: Variable) {
        self.owned.places.insert(local, self.owned.locals.len());
        self.owned.locals.push(Some(variable));
    }

    /// A place in memory for a local that holds a first-class stack.
    pub(crate) fn new_owned_home(&mut self) -> Home {
        let place = self.owned.locals.len();
        self.owned.locals.push(None);
        Home { slot: self.owned_slot(LOCALS, place), offset: (place * WORD) as i32 }
    }

    /// The stacks in the fields of an object are owned as if they were locals.
    pub(crate) fn own_object(&mut self) {
        let object = self.pop();
        let place = self.owned.locals.len();
        let variable = (!self.used.are_in_memory).then(|| {
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

    /// Puts a local that is set into its place, if it is not put there at each call.
    pub(crate) fn keep_local(&mut self, local: u32, value: Value) {
        if let Some(&place) = self.owned.places.get(&local)
            && place >= FEW
        {
            self.keep(LOCALS, place, value);
        }
    }

    /// Puts operands that were pushed into their places, if they are not put there at each
    /// call.
    pub(crate) fn keep_operands(&mut self) {
        if !self.env.has_stackrefs || !self.is_reachable() {
            return;
        }
        self.look_through_operands();
        for place in self.owned.kept.max(FEW)..self.owned.operands.len() {
            self.keep(OPERANDS, place, self.owned.operands[place].1);
        }
        self.owned.kept = self.owned.operands.len();
    }

    fn keep(&mut self, which: usize, place: usize, value: Value) {
        let slot = self.owned_slot(which, place);
        self.builder.ins().stack_store(I64, value, slot, (place * WORD) as i32);
    }

    /// The slot of the locals or operands, with room for some place.
    fn owned_slot(&mut self, which: usize, place: usize) -> StackSlot {
        let slot = *self.owned.slots[which].get_or_insert_with(|| {
            let nothing = StackSlotData::new(StackSlotKind::ExplicitSlot, 0, 3);
            self.builder.create_sized_stack_slot(nothing)
        });
        let size = &mut self.builder.func.sized_stack_slots[slot].size;
        *size = (*size).max(((place + 1) * WORD) as u32);
        slot
    }

    /// Clears places where the function begins that are not set on every way.
    pub(crate) fn clear_late_homes(&mut self) {
        for place in std::mem::take(&mut self.owned.late) {
            let slot = self.owned_slot(LOCALS, place);
            let entry = self.builder.func.layout.entry_block().expect("a function has a block");
            let mut cursor = FuncCursor::new(self.builder.func).at_first_insertion_point(entry);
            let null = cursor.ins().iconst(I64, 0);
            cursor.ins().stack_store(I64, null, slot, (place * WORD) as i32);
        }
    }

    /// Finds the operands that are first-class stacks.
    fn look_through_operands(&mut self) {
        if !self.env.has_stackrefs {
            return;
        }
        let owned = &mut self.owned;
        owned.looked_through = owned.looked_through.min(self.stack.take_lowest());
        let gone = owned.operands.partition_point(|(index, _)| *index < owned.looked_through);
        owned.operands.truncate(gone);
        owned.kept = owned.kept.min(gone);
        for index in owned.looked_through..self.stack.len() {
            if owned.stacks.contains(self.stack[index]) {
                owned.operands.push((index, self.stack[index]));
            }
        }
        owned.looked_through = self.stack.len();
    }

    /// How many of the operands, without the topmost ones, are first-class stacks.
    pub(crate) fn owned_below(&mut self, topmost: usize) -> u32 {
        self.owned_between(0, self.stack.len() - topmost).len() as u32
    }

    /// The operands from one height to another that are first-class stacks.
    fn owned_between(&mut self, from: usize, to: usize) -> Vec<Value> {
        self.look_through_operands();
        let operands = &self.owned.operands;
        let from = operands.partition_point(|(index, _)| *index < from);
        let to = operands.partition_point(|(index, _)| *index < to);
        operands[from..to].iter().map(|(_, value)| *value).collect()
    }

    /// The places of locals that may hold something now, each with its value if that is to
    /// be put there.
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

    /// Puts what the frame owns into slots, before a call. Returns the list for it, with
    /// the references among locals that are in memory.
    pub(crate) fn spill_owned(&mut self) -> Vec<UserStackMapEntry> {
        let mut list = self.list_homes();
        let references = list.len();
        if self.env.has_stackrefs && !self.owned.is_freed {
            self.spill_locals(&mut list);
            self.spill_operands(&mut list);
            self.note(list.len() > references);
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
        self.look_through_operands();
        for place in 0..self.owned.operands.len() {
            if place < FEW || place >= self.owned.kept {
                self.keep(OPERANDS, place, self.owned.operands[place].1);
            }
            let slot = self.owned_slot(OPERANDS, place);
            list.push(UserStackMapEntry { ty: OF_OPERAND, slot, offset: (place * WORD) as u32 });
        }
    }

    /// Gives a call the list that [`spill_owned`](Self::spill_owned) has made.
    pub(crate) fn list_owned(&mut self, call: Inst, list: Vec<UserStackMapEntry>) {
        self.builder.func.dfg.append_user_stack_map_entries(call, list);
    }

    /// Notes that the running stack is freed, with what this frame owns, or that
    /// another was switched to.
    pub(crate) fn set_freed(&mut self, is_freed: bool) {
        self.owned.is_freed = is_freed;
    }

    /// Notes in the running stack that this frame may own something.
    pub(crate) fn note_owned(&mut self) {
        let owns = self.owned_below(0) > 0 || !self.owned_by_locals().is_empty();
        self.note(owns);
    }

    fn note(&mut self, owns: bool) {
        if owns {
            let current = self.current_stack();
            let yes = self.builder.ins().iconst(I8, 1);
            self.set(current, block::OWNS, yes);
        }
    }

    // ---- branches

    /// Branches to a label, in code of its own.
    pub(crate) fn branch_to(&mut self, depth: u32) {
        self.free_left_behind(depth);
        let (block, operands) = self.branch(depth);
        self.jump(block, &operands);
    }

    /// Where a conditional branch to a label goes. When it is emitted,
    /// [`pave`](Self::pave) must follow.
    pub(crate) fn way_to(&mut self, depth: u32) -> Way {
        if self.left_behind(depth).is_empty() {
            let (block, operands) = self.branch(depth);
            return Way { block, operands, paved: None };
        }
        self.way_apart(depth)
    }

    /// The same, by way of a block of its own.
    pub(crate) fn way_apart(&mut self, depth: u32) -> Way {
        Way { block: self.builder.create_block(), operands: vec![], paved: Some(depth) }
    }

    /// Emits what lies between a conditional branch and its label.
    pub(crate) fn pave(&mut self, way: &Way) {
        if let Some(depth) = way.paved {
            self.enter_sealed(way.block);
            self.branch_to(depth);
        }
    }

    fn left_behind(&mut self, depth: u32) -> Vec<Value> {
        let (height, count) = self.arrival(depth);
        self.owned_between(height, self.stack.len() - count)
    }

    fn free_left_behind(&mut self, depth: u32) {
        let values = self.left_behind(depth);
        self.free_all(values);
    }

    /// Frees the operands below the topmost ones, before the function is left.
    pub(crate) fn free_below(&mut self, topmost: usize) {
        let values = self.owned_between(0, self.stack.len() - topmost);
        self.free_all(values);
    }

    fn free_all(&mut self, values: Vec<Value>) {
        self.owned.times += values.len() as u64 * FREEING;
        values.into_iter().for_each(|value| self.free_unless_null(value));
    }

    // ---- limits

    /// Charges for what the last operator has listed at calls, or freed.
    pub(crate) fn charge_listed(&mut self) -> Result<(), CompileError> {
        let places = std::mem::take(&mut self.owned.times);
        self.budget.charge_references("references that calls list", places)
    }
}
