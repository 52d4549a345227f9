//! The ways in which every program must do the same.

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

/// Every mode. The first is the one that others are compared with, if the model
/// does not say what is right.
pub fn modes() -> Vec<Mode> {
    let mut modes = vec![
        mode("default", |_| {}),
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
        mode("no optimisation", |config| {
            config.opt_level(OptLevel::None);
        }),
        Mode { depth: 6, ..mode("small stacks", |config| {
            config.stack_size(16 << 10);
        }) },
        Mode { lowered: true, stores: 2, ..mode("lowered, in two stores", |_| {}) },
    ];
    for left in [0, 1, 2, 4] {
        modes.push(mode(&format!("{left} generations left"), |config| {
            config.first_generation(GENERATIONS - 1 - left);
        }));
    }
    modes.push(mode("1 generation left, collect always", |config| {
        config.first_generation(GENERATIONS - 2).collect_always(true);
    }));
    modes
}

fn mode(name: &str, set: impl FnOnce(&mut Config)) -> Mode {
    let mut config = Config::new();
    set(&mut config);
    Mode { name: name.to_string(), config, lowered: false, stores: 1, depth: usize::MAX }
}
