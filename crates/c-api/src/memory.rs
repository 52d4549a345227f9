//! Linear memories.

use crate::boundary::{answer, required};
use crate::external::extern_type;
use crate::externtype::wasm_externtype_t;
use crate::reference::{Object, wasm_ref_t};
use crate::store::wasm_store_t;
use ropewalk::Memory;
use std::ptr;

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
) -> Option<Box<wasm_ref_t>> {
    answer(|| {
        let store = &required(store, "a store")?.0;
        let ty = required(ty, "a memory type")?.memory()?;
        let memory = store.enter(|context| Memory::new(context, ty))?;
        wasm_ref_t::boxed(store, Object::Memory(memory))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_type(memory: Option<&wasm_ref_t>) -> Option<Box<wasm_externtype_t>> {
    answer(|| {
        let memory = required(memory, "a memory")?;
        memory.memory()?;
        extern_type(memory)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_data(memory: Option<&wasm_ref_t>) -> *mut u8 {
    let found = answer(|| {
        let (store, memory) = required(memory, "a memory")?.memory()?;
        store.enter(|mut context| Ok(Some(memory.data_mut(&mut context)?.as_mut_ptr() as usize)))
    });
    // The address of memory that the engine has mapped.
    found.map_or(ptr::null_mut(), ptr::with_exposed_provenance_mut)
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_data_size(memory: Option<&wasm_ref_t>) -> usize {
    answer(|| {
        let (store, memory) = required(memory, "a memory")?.memory()?;
        store.enter(|context| memory.data_size(context))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_size(memory: Option<&wasm_ref_t>) -> u32 {
    answer(|| {
        let (store, memory) = required(memory, "a memory")?.memory()?;
        let size = store.enter(|context| memory.size(context))?;
        Ok(u32::try_from(size).unwrap_or(u32::MAX))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_memory_grow(memory: Option<&wasm_ref_t>, delta: u32) -> bool {
    answer(|| {
        let (store, memory) = required(memory, "a memory")?.memory()?;
        store.enter(|context| memory.grow(context, delta.into()))?;
        Ok(true)
    })
}
