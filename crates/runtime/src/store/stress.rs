//! Ways of running in which every program must do the same.

use crate::stack::StackOptions;

/// Ways of running in which every program must do the same: they show bugs of the engine. All
/// are slow, and off by default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stress {
    /// The running stack moves to other memory at every host call and every call of the runtime,
    /// and every other stack when it is continued: nothing depends on where a stack is.
    pub move_stacks: bool,
    /// After every switch, every call of the runtime and every collection, the records of all
    /// stacks are compared. If they do not agree, the call fails with an error that says so, and
    /// the store cannot be used any more.
    pub check_stacks: bool,
    /// Every allocation collects garbage: every reference is known.
    pub collect_always: bool,
    /// Functions stop wherever they could be interrupted, and continue; calls that can wait let
    /// others run each time. Turns interruption on.
    pub stop_always: bool,
    /// Every stack is parked as soon as it is suspended.
    pub park_always: bool,
    /// After a snapshot, dirty pages are tracked also where little is written, and where comparing
    /// is faster.
    pub watch_always: bool,
    /// Every stack begins with as little as possible: a page for a call from the host, two for a
    /// continuation.
    pub minimal_stacks: bool,
    /// No stack gets more memory than it begins with.
    pub fail_to_grow: bool,
    /// The generation that references to new stacks begin with.
    pub first_generation: u64,
    /// How many blocks the table of stacks has room for, with block 0 and those of calls from the
    /// host: sixteen million if nothing else is said.
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
