//! References that are needed during calls, or where blocks begin.
//!
//! The collector finds them by a list for each call, and to make these lists, Cranelift
//! keeps a set for each block. So a function in which many are needed during many calls or
//! blocks asks for their product.

use super::Translator;
use crate::CompileError;
use crate::spans::Spans;
use cranelift_codegen::ir::{Inst, Value};
use std::collections::HashSet;

/// How many pairs are not worth a look.
const FEW: u64 = 100_000;

impl Translator<'_> {
    /// Charges for the references that are needed during calls and at blocks.
    pub(crate) fn charge_live_references(&mut self) -> Result<(), CompileError> {
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

    /// About how often a reference is needed during a call or at the beginning of a block.
    fn live_references(&self) -> u64 {
        let func = &self.builder.func;
        let spans = Spans::of(func, func.layout.blocks());
        let mut before = Vec::with_capacity(spans.block_of.len());
        let mut calls = 0_u64;
        for inst in func.layout.blocks().flat_map(|block| func.layout.block_insts(block)) {
            before.push(calls);
            calls += u64::from(func.dfg.insts[inst].opcode().is_call());
        }
        let at = |number: u32| before.get(number as usize).copied().unwrap_or(calls);
        let values = self.references.iter().map(|value| func.dfg.resolve_aliases(value));
        let values: HashSet<Value> = values.collect();
        let spans = values.iter().map(|value| {
            let span = spans.get(*value);
            at(span.end).saturating_sub(at(span.start)) + u64::from(spans.blocks_in(span))
        });
        spans.sum()
    }
}
