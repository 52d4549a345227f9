//! Charges for references that are live during calls, or at the start of blocks.
//!
//! The collector finds them in the stack map of each call. To make stack maps, Cranelift keeps a
//! set of references for each block. Many live references in many calls and blocks cost their
//! product.

use super::Translator;
use crate::CompileError;
use crate::codegen::liveness::LiveRanges;
use cranelift_codegen::ir::{Inst, Value};
use std::collections::HashSet;

/// Fewer pairs than this need no exact count.
const FEW: u64 = 100_000;

impl Translator<'_> {
    /// Charges for the references that are live during calls and at the start of blocks.
    pub(super) fn charge_live_references(&mut self) -> Result<(), CompileError> {
        let func = &self.builder.func;
        let references = self.references.iter().count() as u64;
        if references == 0 {
            return Ok(());
        }
        let is_call = |inst: &Inst| func.dfg.insts[*inst].opcode().is_call();
        let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
        let places = insts.filter(is_call).count() + func.layout.blocks().count();
        if references.saturating_mul(places as u64) <= FEW {
            return Ok(());
        }
        let found = self.live_references();
        self.budget.charge_references("references that are needed during calls", found)
    }

    /// About how many pairs of a live reference and a call or block there are.
    fn live_references(&self) -> u64 {
        let func = &self.builder.func;
        let ranges = LiveRanges::of(func, func.layout.blocks());
        let mut before = Vec::with_capacity(ranges.block_of.len());
        let mut calls = 0_u64;
        for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
            before.push(calls);
            calls += u64::from(func.dfg.insts[inst].opcode().is_call());
        }
        let at = |number: u32| before.get(number as usize).copied().unwrap_or(calls);
        let values = self.references.iter().map(|value| func.dfg.resolve_aliases(value));
        let values: HashSet<Value> = values.collect();
        let pairs = values.iter().map(|value| {
            let range = ranges.get(*value);
            at(range.end).saturating_sub(at(range.start)) + u64::from(ranges.blocks_in(range))
        });
        pairs.sum()
    }
}
