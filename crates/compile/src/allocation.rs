//! Which of Cranelift's two register allocators a function gets.
//!
//! The backtracking one makes good code. For each block in which a value is
//! alive it looks through the values that branches bring to block parameters
//! before it, until some value has been moved or spilled on the way. In ordinary
//! functions that happens all the time; in one that is a long chain of small
//! diamonds it never does, and its time is the square of their number.
//!
//! The single-pass one goes through the blocks from the last to the first, and at
//! each looks at every value between whose definition and last use it lies. Its
//! code is worse and its frames are larger, but it can be told to be fast: cold
//! blocks are left where they belong, and loops are kept together.
//!
//! So the work of both is estimated, and only where the first would take out of
//! all proportion, the second one is used.

use crate::CompileError;
use crate::budget::Budget;
use crate::limits::Limits;
use crate::signature::SWITCH_WORDS;
use crate::spans::{Span, Spans, successors};
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
pub(crate) enum Allocator {
    Backtracking,
    SinglePass,
}

/// How many of the steps here are one of the [budget](crate::budget).
const PER_STEP: u64 = 4;

/// How many steps it takes the single-pass allocator to carry a value into a block.
const CARRY: u64 = 8;

/// How many ways of a branch it looks through in a step.
const WAYS: u64 = 4;

/// How many steps it takes to compare a value that is alive with an instruction.
const COMPARISON: u64 = 7;

/// Up to how many values on branches the searches are far shorter than they could be.
const FEW_ENTRIES: u64 = 2000;

/// How many times as many steps they may take then, by the estimate.
const SPARSE: u64 = 20;

/// How many steps it takes the backtracking allocator to carry a value into a block.
const CROSSING: u64 = 14;

/// How many steps for values that are alive the backtracking allocator may take for each
/// instruction, beyond what it may take for a small function.
const ALIVE: u64 = 1000;

/// With how many values alive at the beginning of a block some of them are in
/// memory.
const CROWD: u32 = 12;

/// Chooses the allocator for a function that was optimised, and prepares it for that. Fails
/// if either would take more than is left.
pub(crate) fn choose(
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
        let spans = Spans::of(&context.func, context.domtree.cfg_rpo().copied());
        let searches = self::backtracking(&context.func, &spans);
        let alive = comparisons(&context.func, &spans).saturating_mul(COMPARISON);
        let alive = alive.saturating_add(crossings(&context.func, &spans).saturating_mul(CROSSING));
        let instructions = context.func.dfg.num_insts() as u64;
        let most_alive = limits.backtracking.saturating_add(instructions.saturating_mul(ALIVE));
        // With few values on branches, most searches end soon.
        let is_sparse = entries(&context.func) <= FEW_ENTRIES;
        let most = limits.backtracking.saturating_mul(if is_sparse { SPARSE } else { 1 });
        if searches <= most && alive <= most_alive {
            budget.charge(STAGE, alive / PER_STEP)?;
            return Ok(Allocator::Backtracking);
        }
        backtracking = searches.saturating_add(alive);
    }
    let layout = context.func.layout.clone();
    put_in_order(context);
    let spans = Spans::of(&context.func, context.domtree.cfg_rpo().copied());
    let single_pass = single_pass(&context.func, &spans);
    budget.charge(STAGE, backtracking.min(single_pass) / PER_STEP)?;
    if single_pass < backtracking {
        return Ok(Allocator::SinglePass);
    }
    context.func.layout = layout;
    Ok(Allocator::Backtracking)
}

/// What the budget calls this.
const STAGE: &str = "the allocation of registers";

/// Whether a function is so small that no estimate of it could be more than is allowed.
fn is_small(func: &Function, most: u64) -> bool {
    let counts = [func.dfg.num_values(), func.dfg.num_insts(), func.dfg.num_blocks()];
    let [values, instructions, blocks] = counts.map(|count| count as u64);
    let product = |a: u64, b: u64, c: u64| a.saturating_mul(b).saturating_mul(c);
    product(values, instructions, COMPARISON) <= most
        && product(values, blocks, 2 * CROSSING + entries(func)) <= most
}

/// How many values branches bring to block parameters.
fn entries(func: &Function) -> u64 {
    let values = |block: Block| {
        let inst = func.layout.last_inst(block)?;
        let params = |target| func.dfg.num_block_params(target) as u64;
        Some(successors(func, inst).map(params).sum::<u64>())
    };
    func.layout.blocks().filter_map(values).sum()
}

/// How many steps the backtracking allocator takes at most.
fn backtracking(func: &Function, spans: &Spans) -> u64 {
    let mut branches: SecondaryMap<Block, u64> = SecondaryMap::new();
    for block in func.layout.blocks() {
        let Some(inst) = func.layout.last_inst(block) else { continue };
        successors(func, inst).for_each(|target| branches[target] += 1);
    }
    let busy = Busy::of(func, spans);
    let (mut steps, mut waiting) = (0_u64, 0_u64);
    let mut visit = |value: Value, entered: u64, waiting: &mut u64| {
        let span = spans.get(value);
        let blocks = u64::from(spans.blocks_in(span)) + entered.min(1);
        *waiting += entered;
        steps = steps.saturating_add(waiting.saturating_mul(blocks));
        if busy.is_moved(spans, span) {
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

/// How many pairs there are of a value that is alive and an instruction, up to the next call:
/// there it is spilled at once.
fn comparisons(func: &Function, spans: &Spans) -> u64 {
    // For each instruction, backwards, where the next call after it is.
    let mut next_call = vec![spans.block_of.len() as u32; spans.block_of.len() + 1];
    let (mut number, mut call) = (spans.block_of.len(), spans.block_of.len() as u32);
    for &(block, _) in spans.blocks.iter().rev() {
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
        let Span { start, end } = spans.get(value);
        u64::from(end.min(next_call[start as usize]).saturating_sub(start))
    };
    values(func).map(length).fold(0, u64::saturating_add)
}

/// How many steps the single-pass allocator takes.
fn single_pass(func: &Function, spans: &Spans) -> u64 {
    // For each value that a branch passes it looks for the way among all.
    let searches = func.layout.blocks().filter_map(|block| {
        let inst = func.layout.last_inst(block)?;
        let ways = successors(func, inst).count() as u64;
        let passed = |target| func.dfg.num_block_params(target) as u64;
        Some(successors(func, inst).map(passed).sum::<u64>().saturating_mul(ways) / WAYS)
    });
    searches.fold(crossings(func, spans).saturating_mul(CARRY), u64::saturating_add)
}

/// How many pairs there are of a value that is alive and a block, or a branch to a block.
fn crossings(func: &Function, spans: &Spans) -> u64 {
    let mut edges: SecondaryMap<Block, u64> = SecondaryMap::new();
    for block in func.layout.blocks() {
        let Some(inst) = func.layout.last_inst(block) else { continue };
        successors(func, inst).for_each(|target| edges[target] += 1);
    }
    let mut before = Vec::with_capacity(spans.blocks.len());
    let mut sum = 0;
    for (block, _) in &spans.blocks {
        sum += 1 + edges[*block];
        before.push(sum);
    }
    let at = |number: u32| before.get(spans.block(number) as usize).copied().unwrap_or(sum);
    let crossed = |value: Value| {
        let Span { start, end } = spans.get(value);
        at(end).saturating_sub(at(start))
    };
    values(func).map(crossed).fold(0, u64::saturating_add)
}

/// All values that blocks and instructions make.
fn values(func: &Function) -> impl Iterator<Item = Value> + '_ {
    func.layout.blocks().flat_map(|block| {
        let results = func.layout.block_insts(block).flat_map(|inst| func.dfg.inst_results(inst));
        func.dfg.block_params(block).iter().chain(results).copied()
    })
}

fn is_guarded(func: &Function, inst: Inst) -> bool {
    matches!(func.dfg.insts[inst].opcode(), Opcode::TryCall | Opcode::TryCallIndirect)
}

/// Where values are moved.
struct Busy {
    /// How many calls that preserve no register come before an instruction.
    calls: Vec<u32>,
    /// How many blocks before a block begin with a crowd of values.
    crowds: Vec<u32>,
}

impl Busy {
    fn of(func: &Function, spans: &Spans) -> Busy {
        let mut calls = Vec::with_capacity(spans.block_of.len() + 1);
        let mut change = vec![0_i64; spans.blocks.len() + 2];
        let mut before = 0;
        for &(block, _) in &spans.blocks {
            for inst in func.layout.block_insts(block) {
                calls.push(before);
                before += u32::from(loses_registers(func, inst));
                for &result in func.dfg.inst_results(inst) {
                    let Span { start, end } = spans.get(result);
                    change[spans.block(start) as usize + 1] += 1;
                    change[spans.block(end) as usize + 1] -= 1;
                }
            }
        }
        calls.push(before);
        let (mut alive, mut crowded) = (0, 0);
        let count = |change: &i64| {
            alive += change;
            let before = crowded;
            crowded += u32::from(alive > i64::from(CROWD));
            before
        };
        Busy { calls, crowds: change.iter().map(count).collect() }
    }

    /// Whether a value is moved after the beginning of a block.
    fn is_moved(&self, spans: &Spans, span: Span) -> bool {
        let (from, to) = (spans.block(span.start) as usize, spans.block(span.end) as usize);
        let Some((_, second)) = spans.blocks.get(from + 1) else { return false };
        let call_between = to > from
            && self.calls[*second as usize] < self.calls[(span.end as usize).max(*second as usize)];
        call_between || self.crowds[to + 1] > self.crowds[from + 1]
    }
}

/// Whether values that are needed after an instruction are in memory meanwhile.
/// Switches do not count: the common case of an instruction and the uncommon one
/// have one each, and what lies in the span of a value between them is not alive.
fn loses_registers(func: &Function, inst: Inst) -> bool {
    let Some(signature) = func.dfg.call_signature(inst) else { return false };
    let signature = &func.dfg.signatures[signature];
    let is_switch = is_guarded(func, inst) && signature.returns.len() >= SWITCH_WORDS;
    signature.call_conv == CallConv::Tail && !is_switch
}

/// Puts blocks into the order of the program: uncommon ones stand where they are
/// needed, and what follows a loop after it.
fn put_in_order(context: &mut Context) {
    context.func.layout = without_cold_blocks(&context.func.layout);
    context.compute_loop_analysis();
    let blocks: Vec<Block> = context.func.layout.blocks().collect();
    for block in blocks {
        if leaves_loop_late(context, block) || skips(&context.func, block) {
            turn_around(&mut context.func, block);
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

/// Whether a block ends with a branch into its loop, or else out of it. Of two
/// ways the second comes first in the order.
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

/// How many blocks a detour may have.
const DETOUR: usize = 8;

/// Whether a block ends with a branch to some place, or else to a detour that may
/// lead there too. What is first reached straight away comes after all else to
/// which the detour leads, which may be the rest of the function: so it is where
/// an event is looked up that nobody may handle.
fn skips(func: &Function, block: Block) -> bool {
    let Some(inst) = func.layout.last_inst(block) else { return false };
    let InstructionData::Brif { blocks, .. } = func.dfg.insts[inst] else { return false };
    let [place, detour] = blocks.map(|call| call.block(&func.dfg.value_lists));
    place != detour && leads_to(func, detour, place, block)
}

/// Whether a block leads to another within a few steps, without going back to a
/// third.
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

/// Makes the two ways of a branch change places.
fn turn_around(func: &mut Function, block: Block) {
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
