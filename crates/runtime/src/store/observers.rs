//! The observers of a store: tracing, profiling, checks, debuggers.
//!
//! Observers read the store and change nothing that a program sees. An observer that is working is
//! taken out of its slot, so what it does to the store is not observed.

use super::debugger_list::DebuggerListEntry;
use super::slot::Slot;
use crate::report::stack_list::StackList;

/// The observers of a store.
#[derive(Default)]
pub(crate) struct Observers {
    /// The profiler of [`observe`](crate::observe), if it runs.
    pub profiler: Slot,
    /// The recorder of the trace, if the store is traced. It has recorded every event so far, except
    /// the notes of the table of stacks, which precede the next event.
    pub recorder: Slot,
    /// How many times a check of all stacks was requested.
    pub checks: usize,
    /// How many stacks are listed when a call fails.
    pub keeps_stacks: usize,
    /// The stacks at the last failed call.
    pub kept_stacks: Option<StackList>,
    /// The entry for native debuggers. It is removed before any stack is freed.
    pub debugger: Option<DebuggerListEntry>,
}
