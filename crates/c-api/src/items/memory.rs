//! Linear memories.

use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::wasm_store_t;
use crate::support::boundary::{or_default, required};
use crate::types::externtype::wasm_externtype_t;
use ropewalk::Memory;
use std::ptr;

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let store = &required(store, "a store")?.0;
        let ty = required(ty, "a memory type")?.memory()?;
        let memory = store.enter(|context| Memory::new(context, ty))?;
        wasm_ref_t::boxed(store, Object::Memory(memory))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_data(memory: Option<&wasm_ref_t>) -> *mut u8 {
    let found = or_default(|| {
        let (store, memory) = required(memory, "a memory")?.memory()?;
        store.enter(|mut context| Ok(Some(memory.data_mut(&mut context)?.as_mut_ptr() as usize)))
    });
    // The address of memory that the engine has mapped.
    found.map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_data_size(memory: Option<&wasm_ref_t>) -> usize {
    or_default(|| {
        let (store, memory) = required(memory, "a memory")?.memory()?;
        store.enter(|context| memory.data_size(context))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_size(memory: Option<&wasm_ref_t>) -> u32 {
    or_default(|| {
        let (store, memory) = required(memory, "a memory")?.memory()?;
        let size = store.enter(|context| memory.size(context))?;
        Ok(u32::try_from(size).unwrap_or(u32::MAX))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_grow(memory: Option<&wasm_ref_t>, delta: u32) -> bool {
    or_default(|| {
        let (store, memory) = required(memory, "a memory")?.memory()?;
        store.enter(|context| memory.grow(context, delta.into()))?;
        Ok(true)
    })
}
