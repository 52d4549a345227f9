//! What other tools are told of code that is loaded.

use crate::engine::Engine;
use anyhow::{Context as _, Result};
use ropewalk_runtime::code::perf_map;
use ropewalk_runtime::{CodeMemory, LoadedModule};
use std::ops::Range;

/// Tells of a module, whose source is known by now if it ever is.
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

/// Tells of trampolines: code that stands between functions and the host, or where a stack begins.
/// If there are several, their parts are given.
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
