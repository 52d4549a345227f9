//! References to internal values (`anyref`).

use super::{ArrayRef, ExternRef, Handle, Sealed, StructRef};
use crate::store::{AsContext, AsContextMut};
use anyhow::Result;
use ropewalk_abi::heap::i31;
use ropewalk_runtime::heap::ObjectType;

/// A reference to a struct, an array, an `i31`, or a host value that was made internal.
///
/// ```
/// use ropewalk::*;
///
/// let mut store = Store::new(&Engine::default(), ());
/// let number = AnyRef::i31(&mut store, 7);
/// assert_eq!(number.as_i31(&store)?, Some(7));
/// assert!(number.as_struct(&store)?.is_none());
/// let value = ExternRef::new(&mut store, "of the host")?.to_any();
/// assert!(value.as_extern(&store)?.is_some());
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct AnyRef(pub(crate) Handle);

impl AnyRef {
    /// An `i31`. The highest bit of the value is lost.
    pub fn i31(mut store: impl AsContextMut, value: u32) -> AnyRef {
        AnyRef(Handle::new(&mut store.as_context_mut().0.runtime, i31(value)))
    }

    /// The value, zero-extended, if it is an `i31`.
    pub fn as_i31(&self, store: impl AsContext) -> Result<Option<u32>> {
        let word = self.0.word(store.as_context().runtime(), Self::KIND)?;
        Ok((word & 1 == 1).then_some(word as u32 >> 1))
    }

    /// The struct, if it is one.
    pub fn as_struct(&self, store: impl AsContext) -> Result<Option<StructRef>> {
        let object = self.object(store)?;
        Ok(matches!(object, Some(ObjectType::Struct(_))).then_some(StructRef(self.0)))
    }

    /// The array, if it is one.
    pub fn as_array(&self, store: impl AsContext) -> Result<Option<ArrayRef>> {
        let object = self.object(store)?;
        Ok(matches!(object, Some(ObjectType::Array(..))).then_some(ArrayRef(self.0)))
    }

    /// The host value, if it is one.
    pub fn as_extern(&self, store: impl AsContext) -> Result<Option<ExternRef>> {
        let object = self.object(store)?;
        Ok(matches!(object, Some(ObjectType::Extern)).then_some(ExternRef(self.0)))
    }

    /// This reference, converted as by `extern.convert_any`.
    pub fn to_extern(self) -> ExternRef {
        ExternRef(self.0)
    }

    /// Whether both refer to the same object.
    pub fn same(&self, other: &AnyRef, store: impl AsContext) -> Result<bool> {
        let store = store.as_context();
        Ok(self.0.word(store.runtime(), Self::KIND)?
            == other.0.word(store.runtime(), Self::KIND)?)
    }

    fn object(&self, store: impl AsContext) -> Result<Option<ObjectType>> {
        let runtime = store.as_context().runtime();
        let word = self.0.word(runtime, Self::KIND)?;
        // SAFETY: the handle belongs to the store.
        Ok(unsafe { runtime.object_type(word) })
    }
}

impl From<StructRef> for AnyRef {
    fn from(reference: StructRef) -> AnyRef {
        AnyRef(reference.0)
    }
}

impl From<ArrayRef> for AnyRef {
    fn from(reference: ArrayRef) -> AnyRef {
        AnyRef(reference.0)
    }
}
