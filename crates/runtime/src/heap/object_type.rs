//! The kinds of objects, and the types of their fields.

use crate::code::types::RegisteredType;
use ropewalk_abi::{CompositeType, FieldType, StorageType, TagDef};
use std::sync::Arc;

/// The type of a field, of an element, or of a value in an exception.
pub fn slot_type(ty: &RegisteredType, index: u32) -> FieldType {
    match &ty.ty().composite {
        CompositeType::Struct(ty) => ty.fields[index as usize],
        CompositeType::Array(ty) => ty.element,
        CompositeType::Cont(_) => unreachable!("continuations have no parts"),
        CompositeType::Func(ty) => {
            FieldType { storage: StorageType::Val(ty.params()[index as usize]), mutable: false }
        }
    }
}

/// The kind of an object.
#[derive(Debug)]
pub enum ObjectType {
    /// A structure.
    Struct(Arc<RegisteredType>),
    /// An array with this length.
    Array(Arc<RegisteredType>, u32),
    /// A host value.
    Extern,
    /// An exception with this tag.
    Exception(*const TagDef),
}
