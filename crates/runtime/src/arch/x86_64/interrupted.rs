//! A thread that a signal has interrupted: its registers, as the kernel has saved
//! them.

use super::frames::loads_from;
use super::stubs;
use libc::{c_int, ucontext_t};
use ropewalk_abi::StoreContext;

/// The processor's exception for an access that no page could allow.
pub(crate) const GENERAL_PROTECTION: i64 = 13;

/// The bit of a page fault's code that is set if something was written.
const WRITING: i64 = 2;

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

    /// Whether a page fault, which the last exception was, is of something that was written.
    pub fn was_writing(&self) -> bool {
        self.0.uc_mcontext.gregs[libc::REG_ERR as usize] & WRITING != 0
    }

    /// Makes the thread continue at [`leave`](stubs::leave).
    pub fn leave(&mut self, store: *mut StoreContext) {
        let registers = &mut self.0.uc_mcontext.gregs;
        registers[libc::REG_RIP as usize] = stubs::leave as *const () as i64;
        registers[libc::REG_R10 as usize] = store as i64;
    }

    /// Makes the thread continue on its stack, which has moved.
    pub fn move_stack(&mut self, distance: usize) {
        self.add(libc::REG_RSP, distance);
        if self.fp() != 0 {
            self.add(libc::REG_RBP, distance);
        }
    }

    /// Moves [`saved_fp`](Self::saved_fp).
    pub fn move_saved_fp(&mut self, distance: usize) {
        self.add(libc::REG_R11, distance);
    }

    /// Moves an address in a register, which has this number in instructions.
    pub fn move_register(&mut self, number: u8, distance: usize) {
        self.add(NUMBERED[number as usize], distance);
    }

    /// The number of the register that the instruction loads a word from below, if it
    /// is such an instruction, and the register a copy of the stack pointer.
    pub fn loads_below_copy_of_sp(&self) -> Option<u8> {
        // SAFETY: the thread is executing generated code there.
        let register = unsafe { loads_from(self.pc()) }?;
        (self.register(NUMBERED[register as usize]) == self.sp()).then_some(register)
    }

    fn add(&mut self, register: c_int, distance: usize) {
        let value = &mut self.0.uc_mcontext.gregs[register as usize];
        *value = value.wrapping_add(distance as i64);
    }

    fn register(&self, number: c_int) -> usize {
        self.0.uc_mcontext.gregs[number as usize] as usize
    }
}

/// The registers by their number in instructions.
const NUMBERED: [c_int; 16] = [
    libc::REG_RAX,
    libc::REG_RCX,
    libc::REG_RDX,
    libc::REG_RBX,
    libc::REG_RSP,
    libc::REG_RBP,
    libc::REG_RSI,
    libc::REG_RDI,
    libc::REG_R8,
    libc::REG_R9,
    libc::REG_R10,
    libc::REG_R11,
    libc::REG_R12,
    libc::REG_R13,
    libc::REG_R14,
    libc::REG_R15,
];
