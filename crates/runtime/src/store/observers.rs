//! The observers of a store: tracing, profiling, checks, debuggers.

use super::debugger_list::DebuggerListEntry;
use super::slot::Slot;
use crate::report::stack_list::StackList;

#[derive(Default)]
pub(crate) struct Observers {
    /// The profiler of [`observe`](crate::observe), if it runs.
    pub profiler: Slot,
    /// The recorder of the trace, if the store is traced.
    pub recorder: Slot,
    /// How many times a check of all stacks was requested.
    pub checks: usize,
    /// How many stacks are listed when a call fails.
    pub keeps_stacks: usize,
    /// The stacks at the last failed call.
    pub kept_stacks: Option<StackList>,
    /// The entry for native debuggers.
    pub debugger: Option<DebuggerListEntry>,
}
