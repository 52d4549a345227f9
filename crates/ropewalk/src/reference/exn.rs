//! References to exceptions.

use super::{Handle, Sealed};
use crate::misuse::WrongCount;
use crate::store::{AsContext, AsContextMut};
use crate::value::tag::Tag;
use crate::value::val::Val;
use anyhow::{Context, Result, bail, ensure};
use ropewalk_runtime::Store as RuntimeStore;
use ropewalk_runtime::heap::ObjectType;
use std::ptr::NonNull;

/// A reference to an exception.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let tag = Tag::with_params(&mut store, [ValType::I32])?;
/// let exception = ExnRef::new(&mut store, tag, &[Val::I32(5)])?;
/// assert_eq!(exception.tag(&store)?, tag);
/// assert_eq!(exception.values(&mut store)?[0].i32(), Some(5));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ExnRef(pub(crate) Handle);

impl ExnRef {
    /// A new exception with a tag and its values.
    pub fn new(mut store: impl AsContextMut, tag: Tag, values: &[Val]) -> Result<ExnRef> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let ty = tag.ty_in(runtime)?;
        ensure!(ty.ty.results().is_empty(), "the tag of an exception has no results: {ty}");
        let params = ty.ty.params();
        WrongCount::check(("value", "values"), params.len(), values.len())?;
        let raw = |runtime: &RuntimeStore| {
            let values = values.iter().zip(params).enumerate();
            let raw = values.map(|(i, (value, ty))| {
                value.to_raw(runtime, *ty).with_context(|| format!("in value {i}"))
            });
            raw.collect::<Result<Vec<_>>>()
        };
        raw(runtime)?;
        let tag = tag.in_store(runtime)?;
        let word =
            runtime.with_embedder(|runtime| runtime.new_exception(tag, |runtime| raw(runtime)))?;
        Ok(ExnRef(Handle::new(runtime, word)))
    }

    /// Its tag.
    pub fn tag(&self, store: impl AsContext) -> Result<Tag> {
        let runtime = store.as_context().runtime();
        let word = self.0.word(runtime, Self::KIND)?;
        // SAFETY: the handle belongs to the store.
        match unsafe { runtime.object_type(word) } {
            Some(ObjectType::Exception(tag)) => {
                let tag = NonNull::new(tag.cast_mut()).context("exceptions have tags")?;
                Ok(Tag::from_def(runtime, tag))
            }
            other => bail!("expected an exception, found {other:?}"),
        }
    }

    /// Its values.
    pub fn values(&self, mut store: impl AsContextMut) -> Result<Vec<Val>> {
        let tag = self.tag(&store)?;
        let runtime = &mut *store.as_context_mut().0.runtime;
        let word = self.0.word(runtime, Self::KIND)?;
        let ty = tag.ty_in(runtime)?.ty;
        let values = ty.params().iter().enumerate().map(|(i, ty)| {
            // SAFETY: the exception has this value, of that type.
            unsafe {
                let value = runtime.read_slot(word, i as u32);
                Val::from_raw(runtime, &value, *ty)
            }
        });
        Ok(values.collect())
    }
}
