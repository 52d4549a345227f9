//! Tags.

use crate::objects::reference::{Object, wasm_ref_t};
use crate::objects::store::wasm_store_t;
use crate::support::boundary::{or_default, required};
use crate::types::externtype::wasm_externtype_t;
use ropewalk::Tag;

#[unsafe(no_mangle)]
pub extern "C" fn wasm_tag_new(
    store: Option<&wasm_store_t>,
    ty: Option<&wasm_externtype_t>,
) -> Option<Box<wasm_ref_t>> {
    or_default(|| {
        let store = &required(store, "a store")?.0;
        let ty = required(ty, "a tag type")?.tag()?;
        let tag = store.enter(|context| Tag::new(context, ty))?;
        wasm_ref_t::boxed(store, Object::Tag(tag))
    })
}
