//! Faults of generated code become traps.
//!
//! The handler runs on an alternate stack. A fault is ours only if the thread
//! was running on a WebAssembly stack (where nothing but generated code and
//! our stubs ever runs), the instruction is one that may trap, and the address
//! is one where it may fault. Then the handler notes the trap in the store and
//! makes the thread go on at [`stub::leave`]; it never jumps out. Every other
//! fault goes to the handler that was there before.

use crate::activation::{Ending, Left};
use crate::map::Map;
use crate::store::Store;
use crate::{stack, stub};
use libc::{c_int, c_void, siginfo_t, ucontext_t};
use ropewalk_abi::{StoreContext, TrapCode};
use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

/// The handlers that were there before ours.
static PREVIOUS: OnceLock<Result<[libc::sigaction; 4], i32>> = OnceLock::new();

thread_local! {
    /// The store whose newest activation runs on this thread, or null.
    static RUNNING: Cell<*mut StoreContext> = const { Cell::new(ptr::null_mut()) };
    /// Whether this thread has an alternate stack of ours.
    static PREPARED: Cell<bool> = const { Cell::new(false) };
    static ALTERNATE_STACK: AlternateStack = AlternateStack::new();
}

/// Installs the handlers of the process, once.
pub fn install() -> io::Result<()> {
    let result = PREVIOUS.get_or_init(|| {
        // SAFETY: the handler is async-signal-safe: it takes no lock and
        // allocates nothing.
        unsafe { install_handlers() }.map_err(|error| error.raw_os_error().unwrap_or(0))
    });
    match result {
        Ok(_) => Ok(()),
        Err(code) => Err(io::Error::from_raw_os_error(*code)),
    }
}

unsafe fn install_handlers() -> io::Result<[libc::sigaction; 4]> {
    // SAFETY: all zeroes is a valid action.
    let mut previous: [libc::sigaction; 4] = unsafe { std::mem::zeroed() };
    for (signal, previous) in SIGNALS.into_iter().zip(&mut previous) {
        // SAFETY: as above.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        // SAFETY: both actions are valid; the handler is what the flags say.
        if unsafe { libc::sigaction(signal, &action, previous) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(previous)
}

/// Gives the thread an alternate stack for signals, if it has none of ours.
#[inline]
pub(crate) fn prepare_thread() {
    if !PREPARED.get() {
        prepare_new_thread();
    }
}

#[cold]
fn prepare_new_thread() {
    ALTERNATE_STACK.with(|_| PREPARED.set(true));
}

/// Notes whose activation runs on this thread; answers whose did before.
#[inline]
pub(crate) fn set_running(store: *mut StoreContext) -> *mut StoreContext {
    RUNNING.replace(store)
}

/// The alternate stack of a thread, for as long as the thread lives.
struct AlternateStack {
    _memory: Option<Map>,
}

const ALTERNATE_STACK_SIZE: usize = 64 << 10;

impl AlternateStack {
    fn new() -> AlternateStack {
        let Ok(memory) = Map::read_write(ALTERNATE_STACK_SIZE) else {
            // The thread keeps the one it has, if any.
            return AlternateStack { _memory: None };
        };
        let stack =
            libc::stack_t { ss_sp: memory.base().cast(), ss_flags: 0, ss_size: memory.len() };
        // SAFETY: the memory lives until the thread's end, when `drop` disables it.
        unsafe { libc::sigaltstack(&stack, ptr::null_mut()) };
        AlternateStack { _memory: Some(memory) }
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        PREPARED.set(false);
        let disable =
            libc::stack_t { ss_sp: ptr::null_mut(), ss_flags: libc::SS_DISABLE, ss_size: 0 };
        // SAFETY: disabling is always allowed outside of a handler.
        unsafe { libc::sigaltstack(&disable, ptr::null_mut()) };
    }
}

unsafe extern "C" fn handle(signal: c_int, info: *mut siginfo_t, context: *mut c_void) {
    // SAFETY: the kernel passes a valid context and information.
    unsafe {
        let context = &mut *context.cast::<ucontext_t>();
        if !become_trap(signal, &*info, context) {
            forward(signal, info, context);
        }
    }
}

/// Makes the thread leave WebAssembly if the fault is a trap.
unsafe fn become_trap(signal: c_int, info: &siginfo_t, context: &mut ucontext_t) -> bool {
    let running = RUNNING.get();
    if running.is_null() {
        return false;
    }
    let registers = &mut context.uc_mcontext.gregs;
    let register = |number: c_int| registers[number as usize] as usize;
    let mut left = Left {
        pc: register(libc::REG_RIP),
        fp: register(libc::REG_RBP),
        sp: register(libc::REG_RSP),
        at_fault: true,
    };
    let saved_fp = register(libc::REG_R11);
    // SAFETY: the store is alive while its activation runs, and the thread was
    // in generated code, which holds no reference to it: only that runs on a
    // WebAssembly stack, which is checked first.
    let store = unsafe {
        let block = (*running).stack;
        if block.is_null() || !stack::near(&*block, left.sp) {
            return false;
        }
        // A function that needs room for a tail call lowers its frame pointer
        // before it saves the old one, which it has in r11 until then.
        if left.fp != 0 && left.fp < (*block).limit {
            let is_link = ((*block).limit..(*block).high).contains(&saved_fp);
            left.fp = if is_link { saved_fp } else { 0 };
        }
        &mut *(*running).store.cast::<Store>()
    };
    // SAFETY: memory faults carry an address.
    let address = unsafe { info.si_addr() } as usize;
    let Some(code) = trap_code(store, signal, info.si_code, &left, address) else {
        return false;
    };
    store.set_ending(Ending::Fault(code, left));
    registers[libc::REG_RIP as usize] = stub::leave as *const () as i64;
    registers[libc::REG_R10 as usize] = running as i64;
    true
}

fn trap_code(
    store: &Store,
    signal: c_int,
    si_code: c_int,
    left: &Left,
    address: usize,
) -> Option<TrapCode> {
    let memory_fault = signal == libc::SIGSEGV || signal == libc::SIGBUS;
    // SAFETY: the running stack's block is alive.
    let block = unsafe { &*store.context().stack };
    if memory_fault && stack::in_guard(block, address) {
        return Some(TrapCode::CallStackExhausted);
    }
    let (module, offset) = store.module_at(left.pc)?;
    // A foreign handler without an alternate stack found no room for its frame.
    if signal == libc::SIGSEGV && si_code == SI_KERNEL && left.sp < block.limit + SIGNAL_FRAME {
        return Some(TrapCode::CallStackExhausted);
    }
    let code = module.code.image().trap_at(offset)?;
    let plausible = match code {
        TrapCode::MemoryOutOfBounds if memory_fault => store.memory_may_fault_at(address),
        TrapCode::UninitializedElement
        | TrapCode::NullFunctionReference
        | TrapCode::NullStructReference
        | TrapCode::NullArrayReference
        | TrapCode::NullContinuation
        | TrapCode::CastFailure
            if memory_fault =>
        {
            address < NULL_PAGE
        }
        _ => !memory_fault,
    };
    plausible.then_some(code)
}

/// The kernel raised the signal for a reason that has no address.
const SI_KERNEL: c_int = 0x80;
/// More than a signal frame needs.
const SIGNAL_FRAME: usize = 16 << 10;
/// Addresses below this come from null references.
const NULL_PAGE: usize = 4096;

/// Does what the process would have done without us.
unsafe fn forward(signal: c_int, info: *mut siginfo_t, context: *mut ucontext_t) {
    let index = SIGNALS.iter().position(|s| *s == signal);
    let previous = PREVIOUS.get().and_then(|previous| previous.as_ref().ok());
    let Some(previous) = index.zip(previous).map(|(index, all)| all[index]) else {
        return restore_default(signal);
    };
    match previous.sa_sigaction {
        libc::SIG_DFL | libc::SIG_IGN => restore_default(signal),
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
            // SAFETY: the flags say that it is such a handler.
            unsafe {
                let handler: Handler = std::mem::transmute(handler);
                handler(signal, info, context.cast());
            }
        }
        handler => {
            // SAFETY: the flags say that it is such a handler.
            unsafe {
                let handler: unsafe extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// The instruction is executed again and ends the process.
fn restore_default(signal: c_int) {
    // SAFETY: the default action is always valid.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}
