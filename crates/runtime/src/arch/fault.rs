//! The kernel's report of a fault.

use libc::c_int;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub signal: c_int,
    /// The reason: `si_code`.
    pub code: c_int,
    /// The address of the access, or zero if the processor does not report it.
    pub address: usize,
    /// The number of the last processor exception. The fault need not be one.
    pub exception: i64,
    pub was_writing: bool,
    pub pc: usize,
    pub sp: usize,
}
