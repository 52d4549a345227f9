//! Accesses of memory that may fault on purpose: what generated code leaves to the
//! machine to check, and the handler of signals expects.

use crate::context::FuncRef;
use crate::heap::{ARRAY_LENGTH, HEADER_SIZE};
use crate::trap::TrapCode;
use std::mem::offset_of;

/// The size of a page of the machine.
pub const PAGE: usize = 4096;

/// Nothing is mapped below this address. An access through null at an offset below
/// it faults, and needs no check.
pub const NULL_PAGE: usize = PAGE;

/// Whether an access at an address is one through null, by an instruction that is
/// listed with a trap for that.
pub fn is_through_null(code: TrapCode, address: usize) -> bool {
    match code {
        TrapCode::NullFunctionReference => address == offset_of!(FuncRef, code),
        TrapCode::UninitializedElement => address == offset_of!(FuncRef, ty),
        TrapCode::CastFailure => [0, offset_of!(FuncRef, ty)].contains(&address),
        TrapCode::NullArrayReference => address == ARRAY_LENGTH as usize,
        TrapCode::NullStructReference => (HEADER_SIZE as usize..NULL_PAGE).contains(&address),
        _ => false,
    }
}
