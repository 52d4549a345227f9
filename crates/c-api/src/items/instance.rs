//! Instances.

use crate::items::trap::of_error;
use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::wasm_store_t;
use crate::support::boundary::{Out, catch, fill_or_default, or_default, required};
use crate::support::c_string::text;
use crate::support::vector::{Vector, elements_or_none};
use anyhow::Result;
use ropewalk::Instance;
use std::ffi::c_char;

type Externs = Vector<Option<Box<wasm_ref_t>>>;

/// Runs the body of a function that creates an instance. On failure it stores a trap in `trap`, if
/// that is not null, and otherwise sets the last error.
pub(crate) fn instantiate(
    store: Option<&wasm_store_t>,
    trap: Option<&mut std::mem::MaybeUninit<Option<Box<wasm_ref_t>>>>,
    run: impl FnOnce() -> Result<Option<Box<wasm_ref_t>>>,
) -> Option<Box<wasm_ref_t>> {
    let trap = trap.map(|trap| trap.write(None));
    match (catch(run), trap) {
        (Ok(instance), _) => instance,
        (Err(error), Some(trap)) => {
            *trap = Some(of_error(error, store.map(|store| &store.0)));
            None
        }
        (Err(error), None) => or_default(|| Err(error)),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_instance_new(
    store: Option<&wasm_store_t>,
    module: Option<&wasm_ref_t>,
    imports: Option<&Externs>,
    trap: Out<'_, Option<Box<wasm_ref_t>>>,
) -> Option<Box<wasm_ref_t>> {
    instantiate(store, trap, || {
        let store = &required(store, "a store")?.0;
        let module = required(module, "a module")?.module()?;
        let imports = elements_or_none(imports)?.iter();
        let imports = imports.map(|import| required(import.as_deref(), "an import")?.external());
        let imports = imports.collect::<Result<Vec<_>>>()?;
        let instance = store.enter(|context| Instance::new(context, module, &imports))?;
        wasm_ref_t::boxed(store, Object::Instance(instance))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_instance_exports(instance: Option<&wasm_ref_t>, out: Out<'_, Externs>) {
    fill_or_default(out, || {
        let (store, instance) = required(instance, "an instance")?.instance()?;
        let exports = store.enter(|context| instance.exports(context))?;
        let exports = exports.into_iter().map(|(_, item)| wasm_ref_t::boxed(store, item));
        Ok(Vector::new(exports.collect::<Result<_>>()?))
    });
}

/// # Safety
///
/// The name must end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_instance_export(
    instance: Option<&wasm_ref_t>,
    name: *const c_char,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "a name")? };
        let (store, instance) = required(instance, "an instance")?.instance()?;
        let item = store.enter(|context| Ok(instance.get_export(context, name)))?;
        item.map_or(Ok(None), |item| wasm_ref_t::boxed(store, item))
    })
}

/// # Safety
///
/// The name must end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_caller_export(
    store: Option<&wasm_store_t>,
    name: *const c_char,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { text(name, "a name")? };
        let store = &required(store, "a store")?.0;
        let item = store.enter_caller(|caller| Ok(caller.get_export(name)))?;
        item.map_or(Ok(None), |item| wasm_ref_t::boxed(store, item))
    })
}
