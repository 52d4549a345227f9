//! Approximate liveness: one live range, without holes, for each value of a function.
//!
//! Instructions are numbered in the order of a given list of blocks. The live range of a value
//! reaches from its definition to its last use, or to the end of a loop that it enters from
//! outside. One pass computes all ranges, so they tell whether an exact analysis would take too
//! long.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, Value};

/// How many loops around a use are considered.
const LOOPS: usize = 64;

/// The live ranges of the values of a function.
pub(crate) struct LiveRanges {
    /// The blocks in order, each with the number of its first instruction.
    pub blocks: Vec<(Block, u32)>,
    /// The number of the block of each instruction.
    pub block_of: Vec<u32>,
    ranges: SecondaryMap<Value, LiveRange>,
}

/// The numbers of the first and the last instruction of a live range.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LiveRange {
    pub start: u32,
    pub end: u32,
}

impl LiveRanges {
    /// Computes the live ranges of a function, with its blocks in the given order.
    pub fn of(func: &Function, order: impl Iterator<Item = Block>) -> LiveRanges {
        let mut ranges =
            LiveRanges { blocks: Vec::new(), block_of: Vec::new(), ranges: SecondaryMap::new() };
        ranges.define(func, order);
        let loops = Loops::of(func, &ranges);
        ranges.extend_to_uses(func, &loops);
        ranges
    }

    pub fn get(&self, value: Value) -> LiveRange {
        self.ranges[value]
    }

    /// How many blocks begin within a live range.
    pub fn blocks_in(&self, range: LiveRange) -> u32 {
        self.block(range.end).saturating_sub(self.block(range.start))
    }

    pub fn block(&self, number: u32) -> u32 {
        self.block_of.get(number as usize).copied().unwrap_or(0)
    }

    fn define(&mut self, func: &Function, order: impl Iterator<Item = Block>) {
        for block in order {
            let mut number = self.block_of.len() as u32;
            let block_number = self.blocks.len() as u32;
            self.blocks.push((block, number));
            for &value in func.dfg.block_params(block) {
                self.ranges[value] = LiveRange { start: number, end: number };
            }
            for inst in func.layout.block_insts(block) {
                for &value in func.dfg.inst_results(inst) {
                    self.ranges[value] = LiveRange { start: number, end: number };
                }
                self.block_of.push(block_number);
                number += 1;
            }
        }
    }

    fn extend_to_uses(&mut self, func: &Function, loops: &Loops) {
        let mut number = 0;
        for i in 0..self.blocks.len() {
            for inst in func.layout.block_insts(self.blocks[i].0) {
                for value in func.dfg.inst_values(inst) {
                    let value = func.dfg.resolve_aliases(value);
                    let end = loops.needed_until(self.block(self.ranges[value].start), i as u32);
                    let end = end.map_or(number, |block| self.last_of(block));
                    self.ranges[value].end = self.ranges[value].end.max(end);
                }
                number += 1;
            }
        }
    }

    /// The number of the last instruction of a block.
    fn last_of(&self, block: u32) -> u32 {
        let next = self.blocks.get(block as usize + 1);
        next.map_or(self.block_of.len() as u32, |(_, first)| *first).saturating_sub(1)
    }
}

/// The loops of a function. A block to which a branch leads back is the header of a loop, which
/// reaches to the last such branch.
struct Loops {
    /// The header of the innermost loop around each block.
    header: Vec<Option<u32>>,
    /// The last block of each header's loop.
    end: Vec<u32>,
    /// The header of the loop around each header.
    outer: Vec<Option<u32>>,
}

impl Loops {
    fn of(func: &Function, ranges: &LiveRanges) -> Loops {
        let count = ranges.blocks.len();
        let mut number: SecondaryMap<Block, u32> = SecondaryMap::with_default(u32::MAX);
        for (i, (block, _)) in ranges.blocks.iter().enumerate() {
            number[*block] = i as u32;
        }
        let mut end: Vec<u32> = vec![0; count];
        for (i, (block, _)) in ranges.blocks.iter().enumerate() {
            let Some(inst) = func.layout.last_inst(*block) else { continue };
            for target in successors(func, inst) {
                let header = number[target];
                if header <= i as u32 {
                    end[header as usize] = end[header as usize].max(i as u32);
                }
            }
        }
        let mut loops = Loops { header: vec![None; count], end, outer: vec![None; count] };
        let mut open: Vec<u32> = Vec::new();
        for (i, (block, _)) in ranges.blocks.iter().enumerate() {
            while open.last().is_some_and(|header| loops.end[*header as usize] < i as u32) {
                open.pop();
            }
            let is_header = loops.end[i] > i as u32
                || func
                    .layout
                    .last_inst(*block)
                    .is_some_and(|inst| successors(func, inst).any(|target| target == *block));
            if is_header {
                loops.outer[i] = open.last().copied();
                open.push(i as u32);
            }
            loops.header[i] = open.last().copied();
        }
        loops
    }

    /// If a value is used in a loop that it enters from outside, the last block of that loop.
    fn needed_until(&self, defined: u32, used: u32) -> Option<u32> {
        let innermost = self.header[used as usize];
        let around = std::iter::successors(innermost, |header| self.outer[*header as usize]);
        let entered = around.take(LOOPS).take_while(|header| *header > defined);
        entered.last().map(|header| self.end[header as usize].max(used))
    }
}

pub(crate) fn successors(func: &Function, inst: Inst) -> impl Iterator<Item = Block> + '_ {
    let dfg = &func.dfg;
    dfg.insts[inst]
        .branch_destination(&dfg.jump_tables, &dfg.exception_tables)
        .iter()
        .map(|call| call.block(&dfg.value_lists))
}
