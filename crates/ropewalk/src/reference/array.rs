//! References to arrays.

use super::structure::check_fields;
use super::{Handle, Sealed};
use crate::misuse::{Bounded, Immutable, OutOfBounds};
use crate::reference::object_type::ArrayType;
use crate::store::{AsContext, AsContextMut};
use crate::value::val::Val;
use anyhow::{Result, anyhow, bail};
use ropewalk_runtime::heap::{ObjectType, slot_type};
use ropewalk_runtime::{RegisteredType, Store as RuntimeStore};
use std::sync::Arc;

/// A reference to an array.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let mut store = Store::new(&engine, ());
/// let numbers = ArrayType::new(&engine, FieldType::new(ValType::I64, true))?;
/// let array = ArrayRef::new(&mut store, &numbers, &[Val::I64(1), Val::I64(2)])?;
/// array.set(&mut store, 1, Val::I64(20))?;
/// assert_eq!((array.len(&store)?, array.get(&mut store, 1)?.i64()), (2, Some(20)));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrayRef(pub(crate) Handle);

impl ArrayRef {
    /// A new array with these elements.
    pub fn new(mut store: impl AsContextMut, ty: &ArrayType, elements: &[Val]) -> Result<ArrayRef> {
        let store = store.as_context_mut();
        let ty = ty.in_store(&store)?;
        let runtime = &mut *store.0.runtime;
        check_fields(runtime, ty, elements)?;
        let len = u32::try_from(elements.len());
        let len = len.map_err(|_| anyhow!("an array has fewer than 2^32 elements"))?;
        let word = runtime
            .with_embedder(|runtime| runtime.new_object(ty, len))
            .map_err(|code| runtime.trap(code))?;
        for (i, element) in elements.iter().enumerate() {
            let value = element.to_raw(runtime, slot_type(ty, 0).storage.unpacked())?;
            // SAFETY: the array has this element, and the value its type.
            unsafe { runtime.write_slot(word, i as u32, &value) };
        }
        Ok(ArrayRef(Handle::new(runtime, word)))
    }

    /// Its type.
    pub fn ty(&self, store: impl AsContext) -> Result<ArrayType> {
        let store = store.as_context();
        let (_, ty, _) = self.object(store.runtime())?;
        Ok(ArrayType::of_object(store.engine(), ty))
    }

    /// How many elements it has.
    pub fn len(&self, store: impl AsContext) -> Result<u32> {
        Ok(self.object(store.as_context().runtime())?.2)
    }

    /// Whether it has no elements.
    pub fn is_empty(&self, store: impl AsContext) -> Result<bool> {
        Ok(self.len(store)? == 0)
    }

    /// An element. A packed element is zero-extended.
    pub fn get(&self, mut store: impl AsContextMut, index: u32) -> Result<Val> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let (word, ty, len) = self.object(runtime)?;
        OutOfBounds::check(Bounded::Array, index.into(), len.into())?;
        // SAFETY: the array has this element, of that type.
        unsafe {
            let value = runtime.read_slot(word, index);
            Ok(Val::from_raw(runtime, &value, slot_type(&ty, index).storage.unpacked()))
        }
    }

    /// Sets an element.
    pub fn set(&self, mut store: impl AsContextMut, index: u32, value: Val) -> Result<()> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let (word, ty, len) = self.object(runtime)?;
        OutOfBounds::check(Bounded::Array, index.into(), len.into())?;
        let element = slot_type(&ty, index);
        if !element.mutable {
            return Err(Immutable("element").into());
        }
        let value = value.to_raw(runtime, element.storage.unpacked())?;
        // SAFETY: the array has this element, and the value its type.
        unsafe { runtime.write_slot(word, index, &value) };
        Ok(())
    }

    fn object(&self, runtime: &RuntimeStore) -> Result<(u64, Arc<RegisteredType>, u32)> {
        let word = self.0.word(runtime, Self::KIND)?;
        // SAFETY: the handle belongs to the store.
        match unsafe { runtime.object_type(word) } {
            Some(ObjectType::Array(ty, len)) => Ok((word, ty, len)),
            other => bail!("expected an array, found {other:?}"),
        }
    }
}
