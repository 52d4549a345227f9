//! The engines of cases.

use super::module;
use ropewalk::stress::{self, GENERATIONS_LEFT, Mode};
use ropewalk::{Config, Engine, Module};
use std::sync::OnceLock;

/// An engine, which all cases share, and the module that runs.
pub struct Compiled {
    pub engine: Engine,
    pub module: Module,
    /// Whether its stores can be written down.
    pub has_snapshots: bool,
    /// A module with other types, which have got their numbers before those of the module.
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

/// What no case may exceed.
fn limits() -> Config {
    let mut config = Config::new();
    config.max_heap(16 << 20).max_stacks(10_000).max_activations(100);
    config
}

/// The engine of a number: of each mode there are two, one of which has other types before those
/// of the module.
pub fn compiled(number: u8) -> &'static Compiled {
    static ALL: [OnceLock<Compiled>; ENGINES] = [const { OnceLock::new() }; ENGINES];
    let number = number as usize % ENGINES;
    ALL[number].get_or_init(|| compile(number))
}

fn compile(number: usize) -> Compiled {
    let mut config = limits();
    // In some, nothing is turned on that an embedder can use more by.
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
