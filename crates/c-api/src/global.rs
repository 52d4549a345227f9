//! Globals.

use crate::boundary::{Out, answer, required};
use crate::external::extern_type;
use crate::externtype::wasm_externtype_t;
use crate::reference::{Object, wasm_ref_t};
use crate::store::wasm_store_t;
use crate::value::wasm_val_t;
use ropewalk::Global;

#[unsafe(no_mangle)]
pub extern "C" fn wasm_global_new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
    value: Option<&wasm_val_t>,
) -> Option<Box<wasm_ref_t>> {
    answer(|| {
        let store = &required(store, "a store")?.0;
        let ty = required(ty, "a global type")?.global()?;
        let value = required(value, "a value")?;
        let global = store.enter(|mut context| {
            let value = value.load(&mut context)?;
            Global::new(context, ty, value)
        })?;
        wasm_ref_t::boxed(store, Object::Global(global))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_global_type(global: Option<&wasm_ref_t>) -> Option<Box<wasm_externtype_t>> {
    answer(|| {
        let global = required(global, "a global")?;
        global.global()?;
        extern_type(global)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_global_get(global: Option<&wasm_ref_t>, out: Out<'_, wasm_val_t>) {
    answer(|| {
        let out = required(out, "a value")?.write(wasm_val_t::default());
        let (store, global) = required(global, "a global")?.global()?;
        *out = store.enter(|mut context| {
            let value = global.get(&mut context)?;
            wasm_val_t::from_val(store, context, value)
        })?;
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_global_set(global: Option<&wasm_ref_t>, value: Option<&wasm_val_t>) {
    answer(|| {
        let (store, global) = required(global, "a global")?.global()?;
        let value = required(value, "a value")?;
        store.enter(|mut context| {
            let value = value.load(&mut context)?;
            global.set(context, value)
        })
    });
}
