//! Stubs for interrupted code: at a safepoint, or by a fault in the guard of a stack.

use super::enter::leave;
use crate::arch::calls::RuntimeCalls;
use ropewalk_abi::{ControlBlock, PausedFrame, PausedRegisters, StoreContext};
use std::mem::offset_of;

/// One instruction for each of the [`PausedRegisters`] at an address, except `rdi`.
macro_rules! all_registers {
    ($one:ident, $base:literal) => {
        concat!(
            $one!("mov", "rax", $base, "0"),
            $one!("mov", "rbx", $base, "8"),
            $one!("mov", "rcx", $base, "16"),
            $one!("mov", "rdx", $base, "24"),
            $one!("mov", "rsi", $base, "32"),
            $one!("mov", "r8", $base, "48"),
            $one!("mov", "r9", $base, "56"),
            $one!("mov", "r10", $base, "64"),
            $one!("mov", "r11", $base, "72"),
            $one!("mov", "r12", $base, "80"),
            $one!("mov", "r13", $base, "88"),
            $one!("mov", "r14", $base, "96"),
            $one!("mov", "r15", $base, "104"),
            $one!("movups", "xmm0", $base, "112"),
            $one!("movups", "xmm1", $base, "128"),
            $one!("movups", "xmm2", $base, "144"),
            $one!("movups", "xmm3", $base, "160"),
            $one!("movups", "xmm4", $base, "176"),
            $one!("movups", "xmm5", $base, "192"),
            $one!("movups", "xmm6", $base, "208"),
            $one!("movups", "xmm7", $base, "224"),
            $one!("movups", "xmm8", $base, "240"),
            $one!("movups", "xmm9", $base, "256"),
            $one!("movups", "xmm10", $base, "272"),
            $one!("movups", "xmm11", $base, "288"),
            $one!("movups", "xmm12", $base, "304"),
            $one!("movups", "xmm13", $base, "320"),
            $one!("movups", "xmm14", $base, "336"),
            $one!("movups", "xmm15", $base, "352"),
        )
    };
}

macro_rules! save_register {
    ($mov:literal, $register:literal, $base:literal, $place:literal) => {
        concat!($mov, " [", $base, " + ", $place, "], ", $register, "\n")
    };
}

macro_rules! load_register {
    ($mov:literal, $register:literal, $base:literal, $place:literal) => {
        concat!($mov, " ", $register, ", [", $base, " + ", $place, "]\n")
    };
}

/// Asks the runtime how a function continues that was stopped at a safepoint. The store's
/// context is in `rdi`. All registers are preserved. No word of the running stack is used,
/// because it may have no room. The registers are saved on the host's stack, so each activation
/// has its own:
///
/// ```text
///   | frames of the host                   |  <- host_sp
///   | PausedRegisters, `rdi` at offset 40  |
///   | the store, one word of padding       |
///   | frame of `paused`                    |
/// ```
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn pause() {
    stub!(
        "mov [rdi + {saved_word}], r11",
        "mov r11, [rdi + {stack}]",
        save_position!(),
        "mov rsp, [rdi + {host_sp}]",
        "mov r11, [rdi + {saved_word}]",
        "sub rsp, {registers}",
        all_registers!(save_register, "rsp"),
        "mov [rsp + 40], rdi",
        "mov rsi, rsp",
        "push rdi",
        "sub rsp, 8",
        call_runtime!("paused"),
        "add rsp, 8",
        "pop rdi",
        "test rax, rax",
        "jnz 2f",
        "mov r11, [rdi + {stack}]", // it may have moved
        "mov rbp, [r11 + {fp}]",
        "mov r11, [r11 + {sp}]",
        "mov [rdi + {saved_word}], r11",
        all_registers!(load_register, "rsp"),
        "mov rsp, [rdi + {saved_word}]",
        "ret",
        "2:",
        "mov r10, rdi",
        "jmp {leave}";
        leave = sym leave,
        registers = const size_of::<PausedRegisters>(),
    )
}

/// Where a stack continues that was suspended in [`pause`]. On top is a [`PausedFrame`] whose
/// first word was popped.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn continue_paused() {
    stub!(
        all_registers!(load_register, "rsp"),
        "mov rdi, [rsp + 40]",
        "add rsp, {paused_fp}",
        "pop rbp",
        "ret";
        paused_fp = const offset_of!(PausedFrame, fp) - offset_of!(PausedFrame, registers),
    )
}

/// Where an interrupted thread continues to get more room for its stack. It runs on the host's
/// stack. The store's context is in `rdi`, and the address of the saved registers in `rsi`. The
/// floating-point and vector registers are still those of the interrupted code.
///
/// ```text
///   | frames of the host                       |  <- host_sp
///   | Saved: registers, fault                  |
///   | xmm0 to xmm15 and their control words    |
///   | address of Saved, the store              |
///   | frame of `make_room`                     |
/// ```
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn make_room() {
    stub!(
        "sub rsp, 512",
        "fxsave64 [rsp]",
        saving!(["rsi" "rdi"] call_runtime!("make_room")),
        "fxrstor64 [rsp]",
        "test rax, rax",
        "jnz 2f",
        "jmp {go_back}",
        "2:",
        "mov r10, rdi",
        "jmp {leave}";
        go_back = sym go_back,
        leave = sym leave,
    )
}

/// Faults, so that the signal handler restores all registers of the interrupted thread at once.
/// The address of the saved registers is in `rsi`.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn go_back() {
    core::arch::naked_asm!("ud2")
}

// The stubs rely on this layout. The first word of the frame is what a switch pops.
const _: () = assert!(
    offset_of!(PausedRegisters, vectors) == 112
        && size_of::<PausedRegisters>() == 112 + 256
        && size_of::<PausedRegisters>().is_multiple_of(16)
        && offset_of!(PausedFrame, registers) == size_of::<usize>()
        && offset_of!(PausedFrame, fp) + size_of::<usize>() == size_of::<PausedFrame>()
);
