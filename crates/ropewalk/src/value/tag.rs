//! Tags of exceptions and suspensions.

use crate::misuse::WrongType;
use crate::store::{self, AsContext, AsContextMut};
use crate::value::wasm_values::{WasmParams, WasmResults, fit};
use anyhow::Result;
use ropewalk_abi::clauses::List;
use ropewalk_abi::stack::{ClauseKind, handler_word};
use ropewalk_abi::{FuncType, TagDef, TagType};
use ropewalk_runtime::{Store as RuntimeStore, StoreId};
use std::marker::PhantomData;
use std::ptr::NonNull;

/// A tag of a store. Two tags are equal if one definition made them.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let failure = Tag::with_params(&mut store, [ValType::I32])?;
/// let exception = Exception::new(&mut store, failure, &[Val::I32(7)])?;
/// assert_eq!(exception.tag(&mut store)?, failure);
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Tag {
    store: StoreId,
    def: NonNull<TagDef>,
}

// SAFETY: the pointer is used only with the store, and is valid as long as the store.
unsafe impl Send for Tag {}
// SAFETY: as above.
unsafe impl Sync for Tag {}

impl Tag {
    /// A new tag. If its type has no results, it can be the tag of exceptions. A suspension with
    /// the tag is resumed with values of its result types.
    pub fn new(mut store: impl AsContextMut, ty: TagType) -> Result<Tag> {
        let runtime = &mut store.as_context_mut().0.runtime;
        crate::engine::check_func_type(runtime.types(), &ty.ty)?;
        let number = runtime.types().register_func(&ty.ty);
        let info = runtime.types().get(number).info();
        let def = runtime.objects.add_tag(info);
        Ok(Tag::from_def(runtime, def))
    }

    /// A new tag for exceptions, or suspensions, with values of these types.
    pub fn with_params(
        store: impl AsContextMut,
        params: impl IntoIterator<Item = crate::ValType>,
    ) -> Result<Tag> {
        Tag::new(store, TagType { ty: FuncType::new(params, []) })
    }

    pub(crate) fn from_def(runtime: &RuntimeStore, def: NonNull<TagDef>) -> Tag {
        Tag { store: runtime.id(), def }
    }

    #[inline]
    pub(crate) fn in_store(&self, runtime: &RuntimeStore) -> Result<NonNull<TagDef>> {
        store::check(runtime, self.store, "tag")?;
        Ok(self.def)
    }

    pub(crate) fn ty_in(&self, runtime: &RuntimeStore) -> Result<TagType> {
        Ok(TagType { ty: runtime.types().func_type(self.type_id(runtime)?) })
    }

    pub(crate) fn type_id(&self, runtime: &RuntimeStore) -> Result<u32> {
        let def = self.in_store(runtime)?;
        // SAFETY: the tag belongs to the store; types live as long as the engine.
        Ok(unsafe { (*def.as_ref().ty).id })
    }

    /// Its type.
    pub fn ty(&self, store: impl AsContext) -> Result<TagType> {
        self.ty_in(store.as_context().runtime())
    }

    /// This tag, for suspensions with Rust's types: a computation suspends with `Values`, and is
    /// resumed with an `Answer`.
    pub fn typed<Values: WasmResults, Answer: WasmParams>(
        &self,
        store: impl AsContext,
    ) -> Result<TypedTag<Values, Answer>> {
        let runtime = store.as_context().runtime();
        let found = self.ty_in(runtime)?.ty;
        // The results of a tag are the parameters of the resumption.
        let resumed = FuncType::new(found.results().to_vec(), found.params().to_vec());
        let checked = fit::<Answer, Values>(runtime.types(), "tag", &resumed).map_err(|_| {
            let expected = FuncType::new(Values::types(), Answer::types());
            WrongType::new("tag", expected, runtime.types().describe_func(&found))
        })?;
        let number = self.type_id(runtime)?;
        let clause = handler_word(self.def.addr().get(), ClauseKind::Suspend);
        let handlers = List::of_one(clause);
        Ok(TypedTag { tag: *self, number, checked, handlers, _types: PhantomData })
    }
}

/// A tag for suspensions with Rust's types, checked once: a computation suspends with
/// `Values` and is resumed with an `Answer`.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let ty = FuncType::new([ValType::I32], [ValType::I64]);
/// let tag = Tag::new(&mut store, TagType::new(ty))?;
/// let asks: TypedTag<i32, i64> = tag.typed(&store)?;
/// assert_eq!(asks.tag(), tag);
/// assert!(tag.typed::<i64, i64>(&store).unwrap_err().is::<WrongType>());
/// # Ok::<(), Error>(())
/// ```
///
/// [`TypedContinuation`](crate::TypedContinuation) has an example that uses it.
pub struct TypedTag<Values, Answer> {
    tag: Tag,
    number: u32,
    /// Whether the types of each answer must be checked.
    checked: bool,
    /// The clauses of a host that handles only this tag.
    handlers: List<[u64; 5]>,
    _types: PhantomData<fn(Answer) -> Values>,
}

impl<Values, Answer> Clone for TypedTag<Values, Answer> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<Values, Answer> Copy for TypedTag<Values, Answer> {}

opaque_debug!(impl<Values, Answer> TypedTag<Values, Answer> { tag });

impl<Values, Answer> TypedTag<Values, Answer> {
    /// The tag without Rust's types.
    pub fn tag(&self) -> Tag {
        self.tag
    }

    pub(crate) fn is_checked(&self) -> bool {
        self.checked
    }

    #[inline]
    pub(crate) fn type_number(&self) -> u32 {
        self.number
    }

    /// The clauses of a host that handles only this tag. Fails for another store.
    #[inline]
    pub(crate) fn handlers(&self, runtime: &RuntimeStore) -> Result<&List<[u64; 5]>> {
        self.tag.in_store(runtime)?;
        Ok(&self.handlers)
    }
}
