//! Stubs that call the host from WebAssembly.
//!
//! Each calls on the host's stack, and then returns to the running stack, wherever its memory is
//! by then. The variants for traces and moving stacks first call the runtime with the arguments
//! saved. Generated code cannot call the runtime there: a function that is called by reference may
//! be one of the host, and in other calls the values already lie below the host's stack pointer.

use super::enter::depart;
use crate::arch::calls::RuntimeCalls;
use ropewalk_abi::{ControlBlock, HostContext, StoreContext};
use std::ffi::c_void;
use std::mem::offset_of;

/// A stub that goes to the host's stack, executes the sequence `call` there, which calls the
/// host, and returns to WebAssembly after the sequence `after`.
macro_rules! call_stub {
    (
        $(#[$doc:meta])*
        $name:ident,
        to_host_stack: $to_host_stack:literal,
        call: [$($call:expr),* $(,)?],
        after: [$($after:literal),*] $(,)?
        $(; $($operand:ident = $kind:ident $value:expr),*)?
    ) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            stub!(
                "mov r10, [rdi]", // any context begins with the store
                "mov r11, [r10 + {stack}]",
                save_position!(),
                $to_host_stack,
                "push r10",
                $($call,)*
                "mov r10, [rsp + 8]",
                "test rax, rax",
                "jnz {depart}",
                return_to_running!(),
                $($after,)*
                "ret";
                depart = sym depart,
                $($($operand = $kind $value,)*)?
            )
        }
    };
}

/// Executes a sequence with the registers of up to four integers and floats saved.
macro_rules! saving_words {
    ($body:expr) => {
        saving!(
            ["rdi" "rsi" "rdx" "rcx" "r8"]
            concat!(
                "sub rsp, 32\n",
                "movlps [rsp], xmm0\n",
                "movlps [rsp + 8], xmm1\n",
                "movlps [rsp + 16], xmm2\n",
                "movlps [rsp + 24], xmm3\n",
                $body,
                "movlps xmm3, [rsp + 24]\n",
                "movlps xmm2, [rsp + 16]\n",
                "movlps xmm1, [rsp + 8]\n",
                "movlps xmm0, [rsp]\n",
                "add rsp, 32\n",
            )
        )
    };
}

/// Watches the call of the host function in `rdi`.
macro_rules! watch_call {
    () => {
        concat!("mov rsi, rdi\n", "mov rdi, r10\n", call_runtime!("host_called"))
    };
}

/// Watches the end of a call. The outcome is in `rax` and `rdx`.
macro_rules! watch_return {
    () => {
        saving!(
            ["rax" "rdx"]
            concat!(
                "mov rdi, [rsp + 24]\n", // the store
                "mov rsi, rax\n",
                call_runtime!("host_returned"),
            )
        )
    };
}

call_stub! {
    /// Calls the builtin in `r9` with up to five words, and returns its value. The first word is
    /// the instance's context.
    call_builtin,
    to_host_stack: "mov rsp, [r10 + {host_sp}]",
    call: ["sub rsp, 8", "call r9"],
    after: ["mov rax, rdx"],
}

call_stub! {
    /// Calls the host function in `rdx` with its context in `rdi` and its values in `rsi`, which
    /// are right below the host's stack pointer.
    call_host,
    to_host_stack: "mov rsp, rsi",
    call: ["sub rsp, 8", "call rdx"],
    after: [],
}

call_stub! {
    /// As [`call_host`], but the runtime watches the call and its end.
    call_host_watched,
    to_host_stack: "mov rsp, rsi",
    call: [
        saving!(["rdi" "rsi" "rdx"] watch_call!()),
        "sub rsp, 8",
        "call rdx",
        watch_return!(),
    ],
    after: [],
}

/// Calls the host function of the context in `rdi` with a few words. Both calling conventions
/// pass them in the same registers. The result is returned as an integer and as a float. The
/// store is on top of the host's stack.
#[unsafe(naked)]
unsafe extern "C" fn call_words() {
    stub!(
        "mov r10, [rdi]", // the store
        "mov r11, [r10 + {stack}]",
        save_position!(),
        "mov rsp, [r10 + {host_sp}]",
        "call [rdi + {host_function}]",
        "mov r10, [rsp]",
        "test rax, rax",
        "jnz {depart}",
        return_to_running!(),
        "mov rax, rdx",
        "movq xmm0, rdx",
        "ret";
        host_function = const offset_of!(HostContext, function),
        depart = sym depart,
    )
}

call_stub! {
    /// As [`call_words`], but the runtime watches the call and its end.
    call_words_watched,
    to_host_stack: "mov rsp, [r10 + {host_sp}]",
    call: [
        saving_words!(watch_call!()),
        "sub rsp, 8",
        "call [rdi + {host_function}]",
        watch_return!(),
    ],
    after: ["mov rax, rdx", "movq xmm0, rdx"];
    host_function = const offset_of!(HostContext, function)
}

/// The code of host functions whose arguments and results are [in
/// registers](ropewalk_abi::signature::in_registers).
pub fn host_words(is_watched: bool) -> *const c_void {
    match is_watched {
        true => call_words_watched as *const c_void,
        false => call_words as *const c_void,
    }
}
