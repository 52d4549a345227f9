//! Types of imports and exports.

use crate::support::boundary::{or_default, required};
use crate::support::owned::copied;
use crate::support::vector::Vector;
use crate::types::externtype::wasm_externtype_t;
use ropewalk::{Engine, ExportType, ImportType};

/// An import: the names of a module and an item, and the type of the item.
#[derive(Clone)]
pub struct wasm_importtype_t {
    module: Vector<u8>,
    name: Vector<u8>,
    ty: Box<wasm_externtype_t>,
}

/// An export: a name, and the type of the item.
#[derive(Clone)]
pub struct wasm_exporttype_t {
    name: Vector<u8>,
    ty: Box<wasm_externtype_t>,
}

fn bytes(name: &str) -> Vector<u8> {
    Vector::new(name.as_bytes().to_vec())
}

impl wasm_importtype_t {
    pub(crate) fn of(engine: &Engine, import: &ImportType<'_>) -> wasm_importtype_t {
        wasm_importtype_t {
            module: bytes(import.module()),
            name: bytes(import.name()),
            ty: Box::new(wasm_externtype_t::of(engine, import.ty())),
        }
    }
}

impl wasm_exporttype_t {
    pub(crate) fn of(engine: &Engine, export: &ExportType<'_>) -> wasm_exporttype_t {
        let ty = Box::new(wasm_externtype_t::of(engine, export.ty()));
        wasm_exporttype_t { name: bytes(export.name()), ty }
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_importtype_new(
    module: Option<&mut Vector<u8>>,
    name: Option<&mut Vector<u8>>,
    ty: Option<Box<wasm_externtype_t>>,
) -> Option<Box<wasm_importtype_t>> {
    or_default(|| {
        // Both are taken from C even if one of them is invalid.
        let (module, name) = (module.map(Vector::take), name.map(Vector::take));
        let module = required(module, "the name of a module")??;
        let name = required(name, "a name")??;
        let ty = required(ty, "a type")?;
        Ok(Some(Box::new(wasm_importtype_t { module, name, ty })))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_importtype_module(ty: Option<&wasm_importtype_t>) -> Option<&Vector<u8>> {
    Some(&ty?.module)
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_importtype_name(ty: Option<&wasm_importtype_t>) -> Option<&Vector<u8>> {
    Some(&ty?.name)
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_importtype_type(
    ty: Option<&wasm_importtype_t>,
) -> Option<&wasm_externtype_t> {
    Some(&ty?.ty)
}

copied! {
    "wasm_importtype": wasm_importtype_t;
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_exporttype_new(
    name: Option<&mut Vector<u8>>,
    ty: Option<Box<wasm_externtype_t>>,
) -> Option<Box<wasm_exporttype_t>> {
    or_default(|| {
        let name = required(name, "a name")?.take()?;
        let ty = required(ty, "a type")?;
        Ok(Some(Box::new(wasm_exporttype_t { name, ty })))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_exporttype_name(ty: Option<&wasm_exporttype_t>) -> Option<&Vector<u8>> {
    Some(&ty?.name)
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_exporttype_type(
    ty: Option<&wasm_exporttype_t>,
) -> Option<&wasm_externtype_t> {
    Some(&ty?.ty)
}

copied! {
    "wasm_exporttype": wasm_exporttype_t;
}
