//! Runs cases of targets in tests.
#![allow(dead_code, reason = "each test uses some of it")]

use ropewalk_fuzz::seeds::{self, Random};
use ropewalk_fuzz::{Target, targets};
use std::ops::Range;

/// Runs the cases of some seeds, as the driver makes them.
#[track_caller]
pub fn try_seeds(name: &str, range: Range<u64>) {
    with_target(name, |target| {
        range.for_each(|seed| try_case(target, seed, &seeds::entropy(seed)));
    });
}

/// Runs a number of cases, each made of `bytes` random bytes.
#[track_caller]
pub fn try_cases(name: &str, cases: u64, bytes: usize) {
    with_target(name, |target| {
        for seed in 0..cases {
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
