//! Stubs that deliver [bound arguments](ropewalk_abi::bound).

use crate::arch::calls::RuntimeCalls;
use ropewalk_abi::bound::{BoundEnd, BoundHead};
use ropewalk_abi::transfer::CARRIED;
use ropewalk_abi::{ControlBlock, StoreContext};
use std::mem::offset_of;

/// Where a stack with bound arguments continues. Puts them before the values of the switch, and
/// continues where the stack was left. The registers are those of a switch. Registers without a
/// meaning in a switch are overwritten.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn deliver() {
    stub!(
        // The first values go to registers: the bound ones, then those of the switch.
        "cmp qword ptr [rsp + {rest}], {carried} - 1", // both numbers
        "ja 15f",
        "13:", // one value
        "movaps xmm2, xmm1",
        "movaps xmm1, xmm0",
        "movups xmm0, [rsp + {values}]",
        "add rsp, {values} + 16 + {end}",
        "pop r9",
        "jmp r9",
        "15:",
        "mov eax, [rsp + {further}]",
        "inc eax",
        "mov r10d, [rsp + {rest}]",
        "lea r11d, [rax + r10]",
        "cmp r11d, {carried}",
        "ja 4f",
        "14:",
        "cmp eax, 2",
        "jb 13b",
        "ja 3f",
        "movaps xmm2, xmm0",
        "movups xmm1, [rsp + {values}]",
        "movups xmm0, [rsp + {values} + 16]",
        "add rsp, {values} + 2 * 16 + {end}",
        "pop r9",
        "jmp r9",
        "3:",
        "shl rax, 4",
        "movups xmm2, [rsp + rax + {values} - 3 * 16]",
        "movups xmm1, [rsp + rax + {values} - 2 * 16]",
        "movups xmm0, [rsp + rax + {values} - 16]",
        "lea rsp, [rsp + rax + {values} + {end}]",
        "pop r9",
        "jmp r9",
        // Some values do not fit into registers. The values of the switch move up in the
        // transfer area, the last one first. Those in registers are always stored, even the
        // undefined ones: there is room.
        "4:",
        "mov r11, [r8 + {transfer}]",
        "mov r9, rax",
        "shl r9, 4", // the bytes of the bound values
        "shl r10, 4",
        "jz 7f",
        "lea rbx, [r11 + r9]",
        "5:",
        "cmp r10, 16 * {carried}",
        "jbe 6f",
        "movups xmm3, [r11 + r10 - 16]",
        "movups [rbx + r10 - 16], xmm3",
        "sub r10, 16",
        "jmp 5b",
        "6:",
        store_carried!("rbx"),
        // The bound values beyond the registers go before them: four at a time, then singly.
        "7:",
        "lea r10, [rsp + r9 + {values}]", // after the first value
        "sub r9, 16 * {carried}",
        "jbe 14b",
        "sub r10, 16 * {carried}",
        "add r11, 16 * {carried}",
        "sub r9, 64",
        "jb 9f",
        "8:",
        "movups xmm0, [r10 - 16]",
        "movups xmm1, [r10 - 32]",
        "movups xmm2, [r10 - 48]",
        "movups xmm3, [r10 - 64]",
        "movups [r11], xmm0",
        "movups [r11 + 16], xmm1",
        "movups [r11 + 32], xmm2",
        "movups [r11 + 48], xmm3",
        "sub r10, 64",
        "add r11, 64",
        "sub r9, 64",
        "jae 8b",
        "9:",
        "add r9, 64",
        "jz 3b",
        "12:",
        "movups xmm0, [r10 - 16]",
        "movups [r11], xmm0",
        "sub r10, 16",
        "add r11, 16",
        "sub r9, 16",
        "jnz 12b",
        "jmp 3b";
        // The switch has popped the first word of the head.
        further = const offset_of!(BoundHead, further) - size_of::<usize>(),
        rest = const offset_of!(BoundHead, rest) - size_of::<usize>(),
        values = const size_of::<BoundHead>() - size_of::<usize>(),
        end = const size_of::<BoundEnd>(),
        carried = const CARRIED,
    )
}

// `deliver` relies on the number of values in registers.
const _: () = assert!(CARRIED == 3);

/// As [`deliver`], where stacks are checked. The runtime delivers the values.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn deliver_checked() {
    stub!(
        "mov r11, [r8 + {transfer}]",
        store_carried!("r11"),
        "lea rax, [rsp - 8]", // the switch has popped the first word
        "mov rsp, [r8 + {host_sp}]",
        saving!(
            ["rdi" "rsi" "rdx" "rcx" "r8"]
            concat!(
                "sub rsp, 8\n",
                "mov rdi, r8\n",
                "mov rsi, rax\n",
                call_runtime!("deliver_checked"),
                "add rsp, 8\n",
            )
        ),
        "mov rsp, rax",
        "mov r11, [r8 + {transfer}]",
        load_carried!("r11"),
        "pop r9",
        "jmp r9",
    )
}
