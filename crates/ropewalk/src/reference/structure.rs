//! References to structs.

use super::{Handle, Sealed};
use crate::misuse::{Bounded, Immutable, OutOfBounds, WrongCount};
use crate::reference::object_type::StructType;
use crate::store::{AsContext, AsContextMut};
use crate::value::val::Val;
use anyhow::{Context, Result, bail};
use ropewalk_runtime::heap::{ObjectType, slot_type};
use ropewalk_runtime::{RegisteredType, Store as RuntimeStore};
use std::sync::Arc;

/// A reference to a struct.
///
/// ```
/// use ropewalk::*;
///
/// let engine = Engine::default();
/// let mut store = Store::new(&engine, ());
/// let point = StructType::new(&engine, [FieldType::new(ValType::I32, true); 2])?;
/// let p = StructRef::new(&mut store, &point, &[Val::I32(3), Val::I32(4)])?;
/// p.set_field(&mut store, 0, Val::I32(5))?;
/// assert_eq!(p.field(&mut store, 0)?.i32(), Some(5));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructRef(pub(crate) Handle);

impl StructRef {
    /// A new struct with these fields.
    pub fn new(mut store: impl AsContextMut, ty: &StructType, fields: &[Val]) -> Result<StructRef> {
        let store = store.as_context_mut();
        let types = ty.fields();
        let ty = ty.in_store(&store)?;
        let runtime = &mut *store.0.runtime;
        WrongCount::check(("field", "fields"), types.len(), fields.len())?;
        check_fields(runtime, ty, fields)?;
        let word = runtime
            .with_embedder(|runtime| runtime.new_object(ty, 0))
            .map_err(|code| runtime.trap(code))?;
        for (i, (field, ty)) in fields.iter().zip(types).enumerate() {
            let value = field.to_raw(runtime, ty.storage.unpacked())?;
            // SAFETY: the struct has this field, and the value its type.
            unsafe { runtime.write_slot(word, i as u32, &value) };
        }
        Ok(StructRef(Handle::new(runtime, word)))
    }

    /// How many fields it has.
    pub fn len(&self, store: impl AsContext) -> Result<usize> {
        let (_, ty) = self.object(store.as_context().runtime())?;
        Ok(ty.layout().offsets.len())
    }

    /// Its type.
    pub fn ty(&self, store: impl AsContext) -> Result<StructType> {
        let store = store.as_context();
        let (_, ty) = self.object(store.runtime())?;
        Ok(StructType::of_object(store.engine(), ty))
    }

    /// A field. A packed field is zero-extended.
    pub fn field(&self, mut store: impl AsContextMut, index: usize) -> Result<Val> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let (word, ty) = self.object(runtime)?;
        let count = ty.layout().offsets.len();
        OutOfBounds::check(Bounded::Struct, index as u64, count as u64)?;
        let storage = slot_type(&ty, index as u32).storage;
        // SAFETY: the struct has this field, of that type.
        unsafe {
            let value = runtime.read_slot(word, index as u32);
            Ok(Val::from_raw(runtime, &value, storage.unpacked()))
        }
    }

    /// Sets a field.
    pub fn set_field(&self, mut store: impl AsContextMut, index: usize, value: Val) -> Result<()> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let (word, ty) = self.object(runtime)?;
        let count = ty.layout().offsets.len();
        OutOfBounds::check(Bounded::Struct, index as u64, count as u64)?;
        let field = slot_type(&ty, index as u32);
        if !field.mutable {
            return Err(Immutable("field")).with_context(|| format!("in field {index}"));
        }
        let value = value.to_raw(runtime, field.storage.unpacked())?;
        // SAFETY: the struct has this field, and the value its type.
        unsafe { runtime.write_slot(word, index as u32, &value) };
        Ok(())
    }

    fn object(&self, runtime: &RuntimeStore) -> Result<(u64, Arc<RegisteredType>)> {
        let word = self.0.word(runtime, Self::KIND)?;
        // SAFETY: the handle belongs to the store.
        match unsafe { runtime.object_type(word) } {
            Some(ObjectType::Struct(ty)) => Ok((word, ty)),
            other => bail!("expected a struct, found {other:?}"),
        }
    }
}

/// Checks the types of values before anything is allocated.
pub(super) fn check_fields(
    runtime: &RuntimeStore,
    ty: &RegisteredType,
    values: &[Val],
) -> Result<()> {
    for (i, value) in values.iter().enumerate() {
        let ty = slot_type(ty, i as u32).storage.unpacked();
        value.to_raw(runtime, ty).with_context(|| format!("in field {i}"))?;
    }
    Ok(())
}
