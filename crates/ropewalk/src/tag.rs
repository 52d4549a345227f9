//! Tags: the kinds of exceptions.

use crate::store::{self, AsContext, AsContextMut};
use anyhow::{Result, ensure};
use ropewalk_abi::{FuncType, TagDef, TagType};
use ropewalk_runtime::{Store as RuntimeStore, StoreId};
use std::ptr::NonNull;

/// A tag of a store. Tags are the same if they were made by the same act.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    store: StoreId,
    def: NonNull<TagDef>,
}

// SAFETY: the pointer is used only together with the store, and is valid as
// long as that lives.
unsafe impl Send for Tag {}
// SAFETY: as above.
unsafe impl Sync for Tag {}

impl Tag {
    /// A new tag for exceptions with values of these types.
    pub fn new(mut store: impl AsContextMut, ty: TagType) -> Result<Tag> {
        ensure!(ty.ty.results().is_empty(), "the tag of an exception has no results: {ty}");
        let runtime = &mut store.as_context_mut().0.runtime;
        crate::engine::check_func_type(runtime.types(), &ty.ty)?;
        let number = runtime.types().register_func(&ty.ty);
        let info = runtime.types().get(number).info();
        let def = runtime.add_tag(info);
        Ok(Tag::from_def(runtime, def))
    }

    /// A new tag for exceptions with values of these types.
    pub fn with_params(
        store: impl AsContextMut,
        params: impl IntoIterator<Item = crate::ValType>,
    ) -> Result<Tag> {
        Tag::new(store, TagType { ty: FuncType::new(params, []) })
    }

    pub(crate) fn from_def(runtime: &RuntimeStore, def: NonNull<TagDef>) -> Tag {
        Tag { store: runtime.id(), def }
    }

    pub(crate) fn in_store(&self, runtime: &RuntimeStore) -> Result<NonNull<TagDef>> {
        store::check(runtime, self.store, "tag")?;
        Ok(self.def)
    }

    pub(crate) fn ty_in(&self, runtime: &RuntimeStore) -> Result<TagType> {
        let def = self.in_store(runtime)?;
        // SAFETY: it belongs to the store; types live as long as the engine.
        let number = unsafe { (*def.as_ref().ty).id };
        Ok(TagType { ty: runtime.types().func_type(number) })
    }

    /// Its type.
    pub fn ty(&self, store: impl AsContext) -> Result<TagType> {
        self.ty_in(store.as_context().runtime())
    }
}
