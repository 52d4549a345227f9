//! Which limit it was that an object could not be made.

use super::Heap;
use crate::embedder::Undecided;
use crate::os::limits::OsLimit;
use ropewalk_abi::TrapCode;
use std::fmt;

/// Why there is no memory for an object or a value of the host.
#[derive(Clone, Copy, Debug)]
pub(crate) enum NoMemory {
    /// Objects may not have more bytes than this.
    Maximum(usize),
    /// Whoever limits the store allows no more.
    Limiter,
    /// It has not decided yet.
    Undecided,
    /// The machine has not this many bytes more.
    Machine(usize),
}

impl fmt::Display for NoMemory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoMemory::Maximum(bytes) => {
                write!(f, "the objects of a store may have {bytes} bytes (Config::max_heap)")
            }
            NoMemory::Limiter => f.write_str("the limiter of the store allows no more"),
            NoMemory::Undecided => f.write_str(Undecided::DETAIL),
            // As it is now, right after it was reached.
            NoMemory::Machine(bytes) => OsLimit::found(*bytes).fmt(f),
        }
    }
}

impl Heap {
    /// There is no memory, for a reason.
    pub fn refuse(&mut self, reason: NoMemory) -> TrapCode {
        self.refusal = Some(reason);
        TrapCode::OutOfMemory
    }
}
