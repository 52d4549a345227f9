//! Functions of all external objects: their kinds and types.

use crate::objects::reference::{Object, wasm_ref_t};
use crate::support::boundary::{or_default, required};
use crate::types::externtype::wasm_externtype_t;
use anyhow::Result;

fn extern_type(object: &wasm_ref_t) -> Result<Option<Box<wasm_externtype_t>>> {
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
    or_default(|| extern_type(required(object, "an external object")?))
}

/// Functions that return the type of an external object of a kind.
macro_rules! types {
    ($($function:ident: $kind:ident, $name:literal;)*) => {$(
        #[unsafe(no_mangle)]
        pub extern "C" fn $function(
            object: Option<&wasm_ref_t>,
        ) -> Option<Box<wasm_externtype_t>> {
            or_default(|| {
                let object = required(object, $name)?;
                object.$kind()?;
                extern_type(object)
            })
        }
    )*};
}

types! {
    wasm_func_type: func, "a function";
    wasm_global_type: global, "a global";
    wasm_table_type: table, "a table";
    wasm_memory_type: memory, "a memory";
    wasm_tag_type: tag, "a tag";
}
