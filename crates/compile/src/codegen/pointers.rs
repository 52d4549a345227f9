//! Pointer maps: lists the pointers in frames at each call, so that frames can be saved and
//! restored.
//!
//! A frame that is restored in another store, perhaps in another process, must not contain an
//! address that is not listed. References are already listed at every call, for the collector.
//! Return addresses and frame links are known by their places. That leaves the addresses that
//! generated code works with: of its instance, of the store, of a control block, and of things
//! inside them.
//!
//! After the optimizer, [`list_pointers`] finds all values that may be such addresses. It gives
//! each one that is needed after a call a stack slot. The value is stored there when it is made,
//! reloaded at uses after a call, and listed at all calls in between. No other word of a frame, and
//! no register, holds a pointer during a call.
//!
//! A value is a pointer if it comes from one of these:
//!
//! * parameters, and results of the runtime, that the translation marks as pointers;
//! * words that are loaded from records of the engine. Values of the program are loaded as
//!   [little-endian](crate::emit::program_value), as WebAssembly requires, and records are not. On
//!   this machine there is no other difference;
//! * addresses of code;
//! * values that are computed from pointers.

use super::stack_map::OF_POINTER;
use crate::CompileError;
use crate::budget::Budget;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::{EntitySet, SecondaryMap};
use cranelift_codegen::flowgraph::ControlFlowGraph;
use cranelift_codegen::ir::{
    Block, BlockArg, BlockCall, Function, Inst, InstBuilder, InstructionData, MemFlagsData, Opcode,
    StackSlot, StackSlotData, StackSlotKind, UserStackMapEntry, Value, ValueDef, types::*,
};
use std::collections::{HashMap, HashSet};

/// Marks all loads so that the optimizer repeats them after a call, which may return in another
/// store. Runs before the optimizer.
pub(super) fn reload_after_calls(func: &mut Function) {
    for block in func.layout.blocks().collect::<Vec<_>>() {
        for inst in func.layout.block_insts(block).collect::<Vec<_>>() {
            let InstructionData::Load { opcode, arg, flags, offset } = func.dfg.insts[inst] else {
                continue;
            };
            let old = func.dfg.mem_flags[flags];
            let mut new = MemFlagsData::new()
                .with_trap_code(old.trap_code())
                .with_alias_region(old.alias_region());
            if old.aligned() {
                new.set_aligned();
            }
            if let Some(endianness) = old.explicit_endianness() {
                new.set_endianness(endianness);
            }
            let flags = func.dfg.mem_flags.insert(new).expect("there are few kinds of loads");
            func.dfg.insts[inst] = InstructionData::Load { opcode, arg, flags, offset };
        }
    }
}

/// Gives every pointer that is needed after a call a slot that the call lists. The values in
/// `known` are pointers.
pub(super) fn list_pointers(
    func: &mut Function,
    known: &[Value],
    budget: &mut Budget,
) -> Result<(), CompileError> {
    let pointers = pointers(func, known);
    let mut cfg = ControlFlowGraph::with_function(func);
    if split_edges(func, &pointers) {
        cfg = ControlFlowGraph::with_function(func);
    }
    let needed = Needed::of(func, &cfg, &pointers, budget)?;
    if !needed.slots.is_empty() {
        reload(func, &needed);
    }
    Ok(())
}

// ---- which values are pointers

fn pointers(func: &Function, known: &[Value]) -> EntitySet<Value> {
    let mut found = EntitySet::new();
    let mut pending: Vec<Value> = Vec::new();
    let users = users(func);
    let mut add = |value: Value, pending: &mut Vec<Value>| {
        let value = func.dfg.resolve_aliases(value);
        if func.dfg.value_type(value) == I64 && found.insert(value) {
            pending.push(value);
        }
    };
    known.iter().for_each(|value| add(*value, &mut pending));
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            if gives_pointer(func, inst) {
                func.dfg.inst_results(inst).iter().for_each(|value| add(*value, &mut pending));
            }
        }
    }
    while let Some(pointer) = pending.pop() {
        let Some(users) = users.get(&pointer) else { continue };
        for &user in users {
            if keeps_pointer(func, user, pointer) {
                func.dfg.inst_results(user).iter().for_each(|value| add(*value, &mut pending));
            }
            for (call, block) in branches(func, user) {
                let params = func.dfg.block_params(block);
                for (arg, param) in call.iter().zip(params) {
                    let is_it = |value| func.dfg.resolve_aliases(value) == pointer;
                    if matches!(arg, BlockArg::Value(value) if is_it(*value)) {
                        add(*param, &mut pending);
                    }
                }
            }
        }
    }
    found
}

/// The instructions that use each value.
fn users(func: &Function) -> HashMap<Value, Vec<Inst>> {
    let mut users: HashMap<Value, Vec<Inst>> = HashMap::new();
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            for value in func.dfg.inst_values(inst) {
                users.entry(func.dfg.resolve_aliases(value)).or_default().push(inst);
            }
        }
    }
    users
}

/// Whether an instruction makes a pointer from other values.
fn gives_pointer(func: &Function, inst: Inst) -> bool {
    match func.dfg.insts[inst] {
        // Slots contain references, which are listed separately.
        InstructionData::Load { opcode: Opcode::Load, arg, flags, .. } => {
            let is_record = func.dfg.mem_flags[flags].explicit_endianness().is_none();
            is_record && !is_slot_address(func, arg)
        }
        ref data => matches!(data.opcode(), Opcode::FuncAddr | Opcode::SymbolValue),
    }
}

fn is_slot_address(func: &Function, value: Value) -> bool {
    let ValueDef::Result(inst, _) = func.dfg.value_def(func.dfg.resolve_aliases(value)) else {
        return false;
    };
    func.dfg.insts[inst].opcode() == Opcode::StackAddr
}

/// Whether the result of an instruction is a pointer if this operand is one.
fn keeps_pointer(func: &Function, inst: Inst, pointer: Value) -> bool {
    match func.dfg.insts[inst].opcode() {
        Opcode::Iadd | Opcode::Bor | Opcode::Bnot | Opcode::Select | Opcode::SelectSpectreGuard => {
            true
        }
        // The distance between two pointers is not a pointer.
        Opcode::Isub => func.dfg.resolve_aliases(func.dfg.inst_args(inst)[0]) == pointer,
        _ => false,
    }
}

/// The targets of a branch, with the arguments for each.
fn branches(func: &Function, inst: Inst) -> Vec<(Vec<BlockArg>, Block)> {
    let dfg = &func.dfg;
    let calls = dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
    let pair = |call: &BlockCall| {
        (call.args(&dfg.value_lists).collect::<Vec<_>>(), call.block(&dfg.value_lists))
    };
    calls.iter().map(pair).collect()
}

// ---- edges of calls

/// Where a call passes pointers to a block that continues after it, inserts a block that reloads
/// them. Returns whether it inserted any.
fn split_edges(func: &mut Function, pointers: &EntitySet<Value>) -> bool {
    let mut has_split = false;
    for block in func.layout.blocks().collect::<Vec<_>>() {
        let Some(last) = func.layout.last_inst(block) else { continue };
        if !func.dfg.insts[last].opcode().is_safepoint() {
            continue;
        }
        for (number, (args, target)) in branches(func, last).into_iter().enumerate() {
            let is_pointer = |arg: &BlockArg| match arg {
                BlockArg::Value(value) => pointers.contains(func.dfg.resolve_aliases(*value)),
                _ => false,
            };
            if args.iter().any(is_pointer) {
                split_edge(func, last, number, &args, target, block);
                has_split = true;
            }
        }
    }
    has_split
}

fn split_edge(
    func: &mut Function,
    call: Inst,
    number: usize,
    args: &[BlockArg],
    target: Block,
    after: Block,
) {
    let between = func.dfg.make_block();
    func.layout.insert_block_after(between, after);
    let params = func.dfg.block_params(target).to_vec();
    let mut passed = Vec::new();
    let mut onwards = Vec::new();
    for (arg, param) in args.iter().zip(params) {
        onwards.push(match arg {
            BlockArg::Value(value) => BlockArg::Value(*value),
            result => {
                passed.push(*result);
                let ty = func.dfg.value_type(param);
                BlockArg::Value(func.dfg.append_block_param(between, ty))
            }
        });
    }
    let to_between = BlockCall::new(between, passed, &mut func.dfg.value_lists);
    let dfg = &mut func.dfg;
    let calls =
        dfg.insts[call].branch_destination_mut(&mut dfg.jump_tables, &mut dfg.exception_tables);
    calls[number] = to_between;
    FuncCursor::new(func).at_bottom(between).ins().jump(target, &onwards);
}

// ---- which pointers are needed after calls

/// The pointers that are needed after calls.
struct Needed {
    slots: HashMap<Value, StackSlot>,
    /// The calls after which each is needed.
    calls: Vec<(Inst, StackSlot)>,
}

impl Needed {
    fn of(
        func: &mut Function,
        cfg: &ControlFlowGraph,
        pointers: &EntitySet<Value>,
        budget: &mut Budget,
    ) -> Result<Needed, CompileError> {
        let order = Order::of(func);
        let users = users(func);
        let mut needed = Needed { slots: HashMap::new(), calls: Vec::new() };
        for pointer in pointers.iter() {
            let Some(users) = users.get(&pointer) else { continue };
            let (calls, blocks) = order.calls_during(func, cfg, pointer, users);
            let pairs = (calls.len() + blocks) as u64;
            budget.charge_references("pointers that are needed during calls", pairs)?;
            if calls.is_empty() {
                continue;
            }
            let word = StackSlotData::new(StackSlotKind::ExplicitSlot, 8, 3);
            let slot = func.create_sized_stack_slot(word);
            needed.slots.insert(pointer, slot);
            needed.calls.extend(calls.into_iter().map(|call| (call, slot)));
        }
        Ok(needed)
    }
}

/// The order of instructions in their blocks, and the calls of each block.
struct Order {
    places: SecondaryMap<Inst, u32>,
    /// In order.
    calls: SecondaryMap<Block, Vec<(u32, Inst)>>,
}

impl Order {
    fn of(func: &Function) -> Order {
        let mut order = Order { places: SecondaryMap::new(), calls: SecondaryMap::new() };
        for block in func.layout.blocks() {
            for (place, inst) in (1..).zip(func.layout.block_insts(block)) {
                order.places[inst] = place;
                if func.dfg.insts[inst].opcode().is_safepoint() {
                    order.calls[block].push((place, inst));
                }
            }
        }
        order
    }

    /// The calls between the definition of a value and its uses, and the number of blocks between.
    fn calls_during(
        &self,
        func: &Function,
        cfg: &ControlFlowGraph,
        value: Value,
        users: &[Inst],
    ) -> (Vec<Inst>, usize) {
        let (home, made) = match func.dfg.value_def(value) {
            ValueDef::Result(inst, _) => {
                (func.layout.inst_block(inst).expect("it is in the function"), self.places[inst])
            }
            ValueDef::Param(block, _) => (block, 0),
            ValueDef::Union(..) => unreachable!("the optimizer has chosen"),
        };
        // Only the last use in each block matters.
        let mut last: HashMap<Block, u32> = HashMap::new();
        for &user in users {
            let block = func.layout.inst_block(user).expect("it is in the function");
            let last = last.entry(block).or_default();
            *last = (*last).max(self.places[user]);
        }
        let mut found: Vec<Inst> = Vec::new();
        let mut seen: HashSet<Block> = HashSet::new();
        let mut pending: Vec<Block> = Vec::new();
        let mut within = |block: Block, before: u32, pending: &mut Vec<Block>| {
            let calls = &self.calls[block];
            let after = if block == home { made } else { 0 };
            let first = calls.partition_point(|(place, _)| *place <= after);
            let end = calls.partition_point(|(place, _)| *place < before).max(first);
            found.extend(calls[first..end].iter().map(|(_, call)| *call));
            if block != home {
                pending.extend(cfg.pred_iter(block).map(|pred| pred.block));
            }
        };
        last.iter().for_each(|(block, place)| within(*block, *place, &mut pending));
        while let Some(block) = pending.pop() {
            if seen.insert(block) {
                // The last instruction counts too, which may be a call.
                within(block, u32::MAX, &mut pending);
            }
        }
        found.sort_unstable_by_key(|call| call.as_u32());
        found.dedup();
        (found, seen.len())
    }
}

// ---- slots

/// Stores each needed pointer when it is made, reloads it at uses after a call, and lists it.
fn reload(func: &mut Function, needed: &Needed) {
    for &(call, slot) in &needed.calls {
        let entry = UserStackMapEntry { ty: OF_POINTER, slot, offset: 0 };
        func.dfg.append_user_stack_map_entry(call, entry);
    }
    for block in func.layout.blocks().collect::<Vec<_>>() {
        // The value that currently holds each pointer in this block.
        let params = func.dfg.block_params(block).iter();
        let mut names: HashMap<Value, Value> = params.map(|param| (*param, *param)).collect();
        for inst in func.layout.block_insts(block).collect::<Vec<_>>() {
            rename_operands(func, needed, inst, &mut names);
            if func.dfg.insts[inst].opcode().is_safepoint() {
                names.clear();
            }
            for value in func.dfg.inst_results(inst).to_vec() {
                if let Some(&slot) = needed.slots.get(&value) {
                    names.insert(value, value);
                    store(&mut FuncCursor::new(func).after_inst(inst), value, slot);
                }
            }
        }
    }
    for block in func.layout.blocks().collect::<Vec<_>>() {
        for param in func.dfg.block_params(block).to_vec() {
            if let Some(&slot) = needed.slots.get(&param) {
                store(&mut FuncCursor::new(func).at_first_insertion_point(block), param, slot);
            }
        }
    }
}

fn rename_operands(
    func: &mut Function,
    needed: &Needed,
    inst: Inst,
    names: &mut HashMap<Value, Value>,
) {
    let operands: Vec<Value> =
        func.dfg.inst_values(inst).map(|value| func.dfg.resolve_aliases(value)).collect();
    for &operand in &operands {
        let Some(&slot) = needed.slots.get(&operand) else { continue };
        names.entry(operand).or_insert_with(|| {
            let mut cursor = FuncCursor::new(func).at_inst(inst);
            let address = cursor.ins().stack_addr(I64, slot, 0);
            cursor.ins().load(I64, MemFlagsData::trusted(), address, 0)
        });
    }
    let renamed = operands.iter().map(|operand| *names.get(operand).unwrap_or(operand));
    let renamed: Vec<Value> = renamed.collect();
    if renamed != operands {
        func.dfg.overwrite_inst_values(inst, renamed.into_iter());
    }
}

fn store(cursor: &mut FuncCursor<'_>, value: Value, slot: StackSlot) {
    let address = cursor.ins().stack_addr(I64, slot, 0);
    cursor.ins().store(MemFlagsData::trusted(), value, address, 0);
}
