//! Checks that compiling never costs a product of two counts: the cost of each byte does not grow
//! with them.
//!
//! The cost is counted, not timed. Steps for each byte must not grow with the counts, except in the
//! families listed here, which limits bound. Allocated bytes are a second measure, independent of
//! the compiler's estimates. Both are the same in each run.

use super::pairs::{self, PAIRS};
use crate::allocator::count;
use crate::common::alone;
use crate::sample::sample;
use ropewalk_compile::{CompiledModule, OptLevel, Target, UNWATCHED, compile_module};
use wasmparser::WasmFeatures;

/// Steps for each byte that are always allowed.
const FEW: u64 = 20;
/// The allocated bytes that are allowed in total for each byte of a module.
const ALLOCATED: usize = 16 << 10;
/// The allocated bytes that are allowed in total for each byte of the estimated peak.
const AGAIN: usize = 16;
/// The allocated bytes that are allowed beyond that.
const FREE: usize = 1 << 30;
/// The peak that is allowed beyond the estimate.
const FREE_AT_ONCE: usize = 64 << 20;

/// The name and the template of a family.
type Pair = (String, String);

fn binary((name, template): &Pair, a: usize, b: usize) -> Vec<u8> {
    let text = ropewalk_text::Text::parse(&pairs::source(template, a, b));
    text.unwrap_or_else(|error| panic!("{name}: {error}")).binary().to_vec()
}

fn target(set: impl Fn(Target) -> Target) -> Target {
    set(Target::host(OptLevel::Speed).expect("this machine is supported"))
}

fn compile(target: &Target, pair: &Pair, a: usize, b: usize) -> Option<CompiledModule> {
    let binary = binary(pair, a, b);
    let features = WasmFeatures::all() - WasmFeatures::LEGACY_EXCEPTIONS;
    let (compiled, allocated) = count(|| compile_module(target, features, &binary, UNWATCHED));
    let (name, length) = (&pair.0, binary.len());
    let estimated = compiled.as_ref().map_or(0, |compiled| compiled.cost.memory as usize);
    let most = length * ALLOCATED + estimated * AGAIN + FREE;
    assert!(allocated.total <= most, "{name} {a} {b}: {allocated:?} for {length} bytes");
    match compiled {
        Ok(compiled) => {
            let most = compiled.cost.memory as usize + FREE_AT_ONCE;
            assert!(allocated.at_once <= most, "{name} {a} {b}: {allocated:?}, estimated {most}");
            Some(compiled)
        }
        Err(error) => {
            assert!(error.to_string().starts_with("the module is too large: "), "{name}: {error}");
            None
        }
    }
}

/// Families whose steps are a product of their counts, bounded by the steps that are free for every
/// function.
const BOUNDED: &[&str] = &[
    "clauses, resumes",
    "operands, calls",
    "operands, guarded calls",
    "operands, straight line",
    "reference operands, calls",
    "references, calls",
    "references, loops",
    "references, suspends",
    "stack locals, ifs",
    "stack operands, calls",
];

/// The allowed growth of steps for each byte when counts grow fourfold. A product would grow
/// fourfold.
const GROWTH: u64 = 2;

/// Compiles modules of a family with doubled counts, each alone and both together.
fn check_family(target: &Target, pair: &Pair, size: usize) {
    let mut first = None;
    for (a, b) in [(1, 1), (2, 1), (1, 2), (2, 2), (4, 1), (1, 4), (4, 4)] {
        let (a, b) = (a * size, b * size);
        let Some(compiled) = compile(target, pair, a, b) else { continue };
        let length = binary(pair, a, b).len() as u64;
        let steps = compiled.cost.steps;
        let first = *first.get_or_insert(steps / length);
        let most = first.max(FEW) * GROWTH;
        let each = steps / length;
        let (name, is_bounded) = (&pair.0, BOUNDED.contains(&&*pair.0));
        assert!(
            each <= most || is_bounded,
            "{name} {a} {b}: {each} steps a byte, {first} at first"
        );
    }
}

#[test]
fn no_pair_of_counts_costs_its_product() {
    alone(|| {
        let target = target(|target| target);
        sample(&PAIRS, 7).into_iter().for_each(|pair| check_family(&target, pair, 500));
    });
}

#[test]
fn no_pair_of_counts_costs_its_product_in_any_mode() {
    alone(|| {
        let modes: [fn(Target) -> Target; 5] = [
            |target| target.snapshots(true),
            |target| target.fuel(true),
            |target| target.interruption(true),
            |target| target.trace(true),
            |target| target.move_stacks(true).check_stacks(true).park_always(true),
        ];
        for mode in modes {
            let target = target(mode);
            sample(&PAIRS, 7).into_iter().for_each(|pair| drop(compile(&target, pair, 700, 700)));
        }
    });
}

#[test]
fn every_pair_of_counts_is_compiled_at_a_small_size() {
    alone(|| {
        let target = target(|target| target);
        for pair in &*PAIRS {
            assert!(compile(&target, pair, 30, 30).is_some(), "{} is refused", pair.0);
        }
    });
}

#[test]
fn code_for_owned_stacks_is_linear_in_locals_and_calls() {
    alone(|| {
        let target = target(|target| target);
        for name in ["stack locals, calls", "stack operands, calls"] {
            let pair = PAIRS.iter().find(|(pair, _)| *pair == name).expect("there is one");
            let length = |size| compile(&target, pair, size, size).unwrap().code.bytes.len();
            let (small, large) = (length(60), length(180));
            assert!(large < 4 * small, "{name}: {small} bytes of code, then {large}");
        }
    });
}
