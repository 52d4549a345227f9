//! Runs a few cases of each target, made as the driver makes them.

use ropewalk_fuzz::seeds::{self, Random};
use ropewalk_fuzz::{Target, targets};

#[path = "../../ropewalk/tests/sample/mod.rs"]
mod sample;

/// The seeds below a number; in a sample a fifth of them, from a random one on.
fn seeds_below(count: u64) -> impl Iterator<Item = u64> {
    let (first, some) = match sample::runs_all() {
        true => (0, count),
        false => (sample::seed(), count.div_ceil(5)),
    };
    (0..some).map(move |index| (first + index) % count)
}

/// Runs the cases of some seeds.
#[track_caller]
fn try_seeds(name: &str, count: u64) {
    with_target(name, |target| {
        seeds_below(count).for_each(|seed| try_case(target, seed, &seeds::entropy(seed)));
    });
}

/// Runs a number of cases, each made of `bytes` random bytes.
#[track_caller]
fn try_cases(name: &str, count: u64, bytes: usize) {
    with_target(name, |target| {
        for seed in seeds_below(count) {
            let mut random = Random::new(seed);
            let entropy: Vec<u8> = (0..bytes).map(|_| random.next_u64() as u8).collect();
            try_case(target, seed, &entropy);
        }
    });
}

fn with_target(name: &str, run: impl FnOnce(&dyn Target)) {
    let targets = targets();
    run(targets.iter().find(|target| target.name() == name).expect("a target").as_ref());
}

/// Prints the name of the case first, since the case may end the process.
fn try_case(target: &dyn Target, seed: u64, entropy: &[u8]) {
    println!("{}, seed {seed}", target.name());
    if let Err(problem) = target.check(entropy) {
        panic!("seed {seed} of {}: {problem}\n{}", target.name(), target.render(entropy));
    }
}

/// Any sequence of API calls keeps values intact, and misuse is an error.
#[test]
fn stores_keep_their_values_and_reject_foreign_items() {
    try_cases("api", 2000, 2500);
}

#[test]
fn programs_of_all_designs_do_what_the_model_says_in_every_mode() {
    try_seeds("designs", 60);
}

#[test]
fn programs_of_all_designs_do_what_the_model_says_at_the_last_generations() {
    try_seeds("generations", 100);
}

#[test]
fn programs_of_all_designs_resume_from_their_snapshots() {
    try_seeds("snapshots", 25);
}

#[test]
fn scripted_programs_resume_from_their_snapshots() {
    try_seeds("scripted-snapshots", 15);
}

/// Calls return the right result or fail for a reason, and stores still work.
#[test]
fn a_hostile_embedder_does_no_harm() {
    try_cases("embedder", 150, 2500);
}

/// Misused imports are rejected or trap as documented, alike in every mode.
#[test]
fn misused_reserved_imports_do_no_harm() {
    try_cases("imports", 40, 4000);
}

/// No input makes the engine panic, and errors have messages and positions.
#[test]
fn mutated_modules_and_scripts_are_handled() {
    try_cases("mutate", 1200, 900);
}

/// Modules of WebAssembly 3.0 also do the same in Wasmtime, if it is built in.
#[test]
fn random_modules_do_the_same_in_every_mode() {
    try_cases("smith", 500, 3000);
}
