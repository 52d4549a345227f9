//! The modes of the engine, in all of which a program does the same.

use ropewalk::stress::{self, GENERATIONS_LEFT, POOL_OF_ONE};
use ropewalk::{Config, Engine};
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
        let default = mode(stress::DEFAULT, limits());
        let mut checked = limits();
        checked.stress(|stress| stress.check_stacks = true);
        let mut modes = vec![default];
        modes.extend(OTHERS.map(|other| mode(other, checked.clone())));
        modes.push(mode(GENERATIONS_LEFT[2], POOL_OF_ONE.apply(&mut checked).clone()));
        modes
    });
    &MODES
}

const OTHERS: [stress::Mode; 9] = [
    stress::COLLECT,
    stress::MOVE,
    stress::COLLECT_AND_MOVE,
    stress::NOT_OPTIMISED,
    stress::SMALL_CODE,
    stress::LOCALS_IN_MEMORY,
    POOL_OF_ONE,
    stress::MINIMAL_STACKS,
    stress::PARK,
];

/// What no case may exceed.
fn limits() -> Config {
    let mut config = Config::new();
    config.max_heap(64 << 20).max_wasm_stack(1 << 20).max_stacks(10_000).max_activations(100);
    config
}

/// A mode with other settings.
fn mode(mode: stress::Mode, mut config: Config) -> Mode {
    let engine = Engine::new(mode.apply(&mut config)).expect("a mode is a valid configuration");
    Mode { name: mode.name, engine }
}
