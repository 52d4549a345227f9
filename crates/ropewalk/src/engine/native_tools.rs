//! Shows loaded code to native tools: perf and debuggers.

use crate::engine::Engine;
use anyhow::{Context as _, Result};
use ropewalk_runtime::code::perf_map;
use ropewalk_runtime::{CodeMemory, LoadedModule};
use std::ops::Range;

/// Shows a module. Its source must be set before.
pub(crate) fn tell(engine: &Engine, module: &mut LoadedModule) -> Result<()> {
    let config = engine.config();
    if config.perf_map {
        let path = perf_map::path();
        perf_map::add(module).with_context(|| format!("cannot write {}", path.display()))?;
    }
    if let Some(jitdump) = engine.jitdump() {
        jitdump
            .add(module)
            .with_context(|| format!("cannot write {}", jitdump.path().display()))?;
    }
    if config.native_debug {
        module.register_with_debuggers();
    }
    Ok(())
}

/// Shows trampolines, which are these parts of the code, or all of it.
pub(crate) fn tell_of_trampolines(
    engine: &Engine,
    code: &mut CodeMemory,
    parts: &[Range<usize>],
) -> Result<()> {
    const NAME: &str = "wasm trampoline";
    let whole = 0..code.len();
    let parts = if parts.is_empty() { std::slice::from_ref(&whole) } else { parts };
    if let Some(jitdump) = engine.jitdump() {
        let path = jitdump.path().display();
        jitdump.add_code(code, NAME, parts).with_context(|| format!("cannot write {path}"))?;
    }
    if engine.config().native_debug {
        code.register_with_debuggers(NAME, parts);
    }
    Ok(())
}
