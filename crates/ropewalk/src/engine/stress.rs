//! Stress modes: settings that change how code is generated, and how stacks and heaps behave. Every
//! program must do the same in all of them.

use crate::engine::config::{Config, OptLevel};
pub use ropewalk_abi::stack::LAST_GENERATION;

/// A stress mode, which can be added to other settings.
#[derive(Clone, Copy, Debug)]
pub struct Mode {
    /// Its name in reports.
    pub name: &'static str,
    set: fn(&mut Config) -> &mut Config,
}

impl Mode {
    const fn new(name: &'static str, set: fn(&mut Config) -> &mut Config) -> Mode {
        Mode { name, set }
    }

    /// The default settings with this mode.
    pub fn config(self) -> Config {
        let mut config = Config::new();
        self.apply(&mut config);
        config
    }

    /// Adds the mode to other settings.
    pub fn apply(self, config: &mut Config) -> &mut Config {
        (self.set)(config)
    }
}

/// The default settings.
pub const DEFAULT: Mode = Mode::new("default", |config| config);
/// The stack limit where stacks move all the time. A program that fills a stack, and switches at
/// each step, copies the square of this.
const MOVED: usize = 256 << 10;
/// Stacks move at every switch and host call.
pub const MOVE: Mode = Mode::new("move stacks", |config| {
    config.stress(|stress| stress.move_stacks = true).max_wasm_stack(MOVED)
});
/// Every allocation collects. Stacks are small, since each collection visits them.
pub const COLLECT: Mode = Mode::new("collect always", |config| {
    config.stress(|stress| stress.collect_always = true).max_wasm_stack(1 << 20)
});
/// [`COLLECT`] and [`MOVE`].
pub const COLLECT_AND_MOVE: Mode = Mode::new("collect always, move stacks", |config| {
    config
        .stress(|stress| stress.collect_always = true)
        .stress(|stress| stress.move_stacks = true)
        .max_wasm_stack(MOVED)
});
/// Every suspended stack is parked at once.
pub const PARK: Mode = Mode::new("park always", |config| {
    config.stress(|stress| stress.park_always = true).max_wasm_stack(MOVED)
});
/// The records of stacks are checked all the time. Stacks are small, since each check visits their
/// frames.
pub const CHECK: Mode = Mode::new("check stacks", |config| {
    config.stress(|stress| stress.check_stacks = true).max_wasm_stack(1 << 20)
});
/// Frames list all their pointers, as for snapshots.
pub const SNAPSHOTS: Mode = Mode::new("snapshots", |config| config.snapshots(true));
/// As [`SNAPSHOTS`], and the kernel tracks all dirty pages.
pub const WATCH: Mode = Mode::new("track dirty pages", |config| {
    config.snapshots(true).stress(|stress| stress.watch_always = true)
});
/// Functions stop at every safepoint.
pub const STOP: Mode =
    Mode::new("stop always", |config| config.stress(|stress| stress.stop_always = true));
/// Stacks are made one at a time.
pub const POOL_OF_ONE: Mode = Mode::new("a pool of one stack", |config| config.stack_pool(1));
/// Stacks have room for few frames, and never grow.
pub const SMALL_STACKS: Mode = Mode::new("small stacks that do not grow", |config| {
    config.stack_size(16 << 10).stress(|stress| stress.fail_to_grow = true)
});
/// Stacks begin as small as possible, and grow all the time.
pub const MINIMAL_STACKS: Mode =
    Mode::new("minimal stacks", |config| config.stress(|stress| stress.minimal_stacks = true));
/// Memories reserve only their guards, and move whenever they grow.
pub const SMALL_MEMORIES: Mode =
    Mode::new("small reservations of memories", |config| config.memory_reservation(0));
/// Registers are allocated in a single pass, with larger frames.
pub const SINGLE_PASS: Mode =
    Mode::new("registers in a single pass", |config| config.max_backtracking(0));
/// Locals are kept in memory.
pub const LOCALS_IN_MEMORY: Mode =
    Mode::new("locals in memory", |config| config.max_local_blocks(0));
/// Code is not optimized.
pub const NOT_OPTIMIZED: Mode =
    Mode::new("no optimization", |config| config.opt_level(OptLevel::None));
/// Code is optimized for size too.
pub const SMALL_CODE: Mode =
    Mode::new("optimized for size too", |config| config.opt_level(OptLevel::SpeedAndSize));
/// References to stacks begin at or near the last generation.
pub const GENERATIONS_LEFT: [Mode; 4] = [
    Mode::new("0 generations left", |config| {
        config.stress(|stress| stress.first_generation = LAST_GENERATION)
    }),
    Mode::new("1 generations left", |config| {
        config.stress(|stress| stress.first_generation = LAST_GENERATION - 1)
    }),
    Mode::new("2 generations left", |config| {
        config.stress(|stress| stress.first_generation = LAST_GENERATION - 2)
    }),
    Mode::new("4 generations left", |config| {
        config.stress(|stress| stress.first_generation = LAST_GENERATION - 4)
    }),
];

/// Every combination of moving stacks and collecting.
pub const MOVING_AND_COLLECTING: [Mode; 4] = [DEFAULT, MOVE, COLLECT, COLLECT_AND_MOVE];
