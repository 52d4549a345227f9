//! The few instructions between the host's stack and WebAssembly's.
//!
//! Entering. `enter` saves what the host's convention wants preserved on the
//! host's stack, notes that place in the store, and calls the entry trampoline
//! on a root stack:
//!
//! ```text
//!   host's stack                        root stack
//!   | frames of the host     |          | (empty)              | high
//!   | return address         |          | return into `enter`  |
//!   | rbp rbx r12 r13 r14 r15|          | entry trampoline     |
//!   | store                  | <------- | functions ...        |
//!     ^ StoreContext::host_sp             ^ rsp
//! ```
//!
//! Calling the host. The stub notes where WebAssembly was left in the control
//! block of the running stack, goes to the host's stack below `host_sp` (for a
//! host function below its values, which the trampoline put there), and calls:
//!
//! ```text
//!   | store                  | host_sp  | functions ...        |
//!   | values                 |          | trampoline           |
//!   | store                  |          | return into it       |
//!   | return into the stub   |            ^ ControlBlock::sp
//!   | frames of the host     |
//!     ^ rsp
//! ```
//!
//! When it returns, rsp and rbp come from the control block again, wherever the
//! memory of the stack is by then. The host preserves the registers that its
//! convention wants preserved, so WebAssembly's values in them survive.
//!
//! Ending. `leave` goes back to `host_sp` and returns from `enter`, whatever is
//! left on any WebAssembly stack. A builtin or host function that does not want
//! WebAssembly to go on gets there by answering so, and the handler of signals by making it the place where the thread continues.
//!
//! Switching. Generated code leaves one WebAssembly stack and continues another
//! by itself; both are left like in a host call, with the address to continue
//! at on top. A new stack continues at `start`, and ends in `finish`.
//!
//! Catching. One that throws an exception answers so after it has written into
//! the control block where the handler's frame is and its code; the stub goes
//! on there.

use ropewalk_abi::builtin::{CATCH, Outcome};
use ropewalk_abi::stack::StackState;
use ropewalk_abi::{ControlBlock, RawVal, StoreContext};
use std::ffi::c_void;
use std::mem::offset_of;

/// Runs an entry trampoline on the stack that ends at `top`. Answers zero when
/// it returned, nonzero when WebAssembly was left by [`leave`].
///
/// # Safety
///
/// The store's running stack must be the one that ends at `top` and have
/// nothing on it, and the trampoline fit the function and the values.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter(
    store: *mut StoreContext,
    top: usize,
    trampoline: *const c_void,
    values: *mut RawVal,
    context: *mut c_void,
    code: *const c_void,
) -> u64 {
    core::arch::naked_asm!(
        "push rbp",
        "push rbx",
        "push r12",
        "push r13",
        "push r14",
        "push r15",
        "push rdi", // the store; it also aligns the stack to 16 bytes
        "mov [rdi + {host_sp}], rsp",
        "mov rbx, rdi",
        "mov rsp, rsi", // from here on, on the root stack
        "mov rax, rdx",
        "mov rdi, rcx", // the trampoline's arguments: values, context, code
        "mov rsi, r8",
        "mov rdx, r9",
        "xor ebp, ebp", // ends the chain of frame pointers
        "call rax",
        "mov rsp, [rbx + {host_sp}]", // the trampoline preserves rbx
        "xor eax, eax",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        host_sp = const offset_of!(StoreContext, host_sp),
    )
}

/// Ends the activation: returns nonzero from the [`enter`] that began it. The
/// store's context is in `r10`. Jumped to, never called.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave() {
    core::arch::naked_asm!(
        "mov rsp, [r10 + {host_sp}]",
        "mov eax, 1",
        "add rsp, 8",
        "pop r15",
        "pop r14",
        "pop r13",
        "pop r12",
        "pop rbx",
        "pop rbp",
        "ret",
        host_sp = const offset_of!(StoreContext, host_sp),
    )
}

/// Does not go on behind the call: ends the activation, or continues at the
/// handler of an exception. The store's context is in `r10`, the outcome in
/// `rax` and `rdx`. Jumped to, never called.
#[unsafe(naked)]
unsafe extern "C" fn depart() {
    core::arch::naked_asm!(
        "cmp rax, {catch}",
        "jne {leave}",
        "mov r11, [r10 + {stack}]",
        "mov rsp, [r11 + {sp}]",
        "mov rbp, [r11 + {fp}]",
        "mov rax, rdx", // a handler gets the exception in rax
        "jmp [r10 + {landing}]",
        catch = const CATCH,
        leave = sym leave,
        stack = const offset_of!(StoreContext, stack),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
        landing = const offset_of!(StoreContext, landing),
    )
}

/// Calls the builtin in `r9` with up to five words, of which the first is the
/// instance's context; answers its value.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_builtin() {
    core::arch::naked_asm!(
        "mov r10, [rdi]", // any context begins with the store
        "mov r11, [r10 + {stack}]",
        "mov [r11 + {sp}], rsp",
        "mov [r11 + {fp}], rbp",
        "mov rsp, [r10 + {host_sp}]", // from here on, on the host's stack
        "push r10",
        "sub rsp, 8",
        "call r9",
        "mov r10, [rsp + 8]",
        "test rax, rax",
        "jnz {depart}",
        "mov r11, [r10 + {stack}]",
        "mov rsp, [r11 + {sp}]",
        "mov rbp, [r11 + {fp}]",
        "mov rax, rdx",
        "ret",
        stack = const offset_of!(StoreContext, stack),
        host_sp = const offset_of!(StoreContext, host_sp),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
        depart = sym depart,
    )
}

/// Calls the host function in `rdx` with its context in `rdi` and its values
/// in `rsi`, which lie right below the host's stack pointer.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_host() {
    core::arch::naked_asm!(
        "mov r10, [rdi]",
        "mov r11, [r10 + {stack}]",
        "mov [r11 + {sp}], rsp",
        "mov [r11 + {fp}], rbp",
        "mov rsp, rsi", // from here on, on the host's stack
        "push r10",
        "sub rsp, 8",
        "call rdx",
        "mov r10, [rsp + 8]",
        "test rax, rax",
        "jnz {depart}",
        "mov r11, [r10 + {stack}]",
        "mov rsp, [r11 + {sp}]",
        "mov rbp, [r11 + {fp}]",
        "ret",
        stack = const offset_of!(StoreContext, stack),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
        depart = sym depart,
    )
}

/// As [`call_builtin`], but first moves the running stack to other memory.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_builtin_moving() {
    core::arch::naked_asm!(
        "mov r10, [rdi]",
        "mov r11, [r10 + {stack}]",
        "mov [r11 + {sp}], rsp",
        "mov [r11 + {fp}], rbp",
        "mov rsp, [r10 + {host_sp}]",
        "push r10",
        "push rdi",
        "push rsi",
        "push rdx",
        "push rcx",
        "push r8",
        "push r9",
        "sub rsp, 8",
        "mov rdi, r10",
        "call {move_stack}",
        "add rsp, 8",
        "pop r9",
        "pop r8",
        "pop rcx",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "sub rsp, 8",
        "call r9",
        "mov r10, [rsp + 8]",
        "test rax, rax",
        "jnz {depart}",
        "mov r11, [r10 + {stack}]",
        "mov rsp, [r11 + {sp}]",
        "mov rbp, [r11 + {fp}]",
        "mov rax, rdx",
        "ret",
        stack = const offset_of!(StoreContext, stack),
        host_sp = const offset_of!(StoreContext, host_sp),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
        depart = sym depart,
        move_stack = sym crate::store::move_stack_of,
    )
}

/// As [`call_host`], but first moves the running stack to other memory.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn call_host_moving() {
    core::arch::naked_asm!(
        "mov r10, [rdi]",
        "mov r11, [r10 + {stack}]",
        "mov [r11 + {sp}], rsp",
        "mov [r11 + {fp}], rbp",
        "mov rsp, rsi",
        "push r10",
        "push rdi",
        "push rsi",
        "push rdx",
        "mov rdi, r10",
        "call {move_stack}",
        "pop rdx",
        "pop rsi",
        "pop rdi",
        "sub rsp, 8",
        "call rdx",
        "mov r10, [rsp + 8]",
        "test rax, rax",
        "jnz {depart}",
        "mov r11, [r10 + {stack}]",
        "mov rsp, [r11 + {sp}]",
        "mov rbp, [r11 + {fp}]",
        "ret",
        stack = const offset_of!(StoreContext, stack),
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
        depart = sym depart,
        move_stack = sym crate::store::move_stack_of,
    )
}

/// Where a stack starts: calls its function. The stack's block is in `rsi`, as
/// the code that switches leaves it. It is entered by a jump, and left by one in
/// the end: after a call the processor would expect a return.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn start() {
    core::arch::naked_asm!(
        "mov rdi, [rsi + {function}]",
        "mov rcx, rdx", // the signal
        "mov rdx, rsp", // the arguments that the stack was made with
        "xor ebp, ebp", // ends the chain of frame pointers
        "lea rax, [rip + 2f]",
        "push rax",
        "jmp [rsi + {entry}]",
        "2:",
        "ud2", // it goes back to the parent by itself
        function = const offset_of!(ControlBlock, function),
        entry = const offset_of!(ControlBlock, entry),
    )
}

/// Frees the running stack of the store in `rdi` and continues its parent, with
/// the signal that it has returned and the same registers as after a switch.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn finish() {
    core::arch::naked_asm!(
        "mov r8, rdi",
        "mov rdi, [r8 + {stack}]",
        "mov rsi, [rdi + {parent}]",
        "mov rax, [r8 + {free_stacks}]",
        "mov [rdi + {next_free}], rax",
        "mov dword ptr [rdi + {state}], {free}", // and no marks
        "mov [r8 + {free_stacks}], rdi",
        "mov [r8 + {stack}], rsi",
        "mov rsp, [rsi + {sp}]",
        "mov rbp, [rsi + {fp}]",
        "xor edx, edx",
        "pop r9",
        "jmp r9",
        stack = const offset_of!(StoreContext, stack),
        free_stacks = const offset_of!(StoreContext, free_stacks),
        parent = const offset_of!(ControlBlock, parent),
        next_free = const offset_of!(ControlBlock, next_free),
        state = const offset_of!(ControlBlock, state),
        free = const StackState::Free as u32,
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
    )
}

/// Frees the running stack of the store in `rdi` and continues its parent, with
/// the signal in `rsi` and the same registers as after a switch.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn finish_with() {
    core::arch::naked_asm!(
        "mov rdx, rsi",
        "mov r8, rdi",
        "mov rdi, [r8 + {stack}]",
        "mov rsi, [rdi + {parent}]",
        "mov rax, [r8 + {free_stacks}]",
        "mov [rdi + {next_free}], rax",
        "mov dword ptr [rdi + {state}], {free}", // and no marks
        "mov [r8 + {free_stacks}], rdi",
        "mov [r8 + {stack}], rsi",
        "mov rsp, [rsi + {sp}]",
        "mov rbp, [rsi + {fp}]",
        "pop r9",
        "jmp r9",
        stack = const offset_of!(StoreContext, stack),
        free_stacks = const offset_of!(StoreContext, free_stacks),
        parent = const offset_of!(ControlBlock, parent),
        next_free = const offset_of!(ControlBlock, next_free),
        state = const offset_of!(ControlBlock, state),
        free = const StackState::Free as u32,
        sp = const offset_of!(ControlBlock, sp),
        fp = const offset_of!(ControlBlock, fp),
    )
}

/// The frame below the first one of a blank stack. Nothing returns to it: what
/// would is found out before.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn ground() {
    core::arch::naked_asm!("ud2")
}

// The stubs test `rax` for a nonzero `ended` and take `value` from `rdx`.
const _: () = assert!(offset_of!(Outcome, ended) == 0 && offset_of!(Outcome, value) == 8);
// The stubs load the store from the first word of any context.
const _: () = assert!(offset_of!(ropewalk_abi::InstanceHeader, store) == 0);
const _: () = assert!(offset_of!(ropewalk_abi::HostContext, store) == 0);
