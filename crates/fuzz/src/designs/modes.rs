//! The ways in which every program must do the same.

use crate::seeds::Random;
use ropewalk::{Config, OptLevel};

/// A way to run a program.
#[derive(Clone, Debug)]
pub struct Mode {
    /// What it is called.
    pub name: String,
    /// The settings of the engine.
    pub config: Config,
    /// Whether modules are lowered first, and compiled as binaries.
    pub lowered: bool,
    /// In how many stores at the same time.
    pub stores: usize,
    /// It is for programs whose stacks have no more frames than this.
    pub depth: usize,
}

/// How many generations references have.
const GENERATIONS: u64 = 1 << 34;

/// Ways to make code, and ways to make stacks and heaps misbehave if they can.
pub fn stress() -> Vec<Vec<Mode>> {
    let mut small = mode("small stacks", |config| {
        config.stack_size(16 << 10);
    });
    small.depth = 6;
    let mut lowered = mode("lowered, in two stores", |_| {});
    (lowered.lowered, lowered.stores) = (true, 2);
    let code = vec![
        mode("default", |_| {}),
        mode("no optimisation", |config| {
            config.opt_level(OptLevel::None);
        }),
        lowered,
    ];
    let stress = vec![
        mode("collect always", |config| {
            config.collect_always(true);
        }),
        mode("move stacks", |config| {
            config.move_stacks(true);
        }),
        mode("collect always, move stacks", |config| {
            config.collect_always(true).move_stacks(true);
        }),
        mode("a pool of one stack", |config| {
            config.stack_pool(1);
        }),
        small,
    ];
    vec![code, stress]
}

/// Stacks whose references are at their last generations.
pub fn generations() -> Vec<Vec<Mode>> {
    let last = [0, 1, 2, 4].map(|left| {
        mode(&format!("{left} generations left"), |config| {
            config.first_generation(GENERATIONS - 1 - left);
        })
    });
    let mut generations = last.to_vec();
    generations.push(mode("1 generation left, collect always", |config| {
        config.first_generation(GENERATIONS - 2).collect_always(true);
    }));
    vec![generations]
}

/// The modes for one case: one of each group, since most time is spent on
/// compiling. The same number always means the same modes.
pub fn one_of_each(groups: Vec<Vec<Mode>>, number: u64) -> Vec<Mode> {
    let mut random = Random::new(number);
    let one = |group: Vec<Mode>| {
        let chosen = random.below(group.len() as u64) as usize;
        group.into_iter().nth(chosen)
    };
    groups.into_iter().filter_map(one).collect()
}

fn mode(name: &str, set: impl FnOnce(&mut Config)) -> Mode {
    let mut config = Config::new();
    set(&mut config);
    config.check_stacks(name != "default");
    Mode { name: name.to_string(), config, lowered: false, stores: 1, depth: usize::MAX }
}
