//! Checks that frames can move, and rewrites uses of stack slots so that they can.
//!
//! No word of a suspended stack may point into stack memory, except the chain of frame pointers.
//! Cranelift does not promise that: the address of a stack slot can be shared between uses, and so
//! live across a call. It stays out of registers only where it is folded into the addressing mode
//! of a load or store. On x86-64 that happens for every store and for `atomic_load`. It does not
//! happen for an ordinary load that is fused into an arithmetic instruction.
//!
//! After the optimizer, [`make_relocatable`] gives each use of a slot's address its own address
//! right before it. It turns loads of words from slots into atomic loads, which are ordinary `mov`s
//! on this machine. It fails if an address is used for anything else. Then no register except `rsp`
//! and `rbp` holds an address of the stack, and a stack can move at any instruction that finds no
//! room on it. The only exception is a [check for room](crate::emit::check_room). Its code is
//! [inspected](crate::arch::is_check_for_room) when it has been generated.

use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::ir::{
    Function, Inst, InstBuilder, InstructionData, Opcode, Value, ValueDef, types::*,
};

#[cfg(test)]
mod tests;

/// An instruction that makes a frame immovable.
#[derive(Debug)]
pub(super) struct Immovable(pub String);

/// Makes the frames of a function relocatable, or returns the instruction that prevents it.
pub(super) fn make_relocatable(func: &mut Function) -> Result<(), Immovable> {
    if func.sized_stack_slots.is_empty() && func.dynamic_stack_slots.is_empty() {
        return no_stack_pointer(func);
    }
    let mut cursor = FuncCursor::new(func);
    while cursor.next_block().is_some() {
        while let Some(inst) = cursor.next_inst() {
            localize(&mut cursor, inst);
        }
    }
    check(func)
}

/// Recomputes the slot address of a load or store right before it.
fn localize(cursor: &mut FuncCursor<'_>, inst: Inst) {
    match cursor.func.dfg.insts[inst] {
        InstructionData::Load { opcode: Opcode::Load, arg, offset, flags } => {
            let Some((slot, base)) = slot_address(cursor.func, arg) else { return };
            let ty = cursor.func.dfg.value_type(cursor.func.dfg.first_result(inst));
            if !matches!(ty, I32 | I64) {
                return;
            }
            let address = cursor.ins().stack_addr(I64, slot, base + i32::from(offset));
            cursor.func.dfg.insts[inst] =
                InstructionData::LoadNoOffset { opcode: Opcode::AtomicLoad, arg: address, flags };
        }
        InstructionData::Store { opcode: Opcode::Store, args: [value, arg], offset, flags } => {
            let Some((slot, base)) = slot_address(cursor.func, arg) else { return };
            let address = cursor.ins().stack_addr(I64, slot, base + i32::from(offset));
            cursor.func.dfg.insts[inst] = InstructionData::Store {
                opcode: Opcode::Store,
                args: [value, address],
                offset: 0.into(),
                flags,
            };
        }
        _ => {}
    }
}

fn slot_address(func: &Function, value: Value) -> Option<(cranelift_codegen::ir::StackSlot, i32)> {
    let value = func.dfg.resolve_aliases(value);
    let ValueDef::Result(inst, _) = func.dfg.value_def(value) else { return None };
    match func.dfg.insts[inst] {
        InstructionData::StackAddr { stack_slot, offset, .. } => {
            Some((stack_slot, i32::from(offset)))
        }
        _ => None,
    }
}

/// Checks that every slot address is used only as the address of an atomic load or of a store.
fn check(func: &Function) -> Result<(), Immovable> {
    no_stack_pointer(func)?;
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            let allowed = match func.dfg.insts[inst] {
                InstructionData::LoadNoOffset { opcode: Opcode::AtomicLoad, arg, .. } => Some(arg),
                InstructionData::Store { opcode: Opcode::Store, args, .. } => {
                    if slot_address(func, args[0]).is_some() {
                        return Err(immovable(func, inst));
                    }
                    Some(args[1])
                }
                _ => None,
            };
            let stray = func
                .dfg
                .inst_values(inst)
                .any(|value| Some(value) != allowed && slot_address(func, value).is_some());
            if stray {
                return Err(immovable(func, inst));
            }
        }
    }
    Ok(())
}

/// Checks that nothing reads the stack pointer except to load from it at once, or reads the frame
/// pointer, or takes the address of a slot of dynamic size.
fn no_stack_pointer(func: &Function) -> Result<(), Immovable> {
    for block in func.layout.blocks() {
        for inst in func.layout.block_insts(block) {
            let is_allowed = match func.dfg.insts[inst].opcode() {
                Opcode::GetStackPointer => is_loaded_from_at_once(func, inst),
                Opcode::GetFramePointer | Opcode::StackSwitch | Opcode::DynamicStackAddr => false,
                _ => true,
            };
            if !is_allowed {
                return Err(immovable(func, inst));
            }
        }
    }
    Ok(())
}

/// Whether the result of an instruction is used only by a load that follows it.
fn is_loaded_from_at_once(func: &Function, pointer: Inst) -> bool {
    let result = func.dfg.first_result(pointer);
    let is_used = |inst: &Inst| func.dfg.inst_values(*inst).any(|value| value == result);
    let blocks = func.layout.blocks();
    let users = blocks.flat_map(|block| func.layout.block_insts(block)).filter(is_used);
    let users: Vec<_> = users.collect();
    let [user] = users[..] else { return users.is_empty() };
    let is_load = matches!(func.dfg.insts[user], InstructionData::Load { .. });
    is_load && func.layout.next_inst(pointer) == Some(user)
}

fn immovable(func: &Function, inst: Inst) -> Immovable {
    Immovable(func.dfg.display_inst(inst).to_string())
}
