//! The registers of a thread that a signal has interrupted.

use super::frames::loads_from;
use super::stubs;
use crate::arch::fault::Fault;
use libc::{c_int, ucontext_t};
use ropewalk_abi::StoreContext;
use ropewalk_abi::access::PAGE;

/// The processor exception for an access to an address that cannot be mapped.
pub(crate) const GENERAL_PROTECTION: i64 = 13;

/// The bit of a page fault's error code for writes.
const WRITING: i64 = 2;

/// The registers of an interrupted thread, except floating-point and vector registers.
type Registers = [libc::greg_t; 23];

pub(crate) struct Interrupted<'a>(&'a mut Registers);

/// The state of an interrupted thread, on the host's stack while the runtime handles the fault.
#[repr(C, align(16))]
pub(crate) struct Saved {
    registers: Registers,
    pub fault: Fault,
}

impl Saved {
    pub fn thread(&mut self) -> Interrupted<'_> {
        Interrupted(&mut self.registers)
    }
}

impl Interrupted<'_> {
    pub fn new(context: &mut ucontext_t) -> Interrupted<'_> {
        Interrupted(&mut context.uc_mcontext.gregs)
    }

    /// Makes the thread continue at [`make_room`](stubs::make_room), on the host's stack.
    ///
    /// # Safety
    ///
    /// The thread must have been interrupted in generated code of the store. At most `used` bytes
    /// may be in use below the saved stack pointer of the host.
    pub unsafe fn call_host(&mut self, store: *mut StoreContext, used: usize, fault: Fault) {
        // SAFETY: the store is alive while its activation runs.
        let top = unsafe { (*store).host_sp } - used;
        for page in (top..top + used).step_by(PAGE).rev() {
            // SAFETY: this is the host's stack. If it has no room, the highest missing page is its
            // guard, and this faults as a call would.
            unsafe { (page as *const u8).read_volatile() };
        }
        let place = (top - size_of::<Saved>()) & !(align_of::<Saved>() - 1);
        // SAFETY: the caller's promise. As above, this reaches the next page at most.
        unsafe { (place as *mut Saved).write(Saved { registers: *self.0, fault }) };
        self.0[libc::REG_RIP as usize] = stubs::make_room as *const () as i64;
        self.0[libc::REG_RSP as usize] = place as i64;
        self.0[libc::REG_RDI as usize] = store as i64;
        self.0[libc::REG_RSI as usize] = place as i64;
    }

    /// If the thread is at [`go_back`](stubs::go_back), makes it continue where it was interrupted.
    /// Returns whether it is.
    pub fn go_back(&mut self) -> bool {
        let is_there = self.pc() == stubs::go_back as *const () as usize;
        if is_there {
            let saved = self.register(libc::REG_RSI) as *const Saved;
            // SAFETY: the stub has the address in this register, and nothing has written there
            // since.
            *self.0 = unsafe { (*saved).registers };
        }
        is_there
    }

    pub fn pc(&self) -> usize {
        self.register(libc::REG_RIP)
    }

    pub fn sp(&self) -> usize {
        self.register(libc::REG_RSP)
    }

    pub fn fp(&self) -> usize {
        self.register(libc::REG_RBP)
    }

    /// The caller's frame pointer in a function that makes room for a tail call and has not saved
    /// it yet.
    pub fn saved_fp(&self) -> usize {
        self.register(libc::REG_R11)
    }

    /// The number of the last processor exception.
    pub fn exception(&self) -> i64 {
        self.0[libc::REG_TRAPNO as usize]
    }

    /// Whether the last exception, a page fault, was a write.
    pub fn was_writing(&self) -> bool {
        self.0[libc::REG_ERR as usize] & WRITING != 0
    }

    /// Makes the thread continue at [`leave`](stubs::leave).
    pub fn leave(&mut self, store: *mut StoreContext) {
        self.0[libc::REG_RIP as usize] = stubs::leave as *const () as i64;
        self.0[libc::REG_R10 as usize] = store as i64;
    }

    /// Adjusts the thread's registers to its stack, which has moved.
    pub fn move_stack(&mut self, distance: usize) {
        self.add(libc::REG_RSP, distance);
        if self.fp() != 0 {
            self.add(libc::REG_RBP, distance);
        }
    }

    pub fn move_saved_fp(&mut self, distance: usize) {
        self.add(libc::REG_R11, distance);
    }

    /// Adjusts the register with this number in instructions.
    pub fn move_register(&mut self, number: u8, distance: usize) {
        self.add(NUMBERED[number as usize], distance);
    }

    /// The register from below which the current instruction loads a word, if it has the value of
    /// the stack pointer.
    pub fn loads_below_copy_of_sp(&self) -> Option<u8> {
        // SAFETY: the thread is executing generated code there.
        let register = unsafe { loads_from(self.pc()) }?;
        (self.register(NUMBERED[register as usize]) == self.sp()).then_some(register)
    }

    fn add(&mut self, register: c_int, distance: usize) {
        let value = &mut self.0[register as usize];
        *value = value.wrapping_add(distance as i64);
    }

    fn register(&self, number: c_int) -> usize {
        self.0[number as usize] as usize
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
