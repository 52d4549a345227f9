//! Cases of the driver's seeds.

use ropewalk_fuzz::{seeds, targets};
use std::ops::Range;

/// Tries the cases of some seeds. What is printed last is the one that fails, and
/// how the driver runs it again.
#[track_caller]
pub fn try_seeds(name: &str, range: Range<u64>) {
    let targets = targets();
    let target = targets.iter().find(|target| target.name() == name).expect("a target");
    for seed in range {
        println!("ropewalk-fuzz --target {name} --seed {seed} --once");
        if let Err(wrong) = target.check(&seeds::entropy(seed)) {
            panic!("{name}, seed {seed}: {wrong}");
        }
    }
}
