//! Faults, as the kernel reports them.

use libc::c_int;

/// What the kernel says of a fault.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Fault {
    pub signal: c_int,
    /// Why it was raised: `si_code`.
    pub code: c_int,
    /// Where memory was accessed. Zero where the processor does not say.
    pub address: usize,
    /// The number of the processor's exception, the last one if this is none.
    pub exception: i64,
    /// Whether memory was written, if it was accessed.
    pub was_writing: bool,
    pub pc: usize,
    pub sp: usize,
}
