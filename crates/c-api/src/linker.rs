//! What imports mean, by their names.

use crate::boundary::{Out, answer, outcome, required};
use crate::engine::wasm_engine_t;
use crate::error::ropewalk_error_t;
use crate::instance::instantiate;
use crate::module::text;
use crate::reference::{Object, wasm_ref_t};
use crate::store::{Data, wasm_store_t};
use ropewalk::Linker;
use ropewalk_wasi::WasiCtx;
use std::ffi::c_char;

/// What imports mean, by their names.
pub struct ropewalk_linker_t(Linker<Data>);

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_linker_new(
    engine: Option<&wasm_engine_t>,
) -> Option<Box<ropewalk_linker_t>> {
    answer(|| {
        let engine = &required(engine, "an engine")?.0;
        Ok(Some(Box::new(ropewalk_linker_t(Linker::new(engine)))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_linker_delete(linker: Option<Box<ropewalk_linker_t>>) {
    answer(|| {
        drop(linker);
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_linker_allow_shadowing(
    linker: Option<&mut ropewalk_linker_t>,
    allow: bool,
) {
    answer(|| {
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
    outcome(|| {
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
    outcome(|| {
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
    outcome(|| {
        ropewalk_wasi::add_to_linker(&mut required(linker, "a linker")?.0, |data: &mut Data| {
            // A program that is given nothing sees nothing.
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
