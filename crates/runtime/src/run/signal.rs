//! The signal handler, which turns faults of generated code into traps.
//!
//! It runs on an alternate stack. [`fault`] classifies the fault:
//!
//! * For a trap, the store records the reason, and the thread continues at
//!   [`leave`](crate::arch::stubs::leave).
//! * If the stack has no room, the thread continues on the host's stack, where the stack
//!   [grows](crate::run::grow). Then it executes the instruction again.
//! * If [code](crate::code::precompiled) is executed for the first time, it is validated. Then the
//!   thread executes the instruction again.
//! * A bug in the engine aborts the process.
//! * Faults of other code, and all signals that processes send, go to the previous handler.
//!
//! The handler never jumps out, allocates nothing, and calls no code of the embedder.

use crate::arch::fault::Fault;
use crate::arch::interrupted::Interrupted;
use crate::os::mapping::{Map, PAGE};
use crate::run::fatal;
use crate::run::fault::{self, Verdict};
use crate::run::grow;
use crate::stack::TopFrame;
use crate::store::Store;
use crate::store::running::Ending;
use libc::{c_int, c_void, siginfo_t, ucontext_t};
use ropewalk_abi::StoreContext;
use std::cell::Cell;
use std::io;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::OnceLock;

const SIGNALS: [c_int; 4] = [libc::SIGSEGV, libc::SIGBUS, libc::SIGILL, libc::SIGFPE];

static PREVIOUS: OnceLock<Result<[libc::sigaction; 4], i32>> = OnceLock::new();

thread_local! {
    /// The store whose newest activation runs on this thread, or null, or [`UNPREPARED`].
    static RUNNING: Cell<*mut StoreContext> = const { Cell::new(UNPREPARED) };
    static ALTERNATE_STACK: AlternateStack = AlternateStack::new();
}

/// The thread has no alternate stack of ours, so nothing runs on it.
const UNPREPARED: *mut StoreContext = ptr::dangling_mut();

/// Installs the handlers of the process, once.
pub fn install() -> io::Result<()> {
    let result = PREVIOUS.get_or_init(|| {
        // SAFETY: the handler allocates nothing. It takes a lock only if it has interrupted
        // generated code, which holds none.
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
        // SAFETY: all zeroes is a valid action.
        let mut action: libc::sigaction = unsafe { std::mem::zeroed() };
        action.sa_sigaction = handle as *const () as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_NODEFER;
        // SAFETY: both actions are valid, and the flags describe the handler.
        if unsafe { libc::sigaction(signal, &action, previous) } != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(previous)
}

/// Gives the thread an alternate stack for signals, if it has none of ours. The stack lives at
/// least as long as the returned value.
#[inline]
pub(crate) fn prepare_thread() -> Option<Prepared> {
    if RUNNING.get() == UNPREPARED { prepare_new_thread() } else { None }
}

#[cold]
fn prepare_new_thread() -> Option<Prepared> {
    let lasts = ALTERNATE_STACK.try_with(|_| ()).is_ok();
    // The thread is ending, and the destructor of one of its thread-local values calls WebAssembly.
    let prepared = (!lasts).then(|| Prepared(AlternateStack::new()));
    RUNNING.set(ptr::null_mut());
    prepared
}

/// A thread that is ending has an alternate stack until its outermost activation ends.
pub(crate) struct Prepared(#[expect(dead_code, reason = "it is dropped")] AlternateStack);

/// Whether the thread is prepared, and no activation runs on it.
#[inline]
pub(crate) fn nothing_runs() -> bool {
    RUNNING.get().is_null()
}

/// Sets the store whose activation runs on this thread. Returns the previous one.
#[inline]
pub(crate) fn set_running(store: *mut StoreContext) -> *mut StoreContext {
    RUNNING.replace(store)
}

/// The alternate stack of a thread. It has a guard, because handlers of the embedder also run on
/// it.
struct AlternateStack {
    _memory: Option<Map>,
}

const ALTERNATE_STACK_SIZE: usize = 64 << 10;

impl AlternateStack {
    fn new() -> AlternateStack {
        let memory = Map::read_write(PAGE + ALTERNATE_STACK_SIZE).and_then(|memory| {
            memory.guard(0, PAGE)?;
            Ok(memory)
        });
        let Ok(memory) = memory else {
            // The thread keeps the stack that it has, if any.
            return AlternateStack { _memory: None };
        };
        let base = memory.base().wrapping_add(PAGE).cast();
        let stack = libc::stack_t { ss_sp: base, ss_flags: 0, ss_size: ALTERNATE_STACK_SIZE };
        // SAFETY: the memory lives until `drop` disables the stack.
        unsafe { libc::sigaltstack(&stack, ptr::null_mut()) };
        AlternateStack { _memory: Some(memory) }
    }
}

impl Drop for AlternateStack {
    fn drop(&mut self) {
        RUNNING.set(UNPREPARED);
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

/// Handles a fault of generated code: makes the thread leave WebAssembly, or execute the
/// instruction again. Returns false for other faults. Does not return if it is a bug.
unsafe fn become_trap(signal: c_int, info: &siginfo_t, context: &mut ucontext_t) -> bool {
    let running = RUNNING.get();
    if running.is_null() || running == UNPREPARED || was_sent(info) {
        return false;
    }
    let mut thread = Interrupted::new(context);
    if thread.go_back() {
        return true;
    }
    let fault = Fault {
        signal,
        code: info.si_code,
        // SAFETY: these signals have an address, if the kernel raised them.
        address: unsafe { info.si_addr() } as usize,
        exception: thread.exception(),
        was_writing: thread.was_writing(),
        pc: thread.pc(),
        sp: thread.sp(),
    };
    // SAFETY: the store is alive while its activation runs. If the fault is ours, the thread was in
    // generated code, which holds no reference to the store. If not, it is only read.
    let store = unsafe { &*(*running).store.cast::<Store>() };
    let ending = match fault::judge(store, &fault) {
        Verdict::Trap(code) => {
            // SAFETY: the running stack's block is alive.
            let fp = grow::first_link(unsafe { &*(*running).stack }, &thread);
            let left = TopFrame { pc: fault.pc, fp, sp: fault.sp, distance: 0, at_fault: true };
            Ending::Fault(code, left)
        }
        Verdict::NoCode(code) => Ending::NoCode(code, fault.address),
        Verdict::NoRoom => {
            // SAFETY: the fault is ours, so generated code of the store was interrupted.
            unsafe { thread.call_host(running, fault::used_below_host(store, fault.pc), fault) };
            return true;
        }
        Verdict::Checked => return true,
        Verdict::Foreign => return false,
        Verdict::Bug => fatal::abort(store, &fault),
    };
    // SAFETY: as above, and the fault is ours.
    unsafe { Store::from_context(running) }.set_ending(ending);
    thread.leave(running);
    true
}

/// Whether a process has sent the signal. Then it is not a fault.
fn was_sent(info: &siginfo_t) -> bool {
    info.si_code <= 0
}

/// Does what the process would do without our handler.
unsafe fn forward(signal: c_int, info: *mut siginfo_t, context: *mut ucontext_t) {
    let index = SIGNALS.iter().position(|s| *s == signal);
    let previous = PREVIOUS.get().and_then(|previous| previous.as_ref().ok());
    let Some(previous) = index.zip(previous).map(|(index, all)| all[index]) else {
        return restore_default(signal);
    };
    // SAFETY: the kernel passes valid information.
    let was_sent = was_sent(unsafe { &*info });
    match previous.sa_sigaction {
        libc::SIG_IGN if was_sent => {}
        libc::SIG_DFL if was_sent => {
            restore_default(signal);
            // No instruction would raise it again.
            // SAFETY: raising a signal is always allowed.
            unsafe { libc::raise(signal) };
        }
        libc::SIG_DFL | libc::SIG_IGN => restore_default(signal),
        handler if previous.sa_flags & libc::SA_SIGINFO != 0 => {
            type Handler = unsafe extern "C" fn(c_int, *mut siginfo_t, *mut c_void);
            // SAFETY: the flags say that the handler has this type.
            unsafe {
                let handler: Handler = std::mem::transmute(handler);
                handler(signal, info, context.cast());
            }
        }
        handler => {
            // SAFETY: the flags say that the handler has this type.
            unsafe {
                let handler: unsafe extern "C" fn(c_int) = std::mem::transmute(handler);
                handler(signal);
            }
        }
    }
}

/// Restores the default action. The instruction is executed again and ends the process.
fn restore_default(signal: c_int) {
    // SAFETY: the default action is always valid.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = libc::SIG_DFL;
        libc::sigaction(signal, &action, ptr::null_mut());
    }
}
