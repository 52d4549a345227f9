//! The engines of cases, one for each mode.

use super::module;
use ropewalk::stress::{self, GENERATIONS_LEFT, Mode};
use ropewalk::{Config, Engine, Module};
use std::sync::OnceLock;

/// An engine, which all cases share, with the compiled module.
pub struct Compiled {
    pub engine: Engine,
    pub module: Module,
    /// Whether its stores support snapshots.
    pub has_snapshots: bool,
    /// Another module, whose types have lower numbers in the engine than those of the module.
    _other: Option<Module>,
}

const MODES: [&[Mode]; 16] = [
    &[stress::DEFAULT],
    &[stress::CHECK],
    &[stress::COLLECT],
    &[stress::MOVE, stress::CHECK],
    &[stress::COLLECT_AND_MOVE, stress::CHECK],
    &[stress::PARK, stress::CHECK],
    &[stress::MINIMAL_STACKS],
    &[stress::MINIMAL_STACKS, stress::CHECK],
    &[stress::STOP, stress::CHECK],
    &[stress::STOP, stress::COLLECT_AND_MOVE],
    &[stress::WATCH],
    &[stress::SMALL_MEMORIES, stress::CHECK],
    &[stress::SINGLE_PASS],
    &[stress::POOL_OF_ONE, stress::PARK, stress::COLLECT],
    &[GENERATIONS_LEFT[1], stress::CHECK],
    &[GENERATIONS_LEFT[3], stress::POOL_OF_ONE, stress::CHECK],
];

const ENGINES: usize = MODES.len() * 2;

/// The limits of all cases.
fn limits() -> Config {
    let mut config = Config::new();
    config.max_heap(16 << 20).max_stacks(10_000).max_activations(100);
    config
}

/// The engine with a number. Each mode has two engines; in one of them, other types come before
/// those of the module.
pub fn compiled(number: u8) -> &'static Compiled {
    static ALL: [OnceLock<Compiled>; ENGINES] = [const { OnceLock::new() }; ENGINES];
    let number = number as usize % ENGINES;
    ALL[number].get_or_init(|| compile(number))
}

fn compile(number: usize) -> Compiled {
    let mut config = limits();
    // Some engines have only default features.
    let is_plain = number % 8 == 7;
    if !is_plain {
        config.interruption(true).consume_fuel(true).trace(true).snapshots(true);
    }
    for mode in MODES[number / 2] {
        mode.apply(&mut config);
    }
    config.max_wasm_stack(1 << 20);
    let engine = Engine::new(&config).expect("a mode is a valid configuration");
    let other = (number % 2 == 1).then(|| Module::new(&engine, module::OTHER_TYPES));
    let other = other.transpose().expect("it is valid");
    let module = Module::new(&engine, module::source()).expect("it is valid");
    Compiled { engine, module, has_snapshots: !is_plain, _other: other }
}
