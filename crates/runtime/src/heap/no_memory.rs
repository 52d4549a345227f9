//! Why there is no memory for an object.

use super::Heap;
use crate::embedder::Undecided;
use crate::os::limits::OsLimit;
use ropewalk_abi::TrapCode;
use thiserror::Error;

/// Why there is no memory for an object or a host value.
#[derive(Clone, Copy, Debug, Error)]
pub(crate) enum NoMemory {
    #[error("the objects of a store may have at most {0} bytes (Config::max_heap)")]
    Maximum(usize),
    #[error("the limiter of the store allows no more")]
    Limiter,
    #[error("{}", Undecided::DETAIL)]
    Undecided,
    // The limit is found right after it was reached.
    #[error("{}", OsLimit::found(*.0))]
    Machine(usize),
}

impl Heap {
    /// Records why there is no memory.
    pub fn refuse(&mut self, reason: NoMemory) -> TrapCode {
        self.refusal = Some(reason);
        TrapCode::OutOfMemory
    }
}
