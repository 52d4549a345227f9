//! Stubs that enter and leave an activation.
//!
//! Those that enter return an [`Outcome`]. `ended` is zero if WebAssembly returned, or switched
//! to the root; otherwise the store says why the activation ended. `value` is the result of a
//! function that was called with words.

use crate::arch::calls::RuntimeCalls;
use ropewalk_abi::builtin::{CATCH, Outcome};
use ropewalk_abi::{ControlBlock, LEFT_CALL_FRAME, RawVal, StoreContext};
use std::ffi::c_void;
use std::mem::{MaybeUninit, offset_of};

/// Runs an entry trampoline on the stack that ends at `top`.
///
/// # Safety
///
/// The stack must be the store's running one and empty, and the trampoline fit the function and
/// the values.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter(
    store: *mut StoreContext,
    top: usize,
    trampoline: *const c_void,
    values: *mut RawVal,
    context: *mut c_void,
    code: *const c_void,
) -> Outcome {
    stub!(
        save_for_host!(),
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
        return_from_enter!(),
    )
}

/// A stub that calls a WebAssembly function with a few words on the running stack. Both calling
/// conventions pass them in the same registers. The function preserves `rbx`, through which the
/// stub finds the host's stack again.
macro_rules! enter_words_stub {
    ($(#[$doc:meta])* $name:ident, $keep:literal, $back:literal, $result:literal) => {
        $(#[$doc])*
        ///
        /// # Safety
        ///
        /// The function's context must be in a store whose running stack is an empty root, and
        /// the words be those that the function expects.
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name(
            context: *mut c_void,
            a: MaybeUninit<u64>,
            b: MaybeUninit<u64>,
            c: MaybeUninit<u64>,
            d: MaybeUninit<u64>,
            code: *const c_void,
            w: MaybeUninit<f64>,
            x: MaybeUninit<f64>,
            y: MaybeUninit<f64>,
            z: MaybeUninit<f64>,
        ) -> Outcome {
            stub!(
                "mov r10, [rdi]", // the store
                save_for_host!("r10"),
                $keep,
                "mov r11, [r10 + {stack}]",
                "mov rsp, [r11 + {high}]", // from here on, on the root stack
                "xor ebp, ebp",            // ends the chain of frame pointers
                "call r9",
                concat!("mov rsp, ", $back),
                $result,
                "xor eax, eax",
                return_from_enter!(),
            )
        }
    };
}

enter_words_stub! {
    /// Calls a function that cannot wait, and that returns an integer, a reference or nothing.
    enter_words, "mov rbx, rsp", "rbx", "mov rdx, rax"
}

enter_words_stub! {
    /// As [`enter_words`], for a function that returns a float.
    enter_words_for_float, "mov rbx, rsp", "rbx", "movq rdx, xmm0"
}

enter_words_stub! {
    /// As [`enter_words`], for a function that may wait. Then the stub returns to the host code
    /// that has continued the function.
    begin_words, "mov rbx, r10", "[rbx + {host_sp}]", "mov rdx, rax"
}

enter_words_stub! {
    /// As [`begin_words`], for a function that returns a float.
    begin_words_for_float, "mov rbx, r10", "[rbx + {host_sp}]", "movq rdx, xmm0"
}

/// A stub to which a function on a restored root returns. The store is above the frames.
macro_rules! end_restored_stub {
    ($(#[$doc:meta])* $name:ident, $result:literal) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            stub!(
                "pop rcx", // the store
                $result,
                "mov rsp, [rcx + {host_sp}]",
                "xor eax, eax",
                return_from_enter!(),
            )
        }
    };
}

end_restored_stub! {
    /// For a function of a [snapshot](crate::snapshot) whose result is an integer, a reference,
    /// or in an array.
    end_restored, "mov rdx, rax"
}

end_restored_stub! {
    /// As [`end_restored`], for a function that returns a float.
    end_restored_for_float, "movq rdx, xmm0"
}

/// Continues a stack with a signal, the reference under which it will be suspended, and the
/// values in the transfer area. Returns when a stack switches to the root, where [`come_back`]
/// is on top, or when a function on the root returns.
///
/// # Safety
///
/// The store's running stack must be the root, and wait for the other stack. The values must be
/// those that the other stack expects.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter_stack(
    store: *mut StoreContext,
    to: *mut ControlBlock,
    signal: u64,
    reference: u64,
) -> Outcome {
    stub!(
        save_for_host!(),
        "mov r8, rdi",
        switch!(), // its other arguments are in place
    )
}

/// Where a root continues from which the host has continued a stack. Returns zero from
/// [`enter_stack`], and leaves the signal, reference and values of the switch in the store. The
/// registers are those of a switch.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn come_back() {
    stub!(
        "mov [r8 + {signal}], rdx",
        "mov [r8 + {reference}], rcx",
        "mov rax, [r8 + {transfer}]",
        store_carried!("rax"),
        "mov rsp, [r8 + {host_sp}]",
        "xor eax, eax",
        return_from_enter!(),
    )
}

/// Continues at the handler of an exception that the host has thrown on the running stack.
/// Returns as [`enter_stack`] does.
///
/// # Safety
///
/// The exception must have landed there.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn enter_landing(store: *mut StoreContext, exception: u64) -> Outcome {
    stub!(
        save_for_host!(),
        "mov r10, rdi",
        "mov rdx, rsi",
        "mov eax, {catch}",
        "jmp {depart}";
        catch = const CATCH,
        depart = sym depart,
    )
}

/// Ends the activation: returns nonzero from the stub that entered it, unless the runtime has an
/// exception to handle instead. The store's context is in `r10`. Jumped to, never called.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn leave() {
    stub!(
        "mov rsp, [r10 + {host_sp}]",
        "mov rdi, r10",
        call_runtime!("leaving"),
        "mov r10, [rsp]", // the store
        "cmp rax, {catch}",
        "je 2f",
        "mov eax, 1",
        return_from_enter!(),
        "2:",
        land!();
        catch = const CATCH,
    )
}

/// Does not return to the caller of a host function or builtin: ends the activation, continues
/// at the handler of an exception, or suspends the call. The store's context is in `r10`, the
/// outcome in `rax` and `rdx`. Jumped to, never called.
#[unsafe(naked)]
pub(super) unsafe extern "C" fn depart() {
    stub!(
        "cmp rax, {catch}",
        "ja {leave_call}",
        "jne {leave}",
        land!();
        catch = const CATCH,
        leave = sym leave,
        leave_call = sym leave_call,
    )
}

/// Suspends a host call whose results come later. On top of the stack this leaves the equivalent
/// of the frame of a called function:
///
/// ```text
///   | frames                                       |
///   | return into the caller, or a host trampoline |  <- sp in the call
///   | frame pointer                                |  <- fp
///   | LeftCall: array, results                     |
///   | r15 r14 r13 r12 rbx                          |
///   | nothing, for the alignment                   |
///   | continue_call                                |  <- sp
/// ```
///
/// Then it continues the stack in the store's [`Passage`](ropewalk_abi::Passage), or
/// [leaves](leave) if there is none. The store's context is in `r10`. Jumped to, never called.
#[unsafe(naked)]
unsafe extern "C" fn leave_call() {
    stub!(
        "mov r11, [r10 + {stack}]",
        "mov rcx, [r11 + {sp}]",
        "mov rax, [r11 + {fp}]",
        "mov [rcx - 8], rax",
        "mov rax, [r10 + {array}]",
        "mov [rcx - 16], rax",
        "mov rax, [r10 + {results}]",
        "mov [rcx - 24], rax",
        "mov [rcx - 32], r15",
        "mov [rcx - 40], r14",
        "mov [rcx - 48], r13",
        "mov [rcx - 56], r12",
        "mov [rcx - 64], rbx",
        "lea rax, [rip + {continue_call}]",
        "mov [rcx - 80], rax",
        "lea rax, [rcx - 8]",
        "mov [r11 + {fp}], rax",
        "sub rcx, 80",
        "mov [r11 + {sp}], rcx",
        "mov rsi, [r10 + {to}]",
        "test rsi, rsi",
        "je {leave}",
        "mov rdx, [r10 + {signal}]",
        "mov rcx, [r10 + {reference}]",
        "mov r8, r10",
        switch!();
        leave = sym leave,
        continue_call = sym continue_call,
    )
}

const _: () = assert!(LEFT_CALL_FRAME == 80);

/// Where a stack continues that was suspended in a host call. Returns as the stub that called
/// the host would have, with the values of the switch as results. The registers are those of a
/// switch.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn continue_call() {
    stub!(
        "add rsp, 8",
        "pop rbx",
        "pop r12",
        "pop r13",
        "pop r14",
        "pop r15",
        "pop rcx", // the number of results
        "pop rdx", // the bytes of the array
        "movq rax, xmm0",
        "test rdx, rdx",
        "jz 2f",
        "mov rsi, [r8 + {transfer}]",
        store_carried!("rsi"),
        "mov rdi, [r8 + {host_sp}]",
        "sub rdi, rdx",
        "add rcx, rcx", // words
        "rep movsq",
        "2:",
        "pop rbp",
        "ret", // the one word is in rax, and still in xmm0
    )
}
