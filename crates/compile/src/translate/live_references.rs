//! References that are needed during calls.
//!
//! The collector finds them by a list for each call, so that a function in which
//! many are needed during many calls asks for their product.

use super::Translator;
use crate::CompileError;
use crate::spans::Spans;
use cranelift_codegen::ir::{Inst, Value};
use std::collections::HashSet;

impl Translator<'_> {
    /// Fails if too many references are needed during too many calls.
    pub(crate) fn check_live_references(&self) -> Result<(), CompileError> {
        let most = self.env.limits.live_references;
        let func = &self.builder.func;
        let is_call = |inst: &Inst| func.dfg.insts[*inst].opcode().is_call();
        let insts = func.layout.blocks().flat_map(|block| func.layout.block_insts(block));
        let references = self.references.iter().count() as u64;
        if references < 1000 || references * insts.filter(is_call).count() as u64 <= most {
            return Ok(());
        }
        let found = self.live_references();
        match found <= most {
            true => Ok(()),
            false => Err(self.too_many_references(found)),
        }
    }

    pub(super) fn too_many_references(&self, found: u64) -> CompileError {
        let most = self.env.limits.live_references;
        CompileError::too_large(format!(
            "in function {} references are needed during calls {found} times; at most {most} are \
             allowed (Config::max_live_references)",
            self.function_index()
        ))
    }

    /// About how often a reference is needed during a call.
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
        let spans = values.iter().map(|value| spans.get(*value));
        spans.map(|span| at(span.end).saturating_sub(at(span.start))).sum()
    }
}
