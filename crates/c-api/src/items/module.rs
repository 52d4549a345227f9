//! Modules.

use crate::objects::engine::wasm_engine_t;
use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::{StoreRef, wasm_store_t};
use crate::support::boundary::{Out, fill, fill_or_default, or_default, required};
use crate::support::c_string;
use crate::support::error::{fill_or_error, ropewalk_error_t};
use crate::support::owned::deleted;
use crate::support::vector::Vector;
use crate::types::importtype::{wasm_exporttype_t, wasm_importtype_t};
use anyhow::{Context, Result, bail};
use ropewalk::{Engine, Module};
use ropewalk_text::Text;
use std::ffi::c_char;
use std::sync::Arc;

/// A module that threads can share.
pub struct wasm_shared_module_t(Module);

fn boxed(module: Module) -> Box<wasm_ref_t> {
    Box::new(wasm_ref_t { store: None, object: Object::Module(module, Arc::default()) })
}

fn engine(store: &StoreRef) -> Result<Engine> {
    store.enter(|context| Ok(context.engine().clone()))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_new(
    store: Option<&wasm_store_t>,
    binary: Option<&Vector<u8>>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let engine = engine(&required(store, "a store")?.0)?;
        let binary = required(binary, "a binary")?.elements()?;
        Ok(Some(boxed(Module::from_binary(&engine, binary)?)))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_validate(
    store: Option<&wasm_store_t>,
    binary: Option<&Vector<u8>>,
) -> bool {
    or_default(|| {
        let engine = engine(&required(store, "a store")?.0)?;
        let binary = required(binary, "a binary")?.elements()?;
        if binary.first() != Some(&0) {
            bail!("expected a binary, which begins with a zero byte");
        }
        Module::validate(&engine, binary)?;
        Ok(true)
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_imports(
    module: Option<&wasm_ref_t>,
    out: Out<'_, Vector<Option<Box<wasm_importtype_t>>>>,
) {
    fill_or_default(out, || {
        let module = required(module, "a module")?.module()?;
        let import = |import| Some(Box::new(wasm_importtype_t::of(module.engine(), &import)));
        Ok(Vector::new(module.imports().map(import).collect()))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_exports(
    module: Option<&wasm_ref_t>,
    out: Out<'_, Vector<Option<Box<wasm_exporttype_t>>>>,
) {
    fill_or_default(out, || {
        let module = required(module, "a module")?.module()?;
        let export = |export| Some(Box::new(wasm_exporttype_t::of(module.engine(), &export)));
        Ok(Vector::new(module.exports().map(export).collect()))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_serialize(module: Option<&wasm_ref_t>, out: Out<'_, Vector<u8>>) {
    fill_or_default(out, || Ok(Vector::new(required(module, "a module")?.module()?.serialize()?)));
}

/// # Safety
///
/// The bytes must come from `wasm_module_serialize` and must not have been changed, since they
/// are executed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasm_module_deserialize(
    store: Option<&wasm_store_t>,
    bytes: Option<&Vector<u8>>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let engine = engine(&required(store, "a store")?.0)?;
        let bytes = required(bytes, "bytes")?.elements()?;
        // SAFETY: the caller's promise.
        Ok(Some(boxed(unsafe { Module::deserialize(&engine, bytes)? })))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_share(
    module: Option<&wasm_ref_t>,
) -> Option<Box<wasm_shared_module_t>> {
    or_default(|| {
        let module = required(module, "a module")?.module()?.clone();
        Ok(Some(Box::new(wasm_shared_module_t(module))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_obtain(
    store: Option<&wasm_store_t>,
    module: Option<&wasm_shared_module_t>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let engine = engine(&required(store, "a store")?.0)?;
        let module = &required(module, "a shared module")?.0;
        if !Engine::same(&engine, module.engine()) {
            bail!("the module belongs to another engine than the store");
        }
        Ok(Some(boxed(module.clone())))
    })
}

deleted! {
    "wasm_shared_module": wasm_shared_module_t;
}

/// Compiles a module in the binary or the text format, with the dialects of all designs.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_module_new(
    engine: Option<&wasm_engine_t>,
    bytes: Option<&Vector<u8>>,
    out: Out<'_, Option<Box<wasm_ref_t>>>,
) -> Option<Box<ropewalk_error_t>> {
    fill_or_error(out, || {
        let bytes = required(bytes, "bytes")?.elements()?;
        Ok(Some(boxed(Module::new(&required(engine, "an engine")?.0, bytes)?)))
    })
}

/// # Safety
///
/// The path must end with a zero. The file must come from `wasm_module_serialize` or
/// `ropewalk compile`, and its bytes must not change while the module is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_module_deserialize_file(
    engine: Option<&wasm_engine_t>,
    path: *const c_char,
    out: Out<'_, Option<Box<wasm_ref_t>>>,
) -> Option<Box<ropewalk_error_t>> {
    fill_or_error(out, || {
        let engine = &required(engine, "an engine")?.0;
        // SAFETY: the caller's promise.
        Ok(Some(boxed(unsafe { Module::deserialize_file(engine, c_string::path(path)?)? })))
    })
}

/// Encodes a module in the text format, with the dialects of all designs, as a binary.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wat2wasm(
    text: Option<&Vector<u8>>,
    out: Out<'_, Vector<u8>>,
) -> Option<Box<ropewalk_error_t>> {
    fill_or_error(out, || {
        let text = required(text, "text")?.to_text().context("in the text of a module")?;
        Ok(Vector::new(Text::parse(text)?.binary().to_vec()))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_module_name(
    module: Option<&wasm_ref_t>,
    out: Out<'_, Vector<u8>>,
) -> bool {
    or_default(|| {
        let name = required(module, "a module")?.module()?.name();
        fill(out, name.map(Vector::text).unwrap_or_default())?;
        Ok(name.is_some())
    })
}
