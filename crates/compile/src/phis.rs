//! How long Cranelift takes to find the block parameters that have only one value.
//!
//! It goes through all branches until nothing changes any more. Mostly that is three times,
//! but where each round finds out something about one parameter only, it is as often as
//! there are parameters. So where the product of the two would be too much, the rounds are
//! counted here in the same way.

use crate::CompileError;
use crate::budget::Budget;
use cranelift_codegen::Context;
use cranelift_codegen::entity::SecondaryMap;
use cranelift_codegen::ir::{Block, Function, Value};

/// Up to how many steps are not worth a look.
const FEW: u64 = 5_000_000;
/// How many values passed to parameters are looked at in a step.
const PER_STEP: u64 = 4;

/// What is known of a block parameter.
#[derive(Clone, Copy, Default, PartialEq)]
enum Known {
    /// It is no parameter, so that it has one value, itself.
    #[default]
    Other,
    Nothing,
    One(Value),
    Many,
}

/// Charges for that. The context's function was not optimised yet.
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

/// What branches pass to block parameters, if it is a value.
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

/// How many times the edges are gone through, at most this often.
fn rounds(edges: &[(Value, Option<Value>)], most: u64) -> u64 {
    let mut known: SecondaryMap<Value, Known> = SecondaryMap::new();
    edges.iter().for_each(|(param, _)| known[*param] = Known::Nothing);
    for round in 1..=most {
        let mut has_changed = false;
        for &(param, value) in edges {
            let passed = match value.map(|value| (value, known[value])) {
                Some((value, Known::Other)) => Known::One(value),
                Some((_, passed)) => passed,
                None => Known::Many,
            };
            let before = known[param];
            let after = match (before, passed) {
                (Known::Nothing, passed) => passed,
                (before, Known::Nothing) => before,
                (before, passed) if before == passed => before,
                _ => Known::Many,
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
