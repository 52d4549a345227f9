//! Charges for Cranelift's removal of block parameters that have only one value.
//!
//! Cranelift visits all branches until nothing changes. That usually takes three rounds. But where
//! each round learns about only one parameter, it takes as many rounds as there are parameters. So
//! where the product of the two would be too much, the rounds are counted here in the same way.

use crate::CompileError;
use crate::budget::Budget;
use cranelift_codegen::Context;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Value};

/// Fewer steps than this need no exact count.
const FEW: u64 = 5_000_000;
/// The values passed to parameters that a step visits.
const PER_STEP: u64 = 4;

/// The values of a block parameter, as far as they are known.
#[derive(Clone, Copy, Default, PartialEq)]
enum ParamValue {
    /// It is not a parameter, so its one value is itself.
    #[default]
    Other,
    Nothing,
    One(Value),
    Many,
}

/// Charges for the rounds. The context's function is not optimized yet.
pub(crate) fn charge(context: &mut Context, budget: &mut Budget) -> Result<(), CompileError> {
    let edges = edges(&context.func, context.func.layout.blocks());
    let count = edges.len() as u64;
    if count.saturating_mul(count) <= FEW {
        return Ok(());
    }
    context.compute_cfg();
    context.compute_domtree();
    let edges = self::edges(&context.func, context.domtree.cfg_rpo().copied());
    let most = budget.left().saturating_mul(PER_STEP);
    let rounds = rounds(&edges, most / count.max(1) + 1);
    budget.charge("block parameters", rounds.saturating_mul(count) / PER_STEP)
}

/// The block parameters with what branches pass to them, if that is a value.
fn edges(func: &Function, blocks: impl Iterator<Item = Block>) -> Vec<(Value, Option<Value>)> {
    let mut edges = Vec::new();
    for block in blocks {
        let Some(inst) = func.layout.last_inst(block) else { continue };
        let dfg = &func.dfg;
        let calls = dfg.insts[inst].branch_destination(&dfg.jump_tables, &dfg.exception_tables);
        for call in calls {
            let params = dfg.block_params(call.block(&dfg.value_lists)).iter();
            let values = call.args(&dfg.value_lists).map(|arg| arg.as_value());
            let values = values.map(|value| value.map(|value| dfg.resolve_aliases(value)));
            edges.extend(params.copied().zip(values));
        }
    }
    edges
}

/// How many times the edges are visited, at most `most`.
fn rounds(edges: &[(Value, Option<Value>)], most: u64) -> u64 {
    let mut known: SecondaryMap<Value, ParamValue> = SecondaryMap::new();
    edges.iter().for_each(|(param, _)| known[*param] = ParamValue::Nothing);
    for round in 1..=most {
        let mut has_changed = false;
        for &(param, value) in edges {
            let passed = match value.map(|value| (value, known[value])) {
                Some((value, ParamValue::Other)) => ParamValue::One(value),
                Some((_, passed)) => passed,
                None => ParamValue::Many,
            };
            let before = known[param];
            let after = match (before, passed) {
                (ParamValue::Nothing, passed) => passed,
                (before, ParamValue::Nothing) => before,
                (before, passed) if before == passed => before,
                _ => ParamValue::Many,
            };
            has_changed |= before != after;
            known[param] = after;
        }
        if !has_changed {
            return round;
        }
    }
    most
}
