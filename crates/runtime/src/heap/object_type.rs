//! What an object is, and which types its parts have.

use crate::code::types::RegisteredType;
use ropewalk_abi::{CompositeType, FieldType, StorageType, TagDef};
use std::sync::Arc;

/// The type of a field, an element, or a value of an exception.
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

/// What an object is.
#[derive(Debug)]
pub enum ObjectType {
    /// A struct of a type.
    Struct(Arc<RegisteredType>),
    /// An array of a type, with this many elements.
    Array(Arc<RegisteredType>, u32),
    /// A host value.
    Extern,
    /// An exception with a tag.
    Exception(*const TagDef),
}
