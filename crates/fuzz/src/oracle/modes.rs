//! The modes of the engine. A program must do the same in all of them.

use ropewalk::stress::{self, GENERATIONS_LEFT, POOL_OF_ONE};
use ropewalk::{Config, Engine, Module};
use std::sync::{LazyLock, Mutex};

/// A mode to run programs in.
pub struct Mode {
    /// The name in reports.
    pub name: &'static str,
    /// An engine in this mode. All cases share its pools.
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

/// A module, compiled once for each engine.
pub(crate) struct OnceEach(Mutex<Vec<Module>>);

impl OnceEach {
    pub(crate) const fn new() -> OnceEach {
        OnceEach(Mutex::new(Vec::new()))
    }

    pub(crate) fn module(
        &self,
        engine: &Engine,
        source: impl AsRef<[u8]>,
    ) -> ropewalk::Result<Module> {
        let mut modules = crate::lock(&self.0);
        if let Some(module) = modules.iter().find(|module| Engine::same(module.engine(), engine)) {
            return Ok(module.clone());
        }
        let module = Module::new(engine, source)?;
        modules.push(module.clone());
        Ok(module)
    }
}

const OTHERS: [stress::Mode; 9] = [
    stress::COLLECT,
    stress::MOVE,
    stress::COLLECT_AND_MOVE,
    stress::NOT_OPTIMIZED,
    stress::SMALL_CODE,
    stress::LOCALS_IN_MEMORY,
    POOL_OF_ONE,
    stress::MINIMAL_STACKS,
    stress::PARK,
];

/// The limits of all cases.
fn limits() -> Config {
    let mut config = Config::new();
    config.max_heap(64 << 20).max_wasm_stack(1 << 20).max_stacks(10_000).max_activations(100);
    config
}

fn mode(mode: stress::Mode, mut config: Config) -> Mode {
    let engine = Engine::new(mode.apply(&mut config)).expect("a mode is a valid configuration");
    Mode { name: mode.name, engine }
}
