//! What a frame owns: first-class stacks in its locals and among its operands.
//!
//! They die with the frame. Where an instruction leaves operands behind, code is
//! emitted that frees them. Where a frame ends otherwise, by an exception or since its
//! stack is freed, the runtime does it: at every call, what the frame owns is put into
//! slots that are listed for the call, whether it is needed afterwards or not.
//!
//! What an instruction has taken off the operand stack is on its way to someone else
//! and not listed any more.

use super::Translator;
use crate::CompileError;
use crate::emit::record::{Records, block};
use cranelift_codegen::entity::EntitySet;
use cranelift_codegen::ir::{
    Block, Inst, InstBuilder, StackSlot, StackSlotData, StackSlotKind, Type, UserStackMapEntry,
    Value, types::*,
};
use cranelift_frontend::Variable;

/// How the list of a call tells what locals own from what operands are, and both from
/// all other references.
pub(crate) const OF_LOCAL: Type = F64;
/// See [`OF_LOCAL`].
pub(crate) const OF_OPERAND: Type = F32;

/// What a function may own.
#[derive(Default)]
pub(crate) struct Owned {
    /// The values that are first-class stacks.
    stacks: EntitySet<Value>,
    /// The locals that hold one, and objects with the locals that other code shares.
    locals: Vec<Variable>,
    /// Where locals and operands are while something is called.
    slots: [Option<StackSlot>; 2],
    /// Whether the frame is freed already, and only a switch to another stack is left to
    /// do.
    is_freed: bool,
    /// How often something was listed or freed.
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
    /// The label, if operands that are left behind are freed on the way.
    frees: Option<u32>,
}

impl Translator<'_> {
    /// Notes that a value is a first-class stack.
    pub(crate) fn own_value(&mut self, value: Value) {
        self.owned.stacks.insert(value);
    }

    /// Notes that a local holds a first-class stack.
    pub(crate) fn own_local(&mut self, variable: Variable) {
        self.owned.locals.push(variable);
    }

    /// The stacks in the fields of an object are owned as if they were locals.
    pub(crate) fn own_object(&mut self) {
        let object = self.pop();
        let variable = self.builder.declare_var(I64);
        self.builder.declare_var_needs_stack_map(variable);
        self.builder.def_var(variable, object);
        self.owned.locals.push(variable);
    }

    fn is_stack(&self, value: &Value) -> bool {
        self.owned.stacks.contains(*value)
    }

    /// How many of the operands, without the topmost ones, are first-class stacks.
    pub(crate) fn owned_below(&self, topmost: usize) -> u32 {
        let below = &self.stack[..self.stack.len() - topmost];
        below.iter().filter(|value| self.is_stack(value)).count() as u32
    }

    /// What locals hold now, unless it is known to be null.
    fn owned_by_locals(&mut self) -> Vec<Value> {
        let locals = self.owned.locals.clone();
        let values = locals.into_iter().map(|variable| self.builder.use_var(variable));
        let values: Vec<Value> = values.collect();
        values.into_iter().filter(|value| !self.is_null_constant(*value)).collect()
    }

    // ---- calls

    /// Puts what the frame owns into slots, before a call. Returns the list for it.
    pub(crate) fn spill_owned(&mut self) -> Vec<UserStackMapEntry> {
        if self.owned.is_freed {
            return Vec::new();
        }
        let operands: Vec<Value> =
            self.stack.iter().copied().filter(|value| self.is_stack(value)).collect();
        if operands.is_empty() && self.owned.locals.is_empty() {
            return Vec::new();
        }
        let locals = self.owned_by_locals();
        let mut list = self.spill(0, OF_LOCAL, &locals);
        list.extend(self.spill(1, OF_OPERAND, &operands));
        self.note(!list.is_empty());
        self.owned.times += list.len() as u64;
        list
    }

    fn spill(&mut self, slot: usize, ty: Type, values: &[Value]) -> Vec<UserStackMapEntry> {
        if values.is_empty() {
            return Vec::new();
        }
        let slot = *self.owned.slots[slot].get_or_insert_with(|| {
            let nothing = StackSlotData::new(StackSlotKind::ExplicitSlot, 0, 3);
            self.builder.create_sized_stack_slot(nothing)
        });
        let size = &mut self.builder.func.sized_stack_slots[slot].size;
        *size = (*size).max((values.len() * size_of::<u64>()) as u32);
        let place = |i: usize| (i * size_of::<u64>()) as i32;
        let mut list = Vec::new();
        for (i, &value) in values.iter().enumerate() {
            self.builder.ins().stack_store(I64, value, slot, place(i));
            list.push(UserStackMapEntry { ty, slot, offset: place(i) as u32 });
        }
        list
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
            return Way { block, operands, frees: None };
        }
        Way { block: self.builder.create_block(), operands: vec![], frees: Some(depth) }
    }

    /// Emits what lies between a conditional branch and its label.
    pub(crate) fn pave(&mut self, way: &Way) {
        if let Some(depth) = way.frees {
            self.enter_sealed(way.block);
            self.branch_to(depth);
        }
    }

    fn left_behind(&self, depth: u32) -> Vec<Value> {
        let (height, count) = self.arrival(depth);
        let left = &self.stack[height..self.stack.len() - count];
        left.iter().copied().filter(|value| self.is_stack(value)).collect()
    }

    fn free_left_behind(&mut self, depth: u32) {
        let values = self.left_behind(depth);
        self.free_all(values);
    }

    /// Frees the operands below the topmost ones, before the function is left.
    pub(crate) fn free_below(&mut self, topmost: usize) {
        let below = &self.stack[..self.stack.len() - topmost];
        let values = below.iter().copied().filter(|value| self.is_stack(value)).collect();
        self.free_all(values);
    }

    fn free_all(&mut self, values: Vec<Value>) {
        self.owned.times += values.len() as u64;
        values.into_iter().for_each(|value| self.free_unless_null(value));
    }

    // ---- limits

    /// Fails if more is listed at calls than references may be needed during calls.
    pub(crate) fn check_owned(&self) -> Result<(), CompileError> {
        let (most, found) = (self.env.limits.live_references, self.owned.times);
        match found <= most {
            true => Ok(()),
            false => Err(self.too_many_references(found)),
        }
    }
}
