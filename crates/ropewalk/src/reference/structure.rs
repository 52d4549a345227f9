//! References to structs.

use super::{Handle, Sealed};
use crate::store::{AsContext, AsContextMut};
use crate::val::Val;
use anyhow::{Context, Result, bail, ensure};
use ropewalk_abi::{CompositeType, StructType};
use ropewalk_runtime::heap::{ObjectType, slot_type};
use ropewalk_runtime::{RegisteredType, Store as RuntimeStore, Trap};
use std::sync::Arc;

/// A reference to a struct.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct StructRef(pub(crate) Handle);

impl StructRef {
    /// A new struct of the type with a number, as types of functions and
    /// globals tell it.
    pub fn new(mut store: impl AsContextMut, ty: u32, fields: &[Val]) -> Result<StructRef> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let ty = known_type(runtime, ty)?;
        let CompositeType::Struct(StructType { fields: types }) = &ty.ty().composite else {
            bail!("expected a struct type");
        };
        ensure!(
            fields.len() == types.len(),
            "expected {} fields, found {}",
            types.len(),
            fields.len()
        );
        check_fields(runtime, &ty, fields)?;
        let word = runtime.new_object(&ty, 0).map_err(Trap::from_code)?;
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

    /// The number of its type.
    pub fn type_number(&self, store: impl AsContext) -> Result<u32> {
        let (_, ty) = self.object(store.as_context().runtime())?;
        // SAFETY: types live as long as the engine.
        Ok(unsafe { (*ty.info()).id })
    }

    /// A field; a packed one is zero-extended.
    pub fn field(&self, mut store: impl AsContextMut, index: usize) -> Result<Val> {
        let runtime = &mut *store.as_context_mut().0.runtime;
        let (word, ty) = self.object(runtime)?;
        let count = ty.layout().offsets.len();
        ensure!(index < count, "field {index} is beyond the struct's {count} fields");
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
        ensure!(index < count, "field {index} is beyond the struct's {count} fields");
        let field = slot_type(&ty, index as u32);
        ensure!(field.mutable, "field {index} is immutable");
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

/// The type with a number that the engine has given.
pub(super) fn known_type(runtime: &RuntimeStore, number: u32) -> Result<Arc<RegisteredType>> {
    runtime.types().try_get(number).with_context(|| format!("there is no type {number}"))
}

/// Checks values before anything is allocated for them.
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
