//! Why a function does not return success yet.

use crate::abi::errno::Errno;
use crate::wait::Wait;
use std::io;

/// Why a function does not return success yet.
#[derive(Debug)]
pub(crate) enum Failure {
    /// The function fails with this number.
    Errno(Errno),
    /// The function has done nothing yet and must be called again after waiting.
    Wait(Wait),
    /// The function has finished a chunk of its work and must be called again.
    Again,
    /// The program ends.
    End(ropewalk::Error),
}

/// The result of functions that act for a program.
pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

impl From<Errno> for Failure {
    fn from(errno: Errno) -> Failure {
        Failure::Errno(errno)
    }
}

impl From<rustix::io::Errno> for Failure {
    fn from(error: rustix::io::Errno) -> Failure {
        Failure::Errno(error.into())
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Failure {
        Failure::Errno(error.into())
    }
}
