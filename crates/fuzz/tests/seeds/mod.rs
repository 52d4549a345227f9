//! Cases from fixed seeds.

use ropewalk_fuzz::{Target, targets};

/// Tries a target with as many cases, each made of this many random bytes.
#[track_caller]
pub fn try_cases(name: &str, cases: u64, bytes: usize) {
    let targets = targets();
    let target = targets.iter().find(|target| target.name() == name).expect("a target");
    for seed in 0..cases {
        let entropy = entropy(seed, bytes);
        if let Err(wrong) = target.check(&entropy) {
            panic!("{}", report(target.as_ref(), seed, &entropy, &wrong));
        }
    }
}

fn report(target: &dyn Target, seed: u64, entropy: &[u8], wrong: &str) -> String {
    format!("seed {seed} of {}: {wrong}\n{}", target.name(), target.render(entropy))
}

/// Random bytes: the same for the same seed.
fn entropy(seed: u64, bytes: usize) -> Vec<u8> {
    let mut state = seed;
    let mut next = || {
        state = state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (state ^ (state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) as u8
    };
    (0..bytes).map(|_| next()).collect()
}
