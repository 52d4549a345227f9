//! Chooses which of Cranelift's two register allocators a function gets.
//!
//! The backtracking allocator makes good code. For each block in which a value is live, it searches
//! the values that branches pass to block parameters before it, until some value was moved or
//! spilled on the way. In ordinary functions such values are frequent. In a long chain of small
//! diamonds there are none, and the search takes time quadratic in their number.
//!
//! The single-pass allocator visits the blocks from the last to the first. At each block it visits
//! every value whose live range contains the block. Its code is worse and its frames are larger,
//! but the order of blocks can help it: cold blocks stay in place, and loops stay together.
//!
//! So the work of both is estimated, and the single-pass allocator is used only where the
//! backtracking one would take disproportionately long.

use super::liveness::{LiveRange, LiveRanges, successors};
use crate::CompileError;
use crate::budget::Budget;
use crate::emit::signature::SWITCH_WORDS;
use crate::target::Limits;
use cranelift_codegen::Context;
use cranelift_codegen::cursor::{Cursor, FuncCursor};
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{
    Block, Function, Inst, InstBuilder, InstructionData, Layout, Opcode, Value,
};
use cranelift_codegen::isa::CallConv;

/// A register allocator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Allocator {
    Backtracking,
    SinglePass,
}

/// How many of the steps here make one of the [budget](crate::budget).
const PER_STEP: u64 = 4;

/// The steps of the single-pass allocator to carry a value into a block.
const CARRY: u64 = 8;

/// How many targets of a branch it searches in a step.
const TARGETS: u64 = 4;

/// The steps to compare a live value with an instruction.
const COMPARISON: u64 = 7;

/// With at most this many values on branches, searches are far shorter than the estimate.
const FEW_ENTRIES: u64 = 2000;

/// How many times more steps the estimate may then allow.
const SPARSE: u64 = 20;

/// The steps of the backtracking allocator to carry a value into a block.
const CROSSING: u64 = 14;

/// The steps for live values that the backtracking allocator may take per instruction, beyond those
/// for a small function.
const LIVE: u64 = 1000;

/// With this many values live at the start of a block, some of them are in memory.
const CROWDED: u32 = 12;

/// Chooses the allocator for an optimized function, and prepares the function for it. Fails if both
/// would take more than the budget.
pub(super) fn choose(
    context: &mut Context,
    limits: &Limits,
    is_frugal: bool,
    budget: &mut Budget,
) -> Result<Allocator, CompileError> {
    let mut backtracking = u64::MAX;
    if limits.backtracking > 0 && !is_frugal {
        if is_small(&context.func, limits.backtracking) {
            return Ok(Allocator::Backtracking);
        }
        let ranges = LiveRanges::of(&context.func, context.domtree.cfg_rpo().copied());
        let searches = self::backtracking(&context.func, &ranges);
        let live = comparisons(&context.func, &ranges).saturating_mul(COMPARISON);
        let live = live.saturating_add(crossings(&context.func, &ranges).saturating_mul(CROSSING));
        let instructions = context.func.dfg.num_insts() as u64;
        let most_live = limits.backtracking.saturating_add(instructions.saturating_mul(LIVE));
        // With few values on branches, most searches end early.
        let is_sparse = entries(&context.func) <= FEW_ENTRIES;
        let most = limits.backtracking.saturating_mul(if is_sparse { SPARSE } else { 1 });
        if searches <= most && live <= most_live {
            budget.charge(STAGE, live / PER_STEP)?;
            return Ok(Allocator::Backtracking);
        }
        backtracking = searches.saturating_add(live);
    }
    let layout = context.func.layout.clone();
    put_in_order(context);
    let ranges = LiveRanges::of(&context.func, context.domtree.cfg_rpo().copied());
    let single_pass = single_pass(&context.func, &ranges);
    budget.charge(STAGE, backtracking.min(single_pass) / PER_STEP)?;
    if single_pass < backtracking {
        return Ok(Allocator::SinglePass);
    }
    context.func.layout = layout;
    Ok(Allocator::Backtracking)
}

/// The name of this stage in errors.
const STAGE: &str = "the allocation of registers";

/// Whether a function is so small that no estimate can exceed the limit.
fn is_small(func: &Function, most: u64) -> bool {
    let counts = [func.dfg.num_values(), func.dfg.num_insts(), func.dfg.num_blocks()];
    let [values, instructions, blocks] = counts.map(|count| count as u64);
    let product = |a: u64, b: u64, c: u64| a.saturating_mul(b).saturating_mul(c);
    product(values, instructions, COMPARISON) <= most
        && product(values, blocks, 2 * CROSSING + entries(func)) <= most
}

/// How many values branches pass to block parameters.
fn entries(func: &Function) -> u64 {
    let values = |block: Block| {
        let inst = func.layout.last_inst(block)?;
        let params = |target| func.dfg.num_block_params(target) as u64;
        Some(successors(func, inst).map(params).sum::<u64>())
    };
    func.layout.blocks().filter_map(values).sum()
}

/// The most steps that the backtracking allocator takes.
fn backtracking(func: &Function, ranges: &LiveRanges) -> u64 {
    let mut branches: SecondaryMap<Block, u64> = SecondaryMap::new();
    for block in func.layout.blocks() {
        let Some(inst) = func.layout.last_inst(block) else { continue };
        successors(func, inst).for_each(|target| branches[target] += 1);
    }
    let moves = Moves::of(func, ranges);
    let (mut steps, mut waiting) = (0_u64, 0_u64);
    let mut visit = |value: Value, entered: u64, waiting: &mut u64| {
        let range = ranges.get(value);
        let blocks = u64::from(ranges.blocks_in(range)) + entered.min(1);
        *waiting += entered;
        steps = steps.saturating_add(waiting.saturating_mul(blocks));
        if moves.is_moved(ranges, range) {
            *waiting = 0;
        }
    };
    let mut edges = 0_u64;
    for block in func.layout.blocks() {
        for &param in func.dfg.block_params(block) {
            visit(param, branches[block], &mut waiting);
        }
        for inst in func.layout.block_insts(block) {
            for &result in func.dfg.inst_results(inst) {
                visit(result, 0, &mut waiting);
            }
            if is_guarded(func, inst) {
                let landings = successors(func, inst).count() as u64;
                edges = edges.saturating_add(waiting.saturating_mul(landings));
            }
        }
    }
    steps.saturating_add(edges)
}

/// How many pairs of a live value and an instruction there are, up to the next call, where the
/// value is spilled at once.
fn comparisons(func: &Function, ranges: &LiveRanges) -> u64 {
    // The next call after each instruction, computed backwards.
    let mut next_call = vec![ranges.block_of.len() as u32; ranges.block_of.len() + 1];
    let (mut number, mut call) = (ranges.block_of.len(), ranges.block_of.len() as u32);
    for &(block, _) in ranges.blocks.iter().rev() {
        let mut inst = func.layout.last_inst(block);
        while let Some(this) = inst {
            number -= 1;
            next_call[number] = call;
            if loses_registers(func, this) {
                call = number as u32;
            }
            inst = func.layout.prev_inst(this);
        }
    }
    let length = |value: Value| {
        let LiveRange { start, end } = ranges.get(value);
        u64::from(end.min(next_call[start as usize]).saturating_sub(start))
    };
    values(func).map(length).fold(0, u64::saturating_add)
}

/// The steps that the single-pass allocator takes.
fn single_pass(func: &Function, ranges: &LiveRanges) -> u64 {
    // For each value that a branch passes, it searches all targets of the branch.
    let searches = func.layout.blocks().filter_map(|block| {
        let inst = func.layout.last_inst(block)?;
        let targets = successors(func, inst).count() as u64;
        let passed = |target| func.dfg.num_block_params(target) as u64;
        Some(successors(func, inst).map(passed).sum::<u64>().saturating_mul(targets) / TARGETS)
    });
    searches.fold(crossings(func, ranges).saturating_mul(CARRY), u64::saturating_add)
}

/// How many pairs of a live value and a block, or a branch to a block, there are.
fn crossings(func: &Function, ranges: &LiveRanges) -> u64 {
    let mut edges: SecondaryMap<Block, u64> = SecondaryMap::new();
    for block in func.layout.blocks() {
        let Some(inst) = func.layout.last_inst(block) else { continue };
        successors(func, inst).for_each(|target| edges[target] += 1);
    }
    let mut before = Vec::with_capacity(ranges.blocks.len());
    let mut sum = 0;
    for (block, _) in &ranges.blocks {
        sum += 1 + edges[*block];
        before.push(sum);
    }
    let at = |number: u32| before.get(ranges.block(number) as usize).copied().unwrap_or(sum);
    let crossed = |value: Value| {
        let LiveRange { start, end } = ranges.get(value);
        at(end).saturating_sub(at(start))
    };
    values(func).map(crossed).fold(0, u64::saturating_add)
}

/// All values that blocks and instructions define.
fn values(func: &Function) -> impl Iterator<Item = Value> + '_ {
    func.layout.blocks().flat_map(|block| {
        let results = func.layout.block_insts(block).flat_map(|inst| func.dfg.inst_results(inst));
        func.dfg.block_params(block).iter().chain(results).copied()
    })
}

fn is_guarded(func: &Function, inst: Inst) -> bool {
    matches!(func.dfg.insts[inst].opcode(), Opcode::TryCall | Opcode::TryCallIndirect)
}

/// The places at which values are moved.
struct Moves {
    /// For each instruction, how many calls before it preserve no register.
    calls: Vec<u32>,
    /// For each block, how many blocks before it start with many live values.
    crowds: Vec<u32>,
}

impl Moves {
    fn of(func: &Function, ranges: &LiveRanges) -> Moves {
        let mut calls = Vec::with_capacity(ranges.block_of.len() + 1);
        let mut change = vec![0_i64; ranges.blocks.len() + 2];
        let mut before = 0;
        for &(block, _) in &ranges.blocks {
            for inst in func.layout.block_insts(block) {
                calls.push(before);
                before += u32::from(loses_registers(func, inst));
                for &result in func.dfg.inst_results(inst) {
                    let LiveRange { start, end } = ranges.get(result);
                    change[ranges.block(start) as usize + 1] += 1;
                    change[ranges.block(end) as usize + 1] -= 1;
                }
            }
        }
        calls.push(before);
        let (mut live, mut crowded) = (0, 0);
        let count = |change: &i64| {
            live += change;
            let before = crowded;
            crowded += u32::from(live > i64::from(CROWDED));
            before
        };
        Moves { calls, crowds: change.iter().map(count).collect() }
    }

    /// Whether a value is moved after the block of its definition.
    fn is_moved(&self, ranges: &LiveRanges, range: LiveRange) -> bool {
        let (from, to) = (ranges.block(range.start) as usize, ranges.block(range.end) as usize);
        let Some((_, second)) = ranges.blocks.get(from + 1) else { return false };
        let call_between = to > from
            && self.calls[*second as usize]
                < self.calls[(range.end as usize).max(*second as usize)];
        call_between || self.crowds[to + 1] > self.crowds[from + 1]
    }
}

/// Whether values that are needed after an instruction are in memory during it. Switches do not
/// count: the common and the general case of an instruction have one each, and most values in whose
/// live range both lie are not live between the two.
fn loses_registers(func: &Function, inst: Inst) -> bool {
    let Some(signature) = func.dfg.call_signature(inst) else { return false };
    let signature = &func.dfg.signatures[signature];
    let is_switch = is_guarded(func, inst) && signature.returns.len() >= SWITCH_WORDS;
    signature.call_conv == CallConv::Tail && !is_switch
}

/// Puts blocks in program order: cold blocks where they are entered, and the code after a loop
/// right after it.
fn put_in_order(context: &mut Context) {
    context.func.layout = without_cold_blocks(&context.func.layout);
    context.compute_loop_analysis();
    let blocks: Vec<Block> = context.func.layout.blocks().collect();
    for block in blocks {
        if leaves_loop_late(context, block) || skips(&context.func, block) {
            swap_targets(&mut context.func, block);
        }
    }
    context.compute_cfg();
    context.compute_domtree();
}

fn without_cold_blocks(old: &Layout) -> Layout {
    let mut layout = Layout::new();
    for block in old.blocks() {
        layout.append_block(block);
        for inst in old.block_insts(block) {
            layout.append_inst(inst, block);
        }
    }
    layout
}

/// Whether a block ends with a branch whose first target is in its loop and whose second is
/// outside. The order of blocks puts the second target first.
fn leaves_loop_late(context: &Context, block: Block) -> bool {
    let func = &context.func;
    let Some(inst) = func.layout.last_inst(block) else { return false };
    let InstructionData::Brif { blocks: [inside, outside], .. } = func.dfg.insts[inst] else {
        return false;
    };
    let is_in = |block: Block, of| context.loop_analysis.is_in_loop(block, of);
    let [inside, outside] = [inside, outside].map(|call| call.block(&func.dfg.value_lists));
    context
        .loop_analysis
        .innermost_loop(block)
        .is_some_and(|around| is_in(inside, around) && !is_in(outside, around))
}

/// The most blocks that a detour may have.
const DETOUR: usize = 8;

/// Whether a block ends with a branch either to a target or to a detour that may lead to the same
/// target. The target would come after everything that the detour leads to, which may be the rest
/// of the function. The search for the clause of an event has this shape.
fn skips(func: &Function, block: Block) -> bool {
    let Some(inst) = func.layout.last_inst(block) else { return false };
    let InstructionData::Brif { blocks, .. } = func.dfg.insts[inst] else { return false };
    let [place, detour] = blocks.map(|call| call.block(&func.dfg.value_lists));
    place != detour && leads_to(func, detour, place, block)
}

/// Whether a block leads to another within a few steps, without passing through a third.
fn leads_to(func: &Function, from: Block, to: Block, back: Block) -> bool {
    let mut seen = vec![from];
    let mut next = 0;
    while next < seen.len() {
        let Some(inst) = func.layout.last_inst(seen[next]) else { return false };
        for target in successors(func, inst) {
            if target == to {
                return true;
            }
            if seen.len() < DETOUR && target != back && !seen.contains(&target) {
                seen.push(target);
            }
        }
        next += 1;
    }
    false
}

/// Swaps the two targets of a branch.
fn swap_targets(func: &mut Function, block: Block) {
    let mut cursor = FuncCursor::new(func).at_last_inst(block);
    let Some(inst) = cursor.current_inst() else { return };
    let InstructionData::Brif { arg, blocks: [a, b], .. } = cursor.func.dfg.insts[inst] else {
        return;
    };
    let ty = cursor.func.dfg.value_type(arg);
    let zero = cursor.ins().iconst(ty, 0);
    let is_zero = cursor.ins().icmp(IntCC::Equal, arg, zero);
    cursor.func.dfg.insts[inst] =
        InstructionData::Brif { opcode: Opcode::Brif, arg: is_zero, blocks: [b, a] };
}
