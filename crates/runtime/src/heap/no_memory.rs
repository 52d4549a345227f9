//! Why there is no memory for an object.

use super::Heap;
use crate::embedder::Undecided;
use crate::os::limits::OsLimit;
use ropewalk_abi::TrapCode;
use std::fmt;

/// Why there is no memory for an object or a host value.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoMemory {
    Maximum(usize),
    Limiter,
    Undecided,
    Machine(usize),
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoMemory::Maximum(bytes) => {
                write!(
                    f,
                    "the objects of a store may have at most {bytes} bytes (Config::max_heap)"
                )
            }
            NoMemory::Limiter => f.write_str("the limiter of the store allows no more"),
            NoMemory::Undecided => f.write_str(Undecided::DETAIL),
            // The limit is found right after it was reached.
            NoMemory::Machine(bytes) => OsLimit::found(*bytes).fmt(f),
        }
    }
}

impl Heap {
    /// Records why there is no memory.
    pub fn refuse(&mut self, reason: NoMemory) -> TrapCode {
        self.refusal = Some(reason);
        TrapCode::OutOfMemory
    }
}
