//! Interruption, fuel and limits of stores.

use crate::objects::store::wasm_store_t;
use crate::support::boundary::{or_default, required};
use crate::support::error::{or_error, ropewalk_error_t};
use crate::support::owned::deleted;
use anyhow::Context;
use ropewalk::{InterruptHandle, StoreLimitsBuilder};
use std::time::{Duration, Instant};

/// The value of a limit that does not apply.
const NO_LIMIT: u64 = u64::MAX;

/// The limits of a store.
#[repr(C)]
#[derive(Clone, Copy)]
pub struct ropewalk_limits_t {
    memory_size: u64,
    total_memory_size: u64,
    table_elements: u64,
    stacks: u64,
    stack_bytes: u64,
    heap_bytes: u64,
    host_values: u64,
    handles: u64,
    instances: u64,
    memories: u64,
    tables: u64,
}

/// A handle to interrupt a store from another thread.
pub struct ropewalk_interrupt_handle_t(InterruptHandle);

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_store_set_timeout_ms(
    store: Option<&wasm_store_t>,
    milliseconds: u64,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| {
        let deadline = match milliseconds {
            NO_LIMIT => None,
            time => Some(
                Instant::now()
                    .checked_add(Duration::from_millis(time))
                    .with_context(|| format!("{time} milliseconds are too long for a timeout"))?,
            ),
        };
        required(store, "a store")?.0.enter(|mut context| context.set_deadline(deadline))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_store_interrupt_handle(
    store: Option<&wasm_store_t>,
) -> Option<Box<ropewalk_interrupt_handle_t>> {
    or_default(|| {
        let handle = required(store, "a store")?.0.enter_idle(|store| store.interrupt_handle())?;
        Ok(Some(Box::new(ropewalk_interrupt_handle_t(handle))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_interrupt_handle_interrupt(
    handle: Option<&ropewalk_interrupt_handle_t>,
) {
    or_default(|| {
        required(handle, "a handle")?.0.interrupt();
        Ok(())
    });
}

deleted! {
    "ropewalk_interrupt_handle": ropewalk_interrupt_handle_t;
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_store_set_fuel(
    store: Option<&wasm_store_t>,
    fuel: u64,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| required(store, "a store")?.0.enter(|mut context| context.set_fuel(fuel)))
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_store_get_fuel(store: Option<&wasm_store_t>) -> u64 {
    or_default(|| required(store, "a store")?.0.enter(|context| context.get_fuel()))
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_store_set_limits(
    store: Option<&wasm_store_t>,
    limits: Option<&ropewalk_limits_t>,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| {
        let limits = required(limits, "limits")?;
        let size = |limit: u64| usize::try_from(limit).unwrap_or(usize::MAX);
        let limits = StoreLimitsBuilder::new()
            .memory_size(size(limits.memory_size))
            .total_memory_size(size(limits.total_memory_size))
            .table_elements(size(limits.table_elements))
            .stacks(size(limits.stacks))
            .stack_bytes(size(limits.stack_bytes))
            .heap_bytes(size(limits.heap_bytes))
            .host_values(size(limits.host_values))
            .handles(size(limits.handles))
            .instances(size(limits.instances))
            .memories(size(limits.memories))
            .tables(size(limits.tables))
            .build();
        required(store, "a store")?.0.enter_idle(|store| {
            store.limiter(limits);
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_store_gc(store: Option<&wasm_store_t>) {
    or_default(|| {
        required(store, "a store")?.0.enter_idle(|store| {
            store.gc();
            Ok(())
        })
    });
}
