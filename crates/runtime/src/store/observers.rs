//! Who watches a store.

use super::known_stores::Known;
use super::slot::Slot;
use crate::report::stack_list::StackList;

/// Who watches a store.
#[derive(Default)]
pub(crate) struct Observers {
    /// Samples of where the program is.
    pub profiler: Slot,
    /// What is recorded of the stacks.
    pub recorder: Slot,
    /// How often the stacks were to be checked.
    pub checks: usize,
    /// How many stacks are listed whenever a call fails.
    pub keeps_stacks: usize,
    /// The stacks when the last call failed.
    pub kept_stacks: Option<StackList>,
    /// Lets native debuggers find the store.
    pub debugger: Option<Known>,
}
