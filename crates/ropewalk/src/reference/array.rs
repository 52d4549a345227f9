//! References to arrays.

use super::structure::{check_fields, known_type};
use super::{Handle, Sealed};
use crate::store::{AsContext, AsContextMut};
use crate::val::Val;
use anyhow::{Result, anyhow, bail, ensure};
use ropewalk_abi::TypeKind;
use ropewalk_runtime::heap::{ObjectType, slot_type};
use ropewalk_runtime::{RegisteredType, Store as RuntimeStore, Trap};
use std::sync::Arc;

/// A reference to an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ArrayRef(pub(crate) Handle);

impl ArrayRef {
    /// A new array of the type with a number, with these elements.
    pub fn new(mut store: impl AsContextMut, ty: u32, elements: &[Val]) -> Result<ArrayRef> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let ty = known_type(runtime, ty)?;
        ensure!(ty.ty().composite.kind() == TypeKind::Array, "expected an array type");
        check_fields(runtime, &ty, elements)?;
        let len = u32::try_from(elements.len());
        let len = len.map_err(|_| anyhow!("an array has fewer than 2^32 elements"))?;
        let word = runtime.new_object(&ty, len).map_err(Trap::from_code)?;
        for (i, element) in elements.iter().enumerate() {
            let value = element.to_raw(runtime, slot_type(&ty, 0).storage.unpacked())?;
            // SAFETY: the array has this element, and the value its type.
            unsafe { runtime.write_slot(word, i as u32, &value) };
        }
        Ok(ArrayRef(Handle::new(runtime, word)))
    }

    /// How many elements it has.
    pub fn len(&self, store: impl AsContext) -> Result<u32> {
        Ok(self.object(store.as_context().runtime())?.2)
    }

    /// Whether it has no elements.
    pub fn is_empty(&self, store: impl AsContext) -> Result<bool> {
        Ok(self.len(store)? == 0)
    }

    /// An element; a packed one is zero-extended.
    pub fn get(&self, mut store: impl AsContextMut, index: u32) -> Result<Val> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let (word, ty, len) = self.object(runtime)?;
        ensure!(index < len, "index {index} is beyond the array's {len} elements");
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
        ensure!(index < len, "index {index} is beyond the array's {len} elements");
        let element = slot_type(&ty, index);
        ensure!(element.mutable, "the elements are immutable");
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
