//! Tags.

use crate::boundary::{answer, required};
use crate::external::extern_type;
use crate::externtype::wasm_externtype_t;
use crate::reference::{Object, wasm_ref_t};
use crate::store::wasm_store_t;
use ropewalk::Tag;

#[unsafe(no_mangle)]
pub extern "C" fn wasm_tag_new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
) -> Option<Box<wasm_ref_t>> {
    answer(|| {
        let store = &required(store, "a store")?.0;
        let ty = required(ty, "a tag type")?.tag()?;
        let tag = store.enter(|context| Tag::new(context, ty))?;
        wasm_ref_t::boxed(store, Object::Tag(tag))
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn wasm_tag_type(tag: Option<&wasm_ref_t>) -> Option<Box<wasm_externtype_t>> {
    answer(|| {
        let tag = required(tag, "a tag")?;
        tag.tag()?;
        extern_type(tag)
    })
}
