//! Stubs where stacks begin, end, and continue after they were parked.

use super::enter::leave;
use crate::arch::calls::RuntimeCalls;
use ropewalk_abi::stack::Purpose;
use ropewalk_abi::{ControlBlock, StoreContext};
use std::mem::offset_of;

/// Where a stack begins: calls its function. The stack's block is in `rsi` and the signal in
/// `rdx`, as in any switch. A jump enters the function, and a jump leaves the stack in the end:
/// after a call the processor would predict a return.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn start() {
    stub!(
        "mov rdi, [rsi + {function}]",
        "xor ebp, ebp", // ends the chain of frame pointers
        "lea rax, [rip + 2f]",
        "push rax",
        "jmp [rsi + {entry}]",
        "2:",
        "ud2", // the function switches to the parent by itself
    )
}

/// Where a parked stack continues: has the runtime unpack its frames, and continues where it was
/// left. The stack's block is in `rsi` and the store's context in `r8`, as in any switch. All
/// registers of a switch are preserved. There is no stack until the frames are unpacked.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn unpark() {
    stub!(
        "mov rsp, [r8 + {host_sp}]",
        saving!(
            ["rdi" "rsi" "rdx" "rcx" "r8"]
            concat!(
                "sub rsp, 56\n", // three values, and the stack is aligned to 16 bytes
                store_carried!("rsp"),
                "mov rdi, r8\n",
                call_runtime!("unpark_running"),
                load_carried!("rsp"),
                "add rsp, 56\n",
            )
        ),
        "mov r10, r8",
        "test rax, rax",
        "jnz {leave}",
        "mov rsp, [rsi + {sp}]",
        "mov rbp, [rsi + {fp}]",
        "pop r9",
        "jmp r9";
        leave = sym leave,
    )
}

/// A stub that frees the running stack of the store in `rdi`, and continues its parent with the
/// registers of a switch.
macro_rules! finish_stub {
    ($(#[$doc:meta])* $name:ident, $signal:literal) => {
        $(#[$doc])*
        #[unsafe(naked)]
        pub(crate) unsafe extern "C" fn $name() {
            stub!(
                $signal,
                "mov r8, rdi",
                "mov rdi, [r8 + {stack}]",
                "mov rsi, [rdi + {parent}]",
                "mov rax, [r8 + {free_stacks}]",
                "mov [rdi + {next_free}], rax",
                "mov dword ptr [rdi + {purpose}], {free}", // and no marks
                "mov [r8 + {free_stacks}], rdi",
                continue_stack!();
                free = const Purpose::Free as u32,
            )
        }
    };
}

finish_stub! {
    /// Ends a stack whose function has returned.
    finish, "xor edx, edx"
}

finish_stub! {
    /// Ends a stack with the signal in `rsi`.
    finish_with, "mov rdx, rsi"
}

/// As [`finish`], but first traces the end, with the values in the transfer area.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn finish_traced() {
    core::arch::naked_asm!(
        "xor esi, esi",
        "jmp {finish_with_traced}",
        finish_with_traced = sym finish_with_traced,
    )
}

/// As [`finish_with`], but first traces the end, with the values in the transfer area.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn finish_with_traced() {
    stub!(
        "mov rax, [rdi + {transfer}]",
        store_carried!("rax"),
        "mov r11, [rdi + {stack}]",
        save_position!(),
        "mov rsp, [rdi + {host_sp}]",
        saving!(["rdi" "rsi"] call_runtime!("finished")),
        "mov rax, [rdi + {transfer}]",
        load_carried!("rax"),
        "jmp {finish_with}"; // which continues the parent
        finish_with = sym finish_with,
    )
}

/// The return address of the outermost frame of a blank stack. Nothing returns there: the
/// runtime detects such returns before they happen.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn ground() {
    core::arch::naked_asm!("ud2")
}
