//! Linkers.

use crate::items::instance::instantiate;
use crate::objects::engine::wasm_engine_t;
use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::{Data, wasm_store_t};
use crate::support::boundary::{Out, or_default, required};
use crate::support::c_string::text;
use crate::support::error::{or_error, ropewalk_error_t};
use crate::support::owned::deleted;
use ropewalk::Linker;
use ropewalk_wasi::WasiCtx;
use std::ffi::c_char;

/// A linker, which resolves imports by their names.
pub struct ropewalk_linker_t(Linker<Data>);

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_linker_new(
    engine: Option<&wasm_engine_t>,
) -> Option<Box<ropewalk_linker_t>> {
    or_default(|| {
        let engine = &required(engine, "an engine")?.0;
        Ok(Some(Box::new(ropewalk_linker_t(Linker::new(engine)))))
    })
}

deleted! {
    "ropewalk_linker": ropewalk_linker_t;
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_linker_allow_shadowing(
    linker: Option<&mut ropewalk_linker_t>,
    allow: bool,
) {
    or_default(|| {
        required(linker, "a linker")?.0.allow_shadowing(allow);
        Ok(())
    });
}

/// # Safety
///
/// The names must end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_linker_define(
    linker: Option<&mut ropewalk_linker_t>,
    module: *const c_char,
    name: *const c_char,
    item: Option<&wasm_ref_t>,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| {
        let linker = &mut required(linker, "a linker")?.0;
        // SAFETY: the caller's promise.
        let names = unsafe { (text(module, "the name of a module")?, text(name, "a name")?) };
        let item = required(item, "an external object")?;
        let external = item.external()?;
        item.store()?.enter(|context| {
            linker.define(context, names.0, names.1, external)?;
            Ok(())
        })
    })
}

/// # Safety
///
/// The name must end with a zero.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_linker_define_instance(
    linker: Option<&mut ropewalk_linker_t>,
    module: *const c_char,
    instance: Option<&wasm_ref_t>,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| {
        let linker = &mut required(linker, "a linker")?.0;
        // SAFETY: the caller's promise.
        let name = unsafe { text(module, "the name of a module")? };
        let (store, instance) = required(instance, "an instance")?.instance()?;
        store.enter(|context| {
            linker.instance(context, name, instance)?;
            Ok(())
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_linker_define_wasi(
    linker: Option<&mut ropewalk_linker_t>,
) -> Option<Box<ropewalk_error_t>> {
    or_error(|| {
        ropewalk_wasi::add_to_linker(&mut required(linker, "a linker")?.0, |data: &mut Data| {
            // By default a program has access to nothing.
            data.wasi.get_or_insert_with(|| WasiCtx::builder().build())
        })
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_linker_instantiate(
    linker: Option<&ropewalk_linker_t>,
    store: Option<&wasm_store_t>,
    module: Option<&wasm_ref_t>,
    trap: Out<'_, Option<Box<wasm_ref_t>>>,
) -> Option<Box<wasm_ref_t>> {
    instantiate(store, trap, || {
        let linker = &required(linker, "a linker")?.0;
        let store = &required(store, "a store")?.0;
        let module = required(module, "a module")?.module()?;
        let instance = store.enter(|context| linker.instantiate(context, module))?;
        wasm_ref_t::boxed(store, Object::Instance(instance))
    })
}
