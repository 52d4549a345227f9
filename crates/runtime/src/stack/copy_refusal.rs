//! Why a stack cannot be copied.

use ropewalk_abi::stack::Purpose;
use thiserror::Error;

#[derive(Clone, Copy, Debug, Error)]
pub(crate) enum CopyRefusal {
    #[error(
        "it was suspended in a host call, which returns once; copy it before or after that call"
    )]
    InHostCall,
    #[error(
        "the first stack of a call from the host was suspended with it, and that call returns once"
    )]
    Root,
    #[error(
        "a task was suspended with it, and a task is one object; suspend inside of the task, or \
         after it"
    )]
    Task,
    #[error(
        "a fiber was suspended with it, and a fiber is one object; suspend inside of the fiber, or \
         after it"
    )]
    Fiber,
}

impl CopyRefusal {
    /// Why stacks of a purpose cannot be copied. A task or fiber has an identity, and a root
    /// belongs to its activation.
    pub fn of(purpose: Purpose) -> Option<CopyRefusal> {
        match purpose {
            Purpose::Continuation | Purpose::Bag | Purpose::FirstClass => None,
            Purpose::Task => Some(CopyRefusal::Task),
            Purpose::Fiber => Some(CopyRefusal::Fiber),
            Purpose::Root | Purpose::Free => Some(CopyRefusal::Root),
        }
    }
}
