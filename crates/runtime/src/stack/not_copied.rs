//! Why a stack cannot be copied.

use ropewalk_abi::stack::Purpose;
use std::fmt;

#[derive(Clone, Copy, Debug)]
pub(crate) enum NotCopied {
    InHostCall,
    Root,
    Task,
    Fiber,
    Owner,
}

impl NotCopied {
    /// Why stacks of a purpose cannot be copied. A task or fiber has an identity, and a root
    /// belongs to its activation.
    pub fn of(purpose: Purpose) -> Option<NotCopied> {
        match purpose {
            Purpose::Continuation | Purpose::Bag | Purpose::FirstClass => None,
            Purpose::Task => Some(NotCopied::Task),
            Purpose::Fiber => Some(NotCopied::Fiber),
            Purpose::Root | Purpose::Free => Some(NotCopied::Root),
        }
    }
}

impl fmt::Display for NotCopied {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            NotCopied::InHostCall => {
                "it was suspended in a host call, which returns once; copy it before or after that \
                 call"
            }
            NotCopied::Root => {
                "the first stack of a call from the host was suspended with it, and that call \
                 returns once"
            }
            NotCopied::Task => {
                "a task was suspended with it, and a task is one object; suspend inside of the \
                 task, or after it"
            }
            NotCopied::Fiber => {
                "a fiber was suspended with it, and a fiber is one object; suspend inside of the \
                 fiber, or after it"
            }
            NotCopied::Owner => {
                "a function on it owns a first-class stack, which has one owner; give that stack \
                 away first"
            }
        })
    }
}
