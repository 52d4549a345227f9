//! The layout of objects in the heap.
//!
//! ```text
//!           0            8          16
//! struct    | *TypeInfo  | fields, each aligned to its size, but at most to 8, in order ...
//! array     | *TypeInfo  | length   | elements ...
//! exception | *TypeInfo  | *TagDef  | values, laid out as fields ...
//! host      | *TypeInfo  | number of the value in the store
//! ```
//!
//! The type of an exception is the function type of its tag. Sizes are multiples of eight. A
//! reference is the address of an object, an `i31` with the lowest bit set, a stack with the second
//! lowest bit set (see [`stack`](crate::stack)), or zero for null.

use crate::types::{CompositeType, FuncType, StorageType, TypeKind};

/// The size of the header of objects.
pub const HEADER_SIZE: u32 = 8;
/// The offset of the length of an array, which has 32 bits.
pub const ARRAY_LENGTH: u32 = 8;
/// The offset of the elements of an array.
pub const ARRAY_ELEMENTS: u32 = 16;
/// The offset of the tag of an exception.
pub const EXCEPTION_TAG: u32 = 8;
/// The offset of the values of an exception.
pub const EXCEPTION_VALUES: u32 = 16;
/// The offset of the number of a host value.
pub const EXTERN_NUMBER: u32 = 8;
/// The size of a host value.
pub const EXTERN_SIZE: u32 = 16;

/// The lowest bit of an `i31`.
pub const I31_TAG: u32 = 1;
/// The shift of the integer in an `i31`. It is in the low half of the word, and the high half is
/// zero.
pub const I31_SHIFT: u32 = 1;

/// The word for an `i31`.
pub fn i31(value: u32) -> u64 {
    u64::from(value << I31_SHIFT | I31_TAG)
}

/// Whether a word is the address of an object.
pub fn is_object(reference: u64) -> bool {
    reference != 0 && reference & 3 == 0
}

/// The places of the fields of a struct, or of the values of an exception.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ObjectLayout {
    /// The offset of each.
    pub offsets: Vec<u32>,
    /// The size of the object.
    pub size: u32,
    /// The offsets of the references that the collector follows.
    pub references: Vec<u32>,
}

impl ObjectLayout {
    /// The layout of fields that start at an offset.
    pub fn new(
        start: u32,
        fields: impl IntoIterator<Item = StorageType>,
        kind_of: impl Fn(u32) -> TypeKind,
    ) -> ObjectLayout {
        let mut layout = ObjectLayout { size: start, ..ObjectLayout::default() };
        for field in fields {
            let offset = layout.size.next_multiple_of(field.size().min(8));
            layout.offsets.push(offset);
            layout.size = offset + field.size();
            if field.unpacked().is_collected(&kind_of) {
                layout.references.push(offset);
            }
        }
        layout.size = layout.size.next_multiple_of(8);
        layout
    }

    /// The layout of the exceptions of a tag.
    pub fn exception(ty: &FuncType, kind_of: impl Fn(u32) -> TypeKind) -> ObjectLayout {
        let values = ty.params().iter().map(|ty| StorageType::Val(*ty));
        ObjectLayout::new(EXCEPTION_VALUES, values, kind_of)
    }

    /// The layout of the objects of a type. For an array, only the size has meaning: it is the size
    /// of an element.
    pub fn of(ty: &CompositeType, kind_of: impl Fn(u32) -> TypeKind) -> ObjectLayout {
        match ty {
            CompositeType::Func(ty) => ObjectLayout::exception(ty, kind_of),
            CompositeType::Struct(ty) => {
                let fields = ty.fields.iter().map(|field| field.storage);
                ObjectLayout::new(HEADER_SIZE, fields, kind_of)
            }
            CompositeType::Array(ty) => {
                ObjectLayout { size: ty.element.storage.size(), ..ObjectLayout::default() }
            }
            CompositeType::Cont(_) => ObjectLayout::default(),
        }
    }
}

/// The size of an array with this many elements of a size.
pub fn array_size(element: u32, len: u32) -> u64 {
    (u64::from(ARRAY_ELEMENTS) + u64::from(element) * u64::from(len)).next_multiple_of(8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::ValType;

    #[test]
    fn a_subtype_has_the_fields_of_its_supertype_in_the_same_places() {
        let fields = [
            StorageType::I8,
            StorageType::Val(ValType::I32),
            StorageType::I16,
            StorageType::Val(ValType::EXTERNREF),
            StorageType::Val(ValType::V128),
            StorageType::Val(ValType::FUNCREF),
        ];
        let kind = |_| TypeKind::Struct;
        let whole = ObjectLayout::new(HEADER_SIZE, fields, kind);
        assert_eq!(whole.offsets, [8, 12, 16, 24, 32, 48]);
        assert_eq!((whole.size, &whole.references[..]), (56, &[24][..]));
        for count in 0..fields.len() {
            let part = ObjectLayout::new(HEADER_SIZE, fields[..count].iter().copied(), kind);
            assert_eq!(part.offsets, whole.offsets[..count]);
        }
    }

    #[test]
    fn the_size_of_an_array_does_not_overflow() {
        assert_eq!(array_size(1, 3), 24);
        assert_eq!(array_size(16, u32::MAX), 16 + 16 * u64::from(u32::MAX));
    }
}
