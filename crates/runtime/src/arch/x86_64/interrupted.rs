//! A thread that a signal has interrupted: its registers, as the kernel has saved
//! them.

use super::stubs;
use libc::{c_int, ucontext_t};
use ropewalk_abi::StoreContext;

/// The processor's exception for an access that no page could allow.
pub(crate) const GENERAL_PROTECTION: i64 = 13;

/// The registers of an interrupted thread.
pub(crate) struct Interrupted<'a>(&'a mut ucontext_t);

impl Interrupted<'_> {
    pub fn new(context: &mut ucontext_t) -> Interrupted<'_> {
        Interrupted(context)
    }

    /// The instruction that it was at.
    pub fn pc(&self) -> usize {
        self.register(libc::REG_RIP)
    }

    pub fn sp(&self) -> usize {
        self.register(libc::REG_RSP)
    }

    pub fn fp(&self) -> usize {
        self.register(libc::REG_RBP)
    }

    /// Where a function that makes room for a tail call has its caller's frame
    /// pointer before it saves that.
    pub fn saved_fp(&self) -> usize {
        self.register(libc::REG_R11)
    }

    /// The number of the processor's exception, the last one if this is none.
    pub fn exception(&self) -> i64 {
        self.0.uc_mcontext.gregs[libc::REG_TRAPNO as usize]
    }

    /// Makes the thread continue at [`leave`](stubs::leave).
    pub fn leave(&mut self, store: *mut StoreContext) {
        let registers = &mut self.0.uc_mcontext.gregs;
        registers[libc::REG_RIP as usize] = stubs::leave as *const () as i64;
        registers[libc::REG_R10 as usize] = store as i64;
    }

    fn register(&self, number: c_int) -> usize {
        self.0.uc_mcontext.gregs[number as usize] as usize
    }
}
