//! Modules.

use crate::boundary::{Out, answer, fill, outcome, required};
use crate::engine::wasm_engine_t;
use crate::error::ropewalk_error_t;
use crate::importtype::{wasm_exporttype_t, wasm_importtype_t};
use crate::reference::{Object, wasm_ref_t};
use crate::store::{StoreRef, wasm_store_t};
use crate::vector::Vector;
use anyhow::{Context, Result, bail};
use ropewalk::{Engine, Module};
use ropewalk_text::Text;
use std::ffi::{CStr, OsStr, c_char};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;

/// A module that threads can share.
pub struct wasm_shared_module_t(Module);

fn boxed(module: Module) -> Box<wasm_ref_t> {
    Box::new(wasm_ref_t { store: None, object: Object::Module(module, Arc::default()) })
}

impl wasm_ref_t {
    pub(crate) fn module(&self) -> Result<&Module> {
        match &self.object {
            Object::Module(module, _) => Ok(module),
            other => bail!("expected a module, found {}", other.name()),
        }
    }
}

fn engine(store: &StoreRef) -> Result<Engine> {
    store.enter(|context| Ok(context.engine().clone()))
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_new(
    store: Option<&wasm_store_t>,
    binary: Option<&Vector<u8>>,
) -> Option<Box<wasm_ref_t>> {
    answer(|| {
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
    answer(|| {
        let engine = engine(&required(store, "a store")?.0)?;
        let binary = required(binary, "a binary")?.elements()?;
        if binary.first() != Some(&0) {
            bail!("expected a binary, which begins with a zero");
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
    answer(|| {
        let out = required(out, "a vector")?.write(Vector::default());
        let module = required(module, "a module")?.module()?;
        let import = |import| Some(Box::new(wasm_importtype_t::of(module.engine(), &import)));
        *out = Vector::new(module.imports().map(import).collect());
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_exports(
    module: Option<&wasm_ref_t>,
    out: Out<'_, Vector<Option<Box<wasm_exporttype_t>>>>,
) {
    answer(|| {
        let out = required(out, "a vector")?.write(Vector::default());
        let module = required(module, "a module")?.module()?;
        let export = |export| Some(Box::new(wasm_exporttype_t::of(module.engine(), &export)));
        *out = Vector::new(module.exports().map(export).collect());
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_serialize(module: Option<&wasm_ref_t>, out: Out<'_, Vector<u8>>) {
    answer(|| {
        let out = required(out, "a vector")?.write(Vector::default());
        *out = Vector::new(required(module, "a module")?.module()?.serialize()?);
        Ok(())
    });
}

/// # Safety
///
/// The bytes must come from `wasm_module_serialize`, by way of nobody who may have changed
/// them: they become code.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn wasm_module_deserialize(
    store: Option<&wasm_store_t>,
    bytes: Option<&Vector<u8>>,
) -> Option<Box<wasm_ref_t>> {
    answer(|| {
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
    answer(|| {
        let module = required(module, "a module")?.module()?.clone();
        Ok(Some(Box::new(wasm_shared_module_t(module))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_module_obtain(
    store: Option<&wasm_store_t>,
    module: Option<&wasm_shared_module_t>,
) -> Option<Box<wasm_ref_t>> {
    answer(|| {
        let engine = engine(&required(store, "a store")?.0)?;
        let module = &required(module, "a shared module")?.0;
        if !Engine::same(&engine, module.engine()) {
            bail!("the module was compiled by another engine than that of the store");
        }
        Ok(Some(boxed(module.clone())))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_shared_module_delete(module: Option<Box<wasm_shared_module_t>>) {
    answer(|| {
        drop(module);
        Ok(())
    });
}

/// Compiles a module in the binary or the text format, with the dialects of all designs.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_module_new(
    engine: Option<&wasm_engine_t>,
    bytes: Option<&Vector<u8>>,
    out: Out<'_, Option<Box<wasm_ref_t>>>,
) -> Option<Box<ropewalk_error_t>> {
    outcome(|| {
        let out = required(out, "a place for the module")?.write(None);
        let bytes = required(bytes, "bytes")?.elements()?;
        *out = Some(boxed(Module::new(&required(engine, "an engine")?.0, bytes)?));
        Ok(())
    })
}

/// # Safety
///
/// The path must end with a zero. The file must come from `wasm_module_serialize` or
/// `ropewalk compile`, and nobody change its bytes as long as the module is in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ropewalk_module_deserialize_file(
    engine: Option<&wasm_engine_t>,
    path: *const c_char,
    out: Out<'_, Option<Box<wasm_ref_t>>>,
) -> Option<Box<ropewalk_error_t>> {
    outcome(|| {
        let out = required(out, "a place for the module")?.write(None);
        let engine = &required(engine, "an engine")?.0;
        // SAFETY: the caller's promise.
        let path = Path::new(OsStr::from_bytes(unsafe { string(path, "a path")? }.to_bytes()));
        // SAFETY: the caller's promise.
        *out = Some(boxed(unsafe { Module::deserialize_file(engine, path)? }));
        Ok(())
    })
}

/// Lowers and encodes a module in the text format, with the dialects of all designs, to a
/// binary.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_wat2wasm(
    text: Option<&Vector<u8>>,
    out: Out<'_, Vector<u8>>,
) -> Option<Box<ropewalk_error_t>> {
    outcome(|| {
        let out = required(out, "a vector")?.write(Vector::default());
        let text = required(text, "text")?.to_text().context("in the text of a module")?;
        *out = Vector::new(Text::parse(text)?.binary().to_vec());
        Ok(())
    })
}

/// A string of C's.
///
/// # Safety
///
/// It must be null or end with a zero.
pub(crate) unsafe fn string<'a>(text: *const c_char, name: &str) -> Result<&'a CStr> {
    required((!text.is_null()).then_some(()), name)?;
    // SAFETY: the caller's promise.
    Ok(unsafe { CStr::from_ptr(text) })
}

/// The same as text.
///
/// # Safety
///
/// As above.
pub(crate) unsafe fn text<'a>(text: *const c_char, name: &str) -> Result<&'a str> {
    // SAFETY: the caller's promise.
    let text = unsafe { string(text, name)? };
    text.to_str().with_context(|| format!("expected {name} in UTF-8"))
}

/// A name that an export or import has.
#[unsafe(no_mangle)]
pub extern "C" fn ropewalk_module_name(
    module: Option<&wasm_ref_t>,
    out: Out<'_, Vector<u8>>,
) -> bool {
    answer(|| {
        let name = required(module, "a module")?.module()?.name();
        fill(out, name.map(Vector::text).unwrap_or_default())?;
        Ok(name.is_some())
    })
}
