//! What generated code and stubs call, which lies in layers above.

use super::Store;
use crate::arch::calls::RuntimeCalls;
use ropewalk_abi::builtin::{BuiltinPointer, Outcome};
use ropewalk_abi::{Builtin, InstanceHeader};

/// Calls a builtin again that could not continue, with the operands that it had.
pub(crate) type CallAgain = unsafe fn(Builtin, *mut InstanceHeader, [u64; 4]) -> Outcome;

/// The functions that a store is made with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryPoints {
    /// The builtins, in the order of [`Builtin::ALL`].
    pub builtins: *const BuiltinPointer,
    /// Calls one of them again.
    pub call_again: CallAgain,
    /// What is done before a store is dropped.
    pub before_drop: fn(&mut Store),
    /// What stubs call.
    pub calls: &'static RuntimeCalls,
}
