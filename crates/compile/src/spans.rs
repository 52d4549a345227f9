//! From where to where the values of a function are needed, roughly.
//!
//! Instructions are numbered in the order of some list of blocks. The span of a
//! value reaches from its definition to its last use, and to the end of a loop
//! that it enters from outside. What lies in between may not need it: a span has
//! no holes. It is computed in one pass, so it tells whether a better look at a
//! function would take too long.

use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Inst, Value};

/// How many loops around a use are looked at.
const LOOPS: usize = 64;

/// The spans of the values of a function.
pub(crate) struct Spans {
    /// The blocks in order, each with the number of its first instruction.
    pub blocks: Vec<(Block, u32)>,
    /// The number of the block of each instruction.
    pub block_of: Vec<u32>,
    spans: SecondaryMap<Value, Span>,
}

/// The numbers of two instructions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Span {
    pub start: u32,
    pub end: u32,
}

impl Spans {
    /// Those of the values of a function, with its blocks in some order.
    pub fn of(func: &Function, order: impl Iterator<Item = Block>) -> Spans {
        let mut spans =
            Spans { blocks: Vec::new(), block_of: Vec::new(), spans: SecondaryMap::new() };
        spans.define(func, order);
        let loops = Loops::of(func, &spans);
        spans.use_(func, &loops);
        spans
    }

    /// The span of a value.
    pub fn get(&self, value: Value) -> Span {
        self.spans[value]
    }

    /// How many blocks begin within a span.
    pub fn blocks_in(&self, span: Span) -> u32 {
        self.block(span.end).saturating_sub(self.block(span.start))
    }

    /// The number of the block of an instruction.
    pub fn block(&self, number: u32) -> u32 {
        self.block_of.get(number as usize).copied().unwrap_or(0)
    }

    fn define(&mut self, func: &Function, order: impl Iterator<Item = Block>) {
        for block in order {
            let mut number = self.block_of.len() as u32;
            let block_number = self.blocks.len() as u32;
            self.blocks.push((block, number));
            for &value in func.dfg.block_params(block) {
                self.spans[value] = Span { start: number, end: number };
            }
            for inst in func.layout.block_insts(block) {
                for &value in func.dfg.inst_results(inst) {
                    self.spans[value] = Span { start: number, end: number };
                }
                self.block_of.push(block_number);
                number += 1;
            }
        }
    }

    fn use_(&mut self, func: &Function, loops: &Loops) {
        let mut number = 0;
        for i in 0..self.blocks.len() {
            for inst in func.layout.block_insts(self.blocks[i].0) {
                for value in func.dfg.inst_values(inst) {
                    let value = func.dfg.resolve_aliases(value);
                    let end = loops.needed_until(self.block(self.spans[value].start), i as u32);
                    let end = end.map_or(number, |block| self.last_of(block));
                    self.spans[value].end = self.spans[value].end.max(end);
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

/// Where the loops are: a block to which a branch leads back is the header of one
/// that reaches to the last such branch.
struct Loops {
    /// For each block the header of the innermost loop with it, if any.
    header: Vec<Option<u32>>,
    /// For each header the last block of its loop.
    end: Vec<u32>,
    /// For each header that of the loop around it, if any.
    outer: Vec<Option<u32>>,
}

impl Loops {
    fn of(func: &Function, spans: &Spans) -> Loops {
        let count = spans.blocks.len();
        let mut number: SecondaryMap<Block, u32> = SecondaryMap::with_default(u32::MAX);
        for (i, (block, _)) in spans.blocks.iter().enumerate() {
            number[*block] = i as u32;
        }
        let mut end: Vec<u32> = vec![0; count];
        for (i, (block, _)) in spans.blocks.iter().enumerate() {
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
        for (i, (block, _)) in spans.blocks.iter().enumerate() {
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

    /// The last block that needs a value of one block that is used in another, if
    /// it is used in a loop that it enters from outside.
    fn needed_until(&self, defined: u32, used: u32) -> Option<u32> {
        let innermost = self.header[used as usize];
        let around = std::iter::successors(innermost, |header| self.outer[*header as usize]);
        let entered = around.take(LOOPS).take_while(|header| *header > defined);
        entered.last().map(|header| self.end[header as usize].max(used))
    }
}

/// The blocks to which an instruction leads.
pub(crate) fn successors(func: &Function, inst: Inst) -> impl Iterator<Item = Block> + '_ {
    let dfg = &func.dfg;
    dfg.insts[inst]
        .branch_destination(&dfg.jump_tables, &dfg.exception_tables)
        .iter()
        .map(|call| call.block(&dfg.value_lists))
}
