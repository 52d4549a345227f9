//! What can be imported and exported.

use crate::boundary::{answer, required};
use crate::externtype::wasm_externtype_t;
use crate::reference::{Object, wasm_ref_t};
use anyhow::{Result, bail};
use ropewalk::Extern;

impl wasm_ref_t {
    pub(crate) fn external(&self) -> Result<Extern> {
        match self.object.external() {
            Some(external) => Ok(external),
            None => bail!("expected an external object, found {}", self.object.name()),
        }
    }
}

/// The type of an external object.
pub(crate) fn extern_type(object: &wasm_ref_t) -> Result<Option<Box<wasm_externtype_t>>> {
    let external = object.external()?;
    object.store()?.enter(|context| {
        let ty = external.ty(&context)?;
        Ok(Some(Box::new(wasm_externtype_t::of(context.engine(), &ty))))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_extern_kind(object: Option<&wasm_ref_t>) -> u8 {
    match object.map(|object| &object.object) {
        Some(Object::Global(_)) => 1,
        Some(Object::Table(_)) => 2,
        Some(Object::Memory(_)) => 3,
        Some(Object::Tag(_)) => 4,
        _ => 0,
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_extern_type(object: Option<&wasm_ref_t>) -> Option<Box<wasm_externtype_t>> {
    answer(|| extern_type(required(object, "an external object")?))
}
