//! Telling faults apart: what of generated code is a trap of the program, what is
//! not our business, and what must not happen.
//!
//! A fault is a trap only if everything about it is as the code there expects:
//! the instruction, the address, and how the kernel reports it. Any other fault on
//! a WebAssembly stack, where nothing but generated code and our stubs ever runs,
//! is a bug of the engine; nothing can be relied on any more.

use crate::arch::fault::Fault;
use crate::arch::frames::is_trap_instruction;
use crate::arch::interrupted::GENERAL_PROTECTION;
use crate::code::precompiled::lazy_code::Admission;
use crate::code::registry;
use crate::stack;
use crate::store::Store;
use libc::c_int;
use ropewalk_abi::access::{PAGE, is_through_null};
use ropewalk_abi::signature::TRANSFER_SLOTS;
use ropewalk_abi::{ControlBlock, RawVal, TrapCode};
use std::mem::size_of;

/// What a fault is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A trap of the program.
    Trap(TrapCode),
    /// The running stack has no room for what the instruction does. It can be executed
    /// again when there is some.
    NoRoom,
    /// Code was executed for the first time, and was checked. The instruction can be executed
    /// again.
    Checked,
    /// Code was executed for the first time, and cannot be: why. It may be the middle of a
    /// switch, with links between stacks half changed.
    NoCode(TrapCode),
    /// Not ours: for whoever handled such signals before.
    Foreign,
    /// A bug of the engine, or of something that has broken it.
    Bug,
}

/// What a fault is, of a thread that runs the newest activation of a store.
pub(crate) fn judge(store: &Store, fault: &Fault) -> Verdict {
    // SAFETY: the running stack's block is alive.
    let Some(block) = (unsafe { store.context().stack.as_ref() }) else { return Verdict::Foreign };
    if !is_ours(block, fault) {
        return Verdict::Foreign;
    }
    let trap = match (fault.signal, fault.code) {
        (libc::SIGSEGV, SEGV_MAPERR | SEGV_ACCERR) => {
            if overflows_the_host(store, fault) {
                return Verdict::Foreign;
            }
            if stack::in_guard(block, fault.address) {
                return if overflows(store, fault) { Verdict::NoRoom } else { Verdict::Bug };
            }
            match first_execution(store, fault) {
                Some(Admission::Admitted) => return Verdict::Checked,
                Some(Admission::Damaged) => return Verdict::NoCode(TrapCode::DamagedCode),
                Some(Admission::Refused) => return Verdict::NoCode(TrapCode::OutOfMemory),
                None => memory_fault(store, fault),
            }
        }
        (libc::SIGSEGV, SI_KERNEL) => no_room_for_a_handler(store, block, fault),
        (libc::SIGILL, ILL_ILLOPN) => undefined_instruction(store, fault),
        (libc::SIGFPE, FPE_INTDIV) => division(store, fault),
        _ => None,
    };
    trap.map_or(Verdict::Bug, Verdict::Trap)
}

/// Whether generated code runs. Everything on a WebAssembly stack does so on our
/// account. Right below its guard it may be anything else, since the stack of a
/// thread may lie there; but then it is not generated code.
fn is_ours(block: &ControlBlock, fault: &Fault) -> bool {
    stack::contains(block, fault.sp) || registry::contains(fault.pc)
}

/// The trap that the instruction at the fault is listed with.
pub(crate) fn listed(store: &Store, fault: &Fault) -> Option<TrapCode> {
    let (module, offset) = store.module_at(fault.pc)?;
    module.code.tables().trap_at(offset)
}

/// Has code checked that is executed, or whose constants are read, for the first time. None if
/// it is something else that was accessed.
fn first_execution(store: &Store, fault: &Fault) -> Option<Admission> {
    if fault.code != SEGV_ACCERR || fault.was_writing {
        return None;
    }
    let (module, offset) = store.module_at(fault.address)?;
    module.code.admit(offset)
}

/// An access of memory, but for the guard of the stack, that the kernel refused.
fn memory_fault(store: &Store, fault: &Fault) -> Option<TrapCode> {
    let listed = listed(store, fault);
    let address = fault.address;
    let is_expected = match listed? {
        TrapCode::MemoryOutOfBounds => store.memory_may_fault_at(address),
        code => fault.code == SEGV_MAPERR && is_through_null(code, address),
    };
    if is_expected { listed } else { None }
}

/// Whether the guard of the running stack was accessed by an instruction that is about
/// the stack, which those that are listed for something else are not, unless they are
/// calls.
fn overflows(store: &Store, fault: &Fault) -> bool {
    let is_push = fault.address == fault.sp.wrapping_sub(size_of::<usize>());
    let is_expected = match listed(store, fault) {
        None | Some(TrapCode::CallStackExhausted) => true,
        Some(_) => is_push,
    };
    is_expected && registry::contains(fault.pc)
}

/// Whether it was the host's stack that had no room, for the values of a call of
/// the host.
fn overflows_the_host(store: &Store, fault: &Fault) -> bool {
    let sp = store.context().host_sp;
    let reach = used_below_host(store, fault.pc);
    (sp.saturating_sub(reach)..sp).contains(&fault.address) && registry::contains(fault.pc)
}

/// How many bytes below the host's stack pointer may be in use while code at an address runs: the
/// trampolines of host functions, which are in no module, put the values of a call there.
pub(crate) fn used_below_host(store: &Store, pc: usize) -> usize {
    const REACH: usize = TRANSFER_SLOTS * size_of::<RawVal>() + PAGE;
    match store.module_at(pc) {
        Some(_) => 0,
        None => REACH,
    }
}

/// Whether the kernel found no room on the stack for the frame of a foreign handler
/// without `SA_ONSTACK`. It does not say so: it raises `SIGSEGV` without an
/// address, as for a general protection fault, where the thread was. What tells
/// them apart is the processor's exception.
fn no_room_for_a_handler(store: &Store, block: &ControlBlock, fault: &Fault) -> Option<TrapCode> {
    let (module, offset) = store.module_at(fault.pc)?;
    // Not in the middle of a switch, whose code is in no function.
    let is_in_function = module.code.tables().function_at(offset).is_some();
    let has_no_room = fault.sp < block.limit + largest_signal_frame();
    let is_expected = fault.exception != GENERAL_PROTECTION && is_in_function && has_no_room;
    is_expected.then_some(TrapCode::CallStackExhausted)
}

/// More than the frame of a signal needs: what the kernel says, the bytes below the
/// stack pointer that it leaves alone, and alignment.
fn largest_signal_frame() -> usize {
    const LEFT_ALONE: usize = 128;
    const ALIGNMENT: usize = 64;
    // SAFETY: reads a value that the kernel gave to the process; zero if it did not.
    let frame = unsafe { libc::getauxval(AT_MINSIGSTKSZ) } as usize;
    let frame = if frame == 0 { 16 << 10 } else { frame };
    frame + LEFT_ALONE + 2 * ALIGNMENT
}

/// The instruction to trap by, where it is listed.
fn undefined_instruction(store: &Store, fault: &Fault) -> Option<TrapCode> {
    let code = listed(store, fault)?;
    // SAFETY: the code of a module, which can be read, is there.
    unsafe { is_trap_instruction(fault.pc) }.then_some(code)
}

/// A division where it is listed.
fn division(store: &Store, fault: &Fault) -> Option<TrapCode> {
    let divides =
        |code: &TrapCode| matches!(code, TrapCode::IntegerDivideByZero | TrapCode::IntegerOverflow);
    listed(store, fault).filter(divides)
}

/// The kernel raised the signal for a reason that has no address.
const SI_KERNEL: c_int = 0x80;
/// Nothing is mapped at the address, or it is a guard that was installed.
const SEGV_MAPERR: c_int = 1;
/// What is mapped at the address may not be accessed like that.
const SEGV_ACCERR: c_int = 2;
/// An instruction that does not exist.
const ILL_ILLOPN: c_int = 2;
/// A division by zero, or whose result does not fit.
const FPE_INTDIV: c_int = 1;
/// The key of the size of a signal frame among what the kernel tells a process.
const AT_MINSIGSTKSZ: libc::c_ulong = 51;
