//! The modes of the engine, in all of which a program does the same.

use ropewalk::{Config, Engine, OptLevel};
use std::sync::LazyLock;

/// A way to run programs.
pub struct Mode {
    /// What it is called in reports.
    pub name: &'static str,
    /// An engine that runs so. Its pools are shared by all cases.
    pub engine: Engine,
}

/// All modes, the default first.
pub fn all() -> &'static [Mode] {
    static MODES: LazyLock<Vec<Mode>> = LazyLock::new(|| {
        CONFIGURATIONS
            .iter()
            .map(|(name, configure)| {
                let mut config = Config::new();
                config.max_heap(64 << 20).max_stacks(10_000).max_activations(100);
                configure(&mut config);
                config.check_stacks(*name != "default");
                let engine = Engine::new(&config).expect("a mode is a valid configuration");
                Mode { name, engine }
            })
            .collect()
    });
    &MODES
}

/// How many generations there are: as many as their bits in a reference count.
const GENERATIONS: u64 = 1 << 34;

/// A name, and how that mode differs from the default.
type Configuration = (&'static str, fn(&mut Config));

const CONFIGURATIONS: [Configuration; 8] = [
    ("default", |_| {}),
    ("collect always", |config| {
        config.collect_always(true);
    }),
    ("move stacks", |config| {
        config.move_stacks(true);
    }),
    ("collect and move", |config| {
        config.collect_always(true).move_stacks(true);
    }),
    ("not optimised", |config| {
        config.opt_level(OptLevel::None);
    }),
    ("optimised for size too", |config| {
        config.opt_level(OptLevel::SpeedAndSize);
    }),
    ("pool of one", |config| {
        config.stack_pool(1);
    }),
    ("last generations", |config| {
        config.first_generation(GENERATIONS - 3).stack_pool(1);
    }),
];
