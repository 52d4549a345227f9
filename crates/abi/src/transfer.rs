//! The transfer area: places for values that travel neither in registers nor on stacks.
//!
//! ```text
//!   StoreContext::transfer
//!    |
//!    | place 0 | place 1 | ...      | place 999 | tag 0, tag 1, ... |
//!      16 bytes each                              one byte each
//! ```
//!
//! After the places there is a tag for each: the class of the value that was last written there.
//! Only code that checks stacks writes and reads tags. It also does so for values that travel in
//! registers, by their number.

use crate::RawVal;
use crate::signature::TRANSFER_SLOTS;
use crate::types::ValType;

/// The values of a switch that travel in registers, and not in the area.
pub const CARRIED: usize = 3;

/// The offset of the tags.
pub const TAGS: usize = TRANSFER_SLOTS * size_of::<RawVal>();

/// The size of the area, with its tags.
pub const TRANSFER_SIZE: usize = TAGS + TRANSFER_SLOTS.next_multiple_of(size_of::<RawVal>());

/// The class of a value in the transfer area.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum ValueClass {
    /// A 32-bit integer.
    I32 = 1,
    /// A 64-bit integer.
    I64,
    /// A 32-bit float.
    F32,
    /// A 64-bit float.
    F64,
    /// A vector.
    V128,
    /// A reference.
    Ref,
}

impl ValueClass {
    /// The class of the values of a type.
    pub fn of(ty: ValType) -> ValueClass {
        match ty {
            ValType::I32 => ValueClass::I32,
            ValType::I64 => ValueClass::I64,
            ValType::F32 => ValueClass::F32,
            ValType::F64 => ValueClass::F64,
            ValType::V128 => ValueClass::V128,
            ValType::Ref(_) => ValueClass::Ref,
        }
    }
}

/// The offset of a place.
pub const fn transfer_offset(slot: u32) -> i32 {
    (slot as usize * size_of::<RawVal>()) as i32
}

/// The offset of the tag of a place.
pub const fn tag_offset(slot: u32) -> i32 {
    TAGS as i32 + slot as i32
}
