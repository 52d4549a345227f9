//! Settings and engines.

use crate::support::boundary::{or_default, required};
use crate::support::owned::deleted;
use anyhow::Context;
use ropewalk::{Config, Designs, Engine};

/// Settings of an engine.
pub struct wasm_config_t(Config);

/// An engine. Threads can share it.
pub struct wasm_engine_t(pub(crate) Engine);

#[unsafe(no_mangle)]
pub extern "C" fn wasm_config_new() -> Option<Box<wasm_config_t>> {
    or_default(|| Ok(Some(Box::new(wasm_config_t(Config::new())))))
}

deleted! {
    "wasm_config": wasm_config_t;
}

/// Functions that set a number or a flag.
macro_rules! settings {
    ($($name:ident: $set:ident($ty:ty);)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $name(config: Option<&mut wasm_config_t>, value: $ty) {
            or_default(|| {
                required(config, "settings")?.0.$set(value);
                Ok(())
            });
        }
    )*};
}

settings! {
    ropewalk_config_set_interruption: interruption(bool);
    ropewalk_config_set_consume_fuel: consume_fuel(bool);
    ropewalk_config_set_max_wasm_stack: max_wasm_stack(usize);
    ropewalk_config_set_max_memory: max_memory(u64);
    ropewalk_config_set_max_total_memory: max_total_memory(u64);
    ropewalk_config_set_max_heap: max_heap(usize);
    ropewalk_config_set_max_stacks: max_stacks(usize);
    ropewalk_config_set_max_stack_memory: max_stack_memory(usize);
    ropewalk_config_set_stack_size: stack_size(usize);
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_config_set_designs(config: Option<&mut wasm_config_t>, designs: u32) {
    or_default(|| {
        let config = required(config, "settings")?;
        let known = u8::try_from(designs).ok().and_then(Designs::from_bits);
        config.0.designs(known.with_context(|| {
            format!("expected designs, `ROPEWALK_DESIGN_..`, found {designs:#x}")
        })?);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_engine_new() -> Option<Box<wasm_engine_t>> {
    or_default(|| Ok(Some(Box::new(wasm_engine_t(Engine::new(&Config::new())?)))))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_engine_new_with_config(
    config: Option<Box<wasm_config_t>>,
) -> Option<Box<wasm_engine_t>> {
    or_default(|| {
        let config = required(config, "settings")?;
        Ok(Some(Box::new(wasm_engine_t(Engine::new(&config.0)?))))
    })
}

deleted! {
    "wasm_engine": wasm_engine_t;
}
