//! Globals.

use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::wasm_store_t;
use crate::objects::value::wasm_val_t;
use crate::support::boundary::{Out, fill_or_default, or_default, required};
use crate::types::externtype::wasm_externtype_t;
use ropewalk::Global;

#[unsafe(no_mangle)]
pub extern "C" fn wasm_global_new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
    value: Option<&wasm_val_t>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
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
pub extern "C" fn wasm_global_get(global: Option<&wasm_ref_t>, out: Out<'_, wasm_val_t>) {
    fill_or_default(out, || {
        let (store, global) = required(global, "a global")?.global()?;
        store.enter(|mut context| {
            let value = global.get(&mut context)?;
            wasm_val_t::from_val(store, context, value)
        })
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_global_set(global: Option<&wasm_ref_t>, value: Option<&wasm_val_t>) {
    or_default(|| {
        let (store, global) = required(global, "a global")?.global()?;
        let value = required(value, "a value")?;
        store.enter(|mut context| {
            let value = value.load(&mut context)?;
            global.set(context, value)
        })
    });
}
