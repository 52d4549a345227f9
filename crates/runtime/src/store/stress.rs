//! Stress modes: ways of running that must not change what a program does.

use crate::stack::StackOptions;

/// Stress modes: ways of running that must not change what a program does, so they reveal bugs of
/// the engine. All are slow, and off by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stress {
    /// The running stack moves to other memory at every host call and every call of the runtime,
    /// and every other stack when it is resumed: nothing depends on where a stack is.
    pub move_stacks: bool,
    /// After every switch, call of the runtime and collection, the records of all stacks are
    /// checked. If they are inconsistent, the call fails and the store becomes unusable.
    pub check_stacks: bool,
    /// Every allocation collects garbage: every reference is known.
    pub collect_always: bool,
    /// Functions stop and continue at every safepoint, and yield if they can wait.
    pub stop_always: bool,
    /// Every stack is parked as soon as it is suspended.
    pub park_always: bool,
    /// After a snapshot, dirty pages are tracked even where comparing is faster.
    pub watch_always: bool,
    /// Stacks begin with minimal memory: a page for a root, two for a continuation.
    pub minimal_stacks: bool,
    /// No stack grows.
    pub fail_to_grow: bool,
    /// The generation of references to new stacks.
    pub first_generation: u64,
    /// The capacity of the table of stacks, with block 0 and roots: sixteen million by default.
    pub max_blocks: usize,
}

impl Default for Stress {
    fn default() -> Self {
        Stress {
            move_stacks: false,
            check_stacks: false,
            collect_always: false,
            stop_always: false,
            park_always: false,
            watch_always: false,
            minimal_stacks: false,
            fail_to_grow: false,
            first_generation: 0,
            max_blocks: StackOptions::default().blocks,
        }
    }
}
