//! Classifies faults: traps of the program, faults of other code, and bugs of the engine.
//!
//! A fault is a trap only if its instruction, its address and the kernel's report are all as the
//! code expects. Only generated code and our stubs run on a WebAssembly stack, so any other fault
//! there is a bug in the engine. Then nothing in the process can be relied on.

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

/// The kind of a fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A trap of the program.
    Trap(TrapCode),
    /// The running stack has no room for the instruction. It can be executed again after the stack
    /// has grown.
    NoRoom,
    /// Code was executed for the first time, and is valid. The instruction can be executed again.
    Checked,
    /// Code was executed for the first time, and is not usable, for a reason. It can be in the
    /// middle of a switch, where links between stacks are inconsistent.
    NoCode(TrapCode),
    /// It is not ours. The previous signal handler gets it.
    Foreign,
    /// A bug in the engine, or of code that has corrupted it.
    Bug,
}

/// Classifies a fault of a thread that runs the newest activation of a store.
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
        (libc::SIGSEGV, libc::SI_KERNEL) => no_room_for_a_handler(store, block, fault),
        (libc::SIGILL, ILL_ILLOPN) => undefined_instruction(store, fault),
        (libc::SIGFPE, FPE_INTDIV) => division(store, fault),
        _ => None,
    };
    trap.map_or(Verdict::Bug, Verdict::Trap)
}

/// Whether generated code was running. Everything on a WebAssembly stack is ours. The memory below
/// its guard can be a thread's stack, but then the code there is not generated code.
fn is_ours(block: &ControlBlock, fault: &Fault) -> bool {
    stack::contains(block, fault.sp) || registry::contains(fault.pc)
}

/// The trap for which the faulting instruction is listed.
pub(crate) fn listed(store: &Store, fault: &Fault) -> Option<TrapCode> {
    let (module, offset) = store.objects.module_at(fault.pc)?;
    module.code.tables().trap_at(offset)
}

/// Validates code when it is first executed, or when its constants are first read. Returns `None`
/// if the access was something else.
fn first_execution(store: &Store, fault: &Fault) -> Option<Admission> {
    if fault.code != SEGV_ACCERR || fault.was_writing {
        return None;
    }
    let (module, offset) = store.objects.module_at(fault.address)?;
    module.code.admit(offset)
}

/// Classifies a refused memory access outside of the stack's guard.
fn memory_fault(store: &Store, fault: &Fault) -> Option<TrapCode> {
    let listed = listed(store, fault);
    let address = fault.address;
    let is_expected = match listed? {
        TrapCode::MemoryOutOfBounds => store.objects.memory_may_fault_at(address),
        code => fault.code == SEGV_MAPERR && is_through_null(code, address),
    };
    if is_expected { listed } else { None }
}

/// Whether the fault is an access to the running stack's guard by an instruction that uses the
/// stack. Instructions listed for another trap do not, except calls.
fn overflows(store: &Store, fault: &Fault) -> bool {
    let is_push = fault.address == fault.sp.wrapping_sub(size_of::<usize>());
    let is_expected = match listed(store, fault) {
        None | Some(TrapCode::CallStackExhausted) => true,
        Some(_) => is_push,
    };
    is_expected && registry::contains(fault.pc)
}

/// Whether the host's stack had no room for the values of a host call.
fn overflows_the_host(store: &Store, fault: &Fault) -> bool {
    let sp = store.context().host_sp;
    let reach = used_below_host(store, fault.pc);
    (sp.saturating_sub(reach)..sp).contains(&fault.address) && registry::contains(fault.pc)
}

/// The number of bytes below the host's stack pointer that code at an address may use. The
/// trampolines of host functions, which belong to no module, put the values of a call there.
pub(crate) fn used_below_host(store: &Store, pc: usize) -> usize {
    const REACH: usize = TRANSFER_SLOTS * size_of::<RawVal>() + PAGE;
    match store.objects.module_at(pc) {
        Some(_) => 0,
        None => REACH,
    }
}

/// Whether the kernel found no room on the stack for a foreign signal handler without `SA_ONSTACK`.
/// The kernel does not report this. It raises `SIGSEGV` without an address, as for a general protection
/// fault. Only the processor exception differs.
fn no_room_for_a_handler(store: &Store, block: &ControlBlock, fault: &Fault) -> Option<TrapCode> {
    let (module, offset) = store.objects.module_at(fault.pc)?;
    // In the middle of a switch, whose code is in no function, this is not expected.
    let is_in_function = module.code.tables().function_at(offset).is_some();
    let has_no_room = fault.sp < block.limit + largest_signal_frame();
    let is_expected = fault.exception != GENERAL_PROTECTION && is_in_function && has_no_room;
    is_expected.then_some(TrapCode::CallStackExhausted)
}

/// An upper bound of the size of a signal frame: the kernel's value, the red zone, and alignment.
fn largest_signal_frame() -> usize {
    const LEFT_ALONE: usize = 128;
    const ALIGNMENT: usize = 64;
    // SAFETY: this reads a value that the kernel passed to the process, or zero.
    let frame = unsafe { libc::getauxval(AT_MINSIGSTKSZ) } as usize;
    let frame = if frame == 0 { 16 << 10 } else { frame };
    frame + LEFT_ALONE + 2 * ALIGNMENT
}

/// Classifies the trap instruction, where it is listed.
fn undefined_instruction(store: &Store, fault: &Fault) -> Option<TrapCode> {
    let code = listed(store, fault)?;
    // SAFETY: the code of a module is readable there.
    unsafe { is_trap_instruction(fault.pc) }.then_some(code)
}

/// Classifies a division, where it is listed.
fn division(store: &Store, fault: &Fault) -> Option<TrapCode> {
    let divides =
        |code: &TrapCode| matches!(code, TrapCode::IntegerDivideByZero | TrapCode::IntegerOverflow);
    listed(store, fault).filter(divides)
}

/// Nothing is mapped at the address, or a guard was installed there.
const SEGV_MAPERR: c_int = 1;
/// The mapping at the address does not allow the access.
const SEGV_ACCERR: c_int = 2;
/// An invalid instruction.
const ILL_ILLOPN: c_int = 2;
/// A division by zero, or one whose result does not fit.
const FPE_INTDIV: c_int = 1;
/// The key of the signal frame's size in the auxiliary vector.
const AT_MINSIGSTKSZ: libc::c_ulong = 51;
