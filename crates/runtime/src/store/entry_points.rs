//! Functions of higher layers that generated code, stubs and the store call.

use super::Store;
use crate::arch::calls::RuntimeCalls;
use ropewalk_abi::builtin::{BuiltinPointer, Outcome};
use ropewalk_abi::{Builtin, InstanceHeader};

/// Repeats a call of a builtin that was left, with its original operands.
pub(crate) type CallAgain = unsafe fn(Builtin, *mut InstanceHeader, [u64; 4]) -> Outcome;

/// The functions of higher layers that a store needs.
#[derive(Clone, Copy, Debug)]
pub(crate) struct EntryPoints {
    /// In the order of [`Builtin::ALL`].
    pub builtins: *const BuiltinPointer,
    pub call_again: CallAgain,
    /// Runs before a store is dropped.
    pub before_drop: fn(&mut Store),
    /// The functions that stubs call.
    pub calls: &'static RuntimeCalls,
}
