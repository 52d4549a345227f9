//! Access to the objects of the heap.

use crate::os::mapping::PAGE;
use ropewalk_abi::heap::{
    ARRAY_ELEMENTS, ARRAY_LENGTH, EXCEPTION_TAG, EXTERN_NUMBER, HEADER_SIZE, array_size,
};
use ropewalk_abi::{RawVal, StorageType, TagDef, TypeInfo, TypeKind, ValType};

/// The address of an object, valid until the next collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Object(usize);

impl Object {
    /// The object that a reference refers to, unless it is null or an `i31`.
    ///
    /// # Safety
    ///
    /// The reference must be one of the store, and no collection have happened since it was read.
    pub unsafe fn from_reference(reference: u64) -> Option<Object> {
        ropewalk_abi::heap::is_object(reference).then_some(Object(reference as usize))
    }

    /// Makes an object that is zero except for its header. Memory from `clean` on is not written.
    ///
    /// # Safety
    ///
    /// The memory must be unused, of this size, writable, and zero from `clean` on.
    pub unsafe fn create(place: usize, ty: *const TypeInfo, size: usize, clean: usize) -> Object {
        // SAFETY: the caller's promise. Every object has a header.
        unsafe {
            std::ptr::write_bytes(place as *mut u8, 0, size.min(clean.saturating_sub(place)));
            *(place as *mut *const TypeInfo) = ty;
        }
        Object(place)
    }

    pub fn reference(self) -> u64 {
        self.0 as u64
    }

    pub fn ty(self) -> &'static TypeInfo {
        // SAFETY: types live as long as the engine, which outlives all objects.
        unsafe { &**(self.0 as *const *const TypeInfo) }
    }

    /// A pointer to the field at an offset.
    pub fn at<T>(self, offset: u32) -> *mut T {
        (self.0 + offset as usize) as *mut T
    }

    pub fn len(self) -> u32 {
        debug_assert_eq!(self.ty().kind, TypeKind::Array);
        // SAFETY: arrays have their length there.
        unsafe { *self.at::<u32>(ARRAY_LENGTH) }
    }

    pub fn set_len(self, len: u32) {
        // SAFETY: arrays have their length there.
        unsafe { *self.at::<u32>(ARRAY_LENGTH) = len }
    }

    pub fn element(self, index: u32) -> *mut u8 {
        let offset = u64::from(self.ty().size) * u64::from(index);
        (self.0 + ARRAY_ELEMENTS as usize + offset as usize) as *mut u8
    }

    pub fn tag(self) -> *const TagDef {
        // SAFETY: exceptions have their tag there.
        unsafe { *self.at::<*const TagDef>(EXCEPTION_TAG) }
    }

    pub fn set_tag(self, tag: *const TagDef) {
        // SAFETY: exceptions have their tag there.
        unsafe { *self.at::<*const TagDef>(EXCEPTION_TAG) = tag }
    }

    pub fn extern_number(self) -> u64 {
        debug_assert_eq!(self.ty().kind, TypeKind::Extern);
        // SAFETY: host values have their number there.
        unsafe { *self.at::<u64>(EXTERN_NUMBER) }
    }

    pub fn set_extern_number(self, number: u64) {
        // SAFETY: host values have their number there.
        unsafe { *self.at::<u64>(EXTERN_NUMBER) = number }
    }

    pub fn size(self) -> usize {
        let ty = self.ty();
        match ty.kind {
            TypeKind::Array => array_size(ty.size, self.len()) as usize,
            TypeKind::Struct | TypeKind::Func | TypeKind::Extern => ty.size as usize,
            TypeKind::Cont => unreachable!("continuations do not lie in the heap"),
        }
    }

    /// Calls a function with each reference in the object that the collector follows.
    pub fn visit_references(self, mut visit: impl FnMut(&mut u64)) {
        let ty = self.ty();
        // SAFETY: the type says where the references are, and nothing else accesses the object now.
        unsafe {
            if ty.elements_are_collected {
                let elements = self.element(0).cast::<u64>();
                for i in 0..self.len() as usize {
                    visit(&mut *elements.add(i));
                }
            }
            for i in 0..ty.reference_count as usize {
                visit(&mut *self.at::<u64>(*ty.references.add(i)));
            }
        }
    }

    /// Copies all fields of another structure.
    ///
    /// # Safety
    ///
    /// Both must have the same type, and nothing else access them now.
    pub unsafe fn copy_fields(self, from: Object) {
        let (header, size) = (HEADER_SIZE as usize, self.size());
        let [to, from] = [self.0, from.0].map(|place| place + header);
        // SAFETY: the caller's promise. The type says how large a structure is.
        unsafe {
            std::ptr::copy_nonoverlapping(from as *const u8, to as *mut u8, size - header);
        }
    }

    /// The copy of this object, if it was already copied.
    pub fn forwarded(self) -> Option<Object> {
        // SAFETY: every object has a header.
        let header = unsafe { *(self.0 as *const usize) };
        (header & 1 == 1).then_some(Object(header & !1))
    }

    /// Copies the object, and leaves the new address in the old header. Zero pages of a large
    /// object are not written beyond `clean`.
    ///
    /// # Safety
    ///
    /// The place must be unused, writable, large enough, and zero from `clean` on.
    pub unsafe fn copy_to(self, place: usize, size: usize, clean: usize) -> Object {
        debug_assert!(size >= HEADER_SIZE as usize);
        // SAFETY: the caller's promise. The spaces are different mappings.
        unsafe {
            match size < LARGE || place < clean {
                true => std::ptr::copy_nonoverlapping(self.0 as *const u8, place as *mut u8, size),
                false => copy_to_zero(self.0, place, size),
            }
            *(self.0 as *mut usize) = place | 1;
        }
        Object(place)
    }
}

/// The size from which on skipping zero pages pays off.
const LARGE: usize = 64 << 10;

/// Copies the pages that are not zero.
///
/// # Safety
///
/// The ranges must be valid for a copy of this size, and the destination be zero.
unsafe fn copy_to_zero(from: usize, to: usize, size: usize) {
    for start in (0..size).step_by(PAGE) {
        let len = PAGE.min(size - start);
        // SAFETY: the part is within the source, which nothing writes now.
        let part = unsafe { std::slice::from_raw_parts((from + start) as *const u8, len) };
        if part.iter().any(|byte| *byte != 0) {
            // SAFETY: the caller's promise.
            unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), (to + start) as *mut u8, len) };
        }
    }
}

/// Reads a stored value. Packed integers are zero-extended.
///
/// # Safety
///
/// A value with this storage type must be there.
pub(crate) unsafe fn read_storage(place: *const u8, storage: StorageType) -> RawVal {
    // SAFETY: the caller's promise. Vectors may be unaligned.
    unsafe {
        match storage {
            StorageType::I8 => RawVal::from_u32(u32::from(*place)),
            StorageType::I16 => RawVal::from_u32(u32::from(*place.cast::<u16>())),
            StorageType::Val(ValType::I32 | ValType::F32) => RawVal::from_u32(*place.cast()),
            StorageType::Val(ValType::I64 | ValType::F64 | ValType::Ref(_)) => {
                RawVal::from_u64(*place.cast())
            }
            StorageType::Val(ValType::V128) => {
                RawVal::from_u128(place.cast::<u128>().read_unaligned())
            }
        }
    }
}

/// Stores a value. Packed integers are wrapped.
///
/// # Safety
///
/// There must be room for a value with this storage type.
pub(crate) unsafe fn write_storage(place: *mut u8, storage: StorageType, value: &RawVal) {
    // SAFETY: the caller's promise. Vectors may be unaligned.
    unsafe {
        match storage {
            StorageType::I8 => *place = value.u32() as u8,
            StorageType::I16 => *place.cast::<u16>() = value.u32() as u16,
            StorageType::Val(ValType::I32 | ValType::F32) => *place.cast::<u32>() = value.u32(),
            StorageType::Val(ValType::I64 | ValType::F64 | ValType::Ref(_)) => {
                *place.cast::<u64>() = value.u64();
            }
            StorageType::Val(ValType::V128) => {
                place.cast::<u128>().write_unaligned(value.u128());
            }
        }
    }
}
