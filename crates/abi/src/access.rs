//! Memory accesses that may fault on purpose: checks that generated code leaves to the processor,
//! and that the signal handler expects.

use crate::context::FuncRef;
use crate::heap::{ARRAY_LENGTH, HEADER_SIZE};
use crate::trap::TrapCode;
use std::mem::offset_of;

/// The page size of the machine.
pub const PAGE: usize = 4096;

/// Nothing is mapped below this address, so an access through null at a smaller offset faults.
pub const NULL_PAGE: usize = PAGE;

/// Whether an access at an address is one through null, for an instruction with this trap code.
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
