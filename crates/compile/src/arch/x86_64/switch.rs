//! The code outside of functions: switching between stacks, and probing large frames.
//!
//! It is copied into images, so it is kept as bytes. A test assembles the same lines and compares
//! the result.

use ropewalk_abi::access::PAGE;
use ropewalk_abi::{ControlBlock, StoreContext};
use std::mem::offset_of;

/// Probes a frame of `eax` bytes page by page, so that a frame larger than the guard cannot skip
/// it.
///
/// Any probe may fault, and the stack may then move, so the code keeps offsets from `rsp` only. It
/// preserves all registers except `r10` and `r11`, which no convention uses for arguments.
pub(crate) const PROBE_STACK: &[u8] = &[
    0x45, 0x31, 0xdb, // xor r11d, r11d
    0x49, 0x81, 0xeb, 0x00, 0x10, 0x00, 0x00, // 1: sub r11, 4096
    0x42, 0x83, 0x0c, 0x1c, 0x00, // or dword ptr [rsp + r11], 0
    0x4e, 0x8d, 0x14, 0x18, // lea r10, [rax + r11]
    0x49, 0x81, 0xfa, 0x00, 0x10, 0x00, 0x00, // cmp r10, 4096
    0x73, 0xe7, // jae 1b
    0xc3, // ret
];

const _: () = assert!(PAGE == 0x1000, "the step of `PROBE_STACK`");

/// Leaves a stack for another. The store records the new running stack when nothing more can fault.
///
/// Each switch has its own copy and jumps to it. After a call, the processor would expect a return
/// and mispredict the returns of the functions around it. The first instruction computes the
/// address after the jump, at the distance in the four bytes at [`DISTANCE`].
const SWITCH: &[u8] = &[
    0x4c, 0x8d, 0x0d, 0, 0, 0, 0, // lea r9, [rip + after the jump]
    0x41, 0x51, // push r9
    0x48, 0x89, 0x67, SP, // mov [rdi + sp], rsp
    0x48, 0x89, 0x6f, FP, // mov [rdi + fp], rbp
    0x49, 0x89, 0x70, STACK, // mov [r8 + stack], rsi
];

/// Continues the other stack, at the end of a switch.
///
/// Its first word is not read through `rsp`. Where many stacks take turns, their pages miss the
/// TLB, and an access through `rsp` then stalls the processor. That was measured to take ten times
/// as long.
const CONTINUE: &[u8] = &[
    0x4c, 0x8b, 0x4e, SP, // mov r9, [rsi + sp]
    0x48, 0x8b, 0x6e, FP, // mov rbp, [rsi + fp]
    0x49, 0x8d, 0x61, 0x08, // lea rsp, [r9 + 8]
    0x41, 0xff, 0x21, // jmp [r9]
];

/// Goes to the other stack, on which a thunk will run.
const GO: &[u8] = &[
    0x48, 0x8b, 0x66, SP, // mov rsp, [rsi + sp]
    0x48, 0x8b, 0x6e, FP, // mov rbp, [rsi + fp]
];

/// The offset of the distance in `SWITCH`.
const DISTANCE: usize = 3;
/// The size of a distance, which counts from its end.
const DISTANCE_SIZE: usize = 4;

/// Continues where the stack was left, at the end of a function on top of a frame that waits in a
/// switch. A return would be mispredicted, since there was no call.
pub(crate) const CONTINUE_BELOW: &[u8] = &[
    0x41, 0x59, // pop r9
    0x41, 0xff, 0xe1, // jmp r9
];

const STACK: u8 = offset_of!(StoreContext, stack) as u8;
const SP: u8 = offset_of!(ControlBlock, sp) as u8;
const FP: u8 = offset_of!(ControlBlock, fp) as u8;
const _: () = assert!(offset_of!(ControlBlock, sp) < 128 && offset_of!(ControlBlock, fp) < 128);
const _: () = assert!(offset_of!(StoreContext, stack) < 128);

/// The opcodes of a near call and of a near jump.
const CALL: u8 = 0xe8;
const JUMP: u8 = 0xe9;

/// Appends the code for a switch, and turns the call whose distance is at `at` into a jump to it.
/// Returns the place of the code, or none if a distance is too large. The code ends in a jump to
/// the thunk, if there is one.
pub(crate) fn place_switch(code: &mut Vec<u8>, at: usize, thunk: Option<i64>) -> Option<i64> {
    let opcode = &mut code[at - 1];
    assert_eq!(*opcode, CALL, "a near call");
    *opcode = JUMP;
    let place = code.len();
    code.extend_from_slice(SWITCH);
    write_distance(code, place + DISTANCE, (at + DISTANCE_SIZE) as i64)?;
    match thunk {
        None => code.extend_from_slice(CONTINUE),
        Some(thunk) => {
            code.extend_from_slice(GO);
            code.extend_from_slice(&[JUMP, 0, 0, 0, 0]);
            let at = code.len() - DISTANCE_SIZE;
            write_distance(code, at, thunk)?;
        }
    }
    Some(place as i64)
}

fn write_distance(code: &mut [u8], at: usize, target: i64) -> Option<()> {
    let distance = i32::try_from(target - (at + DISTANCE_SIZE) as i64).ok()?;
    code[at..][..DISTANCE_SIZE].copy_from_slice(&distance.to_le_bytes());
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::arch::naked_asm;

    fn assembled(function: unsafe extern "C" fn(), len: usize) -> &'static [u8] {
        // SAFETY: the function has this many bytes, or other code follows it.
        unsafe { std::slice::from_raw_parts(function as *const u8, len) }
    }

    #[unsafe(naked)]
    unsafe extern "C" fn probe_stack() {
        naked_asm!(
            "xor r11d, r11d",
            "2:",
            "sub r11, 4096",
            "or dword ptr [rsp + r11], 0",
            "lea r10, [rax + r11]",
            "cmp r10, 4096",
            "jae 2b",
            "ret",
        )
    }

    #[unsafe(naked)]
    unsafe extern "C" fn switch() {
        naked_asm!(
            "lea r9, [rip + 2f]",
            "2:",
            "push r9",
            "{{disp8}} mov [rdi + {sp}], rsp",
            "{{disp8}} mov [rdi + {fp}], rbp",
            "{{disp8}} mov [r8 + {stack}], rsi",
            "{{disp8}} mov r9, [rsi + {sp}]",
            "{{disp8}} mov rbp, [rsi + {fp}]",
            "lea rsp, [r9 + 8]",
            "jmp [r9]",
            sp = const offset_of!(ControlBlock, sp),
            fp = const offset_of!(ControlBlock, fp),
            stack = const offset_of!(StoreContext, stack),
        )
    }

    #[unsafe(naked)]
    unsafe extern "C" fn go() {
        naked_asm!(
            "{{disp8}} mov rsp, [rsi + {sp}]",
            "{{disp8}} mov rbp, [rsi + {fp}]",
            sp = const offset_of!(ControlBlock, sp),
            fp = const offset_of!(ControlBlock, fp),
        )
    }

    #[unsafe(naked)]
    unsafe extern "C" fn continue_below() {
        naked_asm!("pop r9", "jmp r9")
    }

    #[test]
    fn probing_is_what_the_assembler_makes_of_it() {
        assert_eq!(PROBE_STACK, assembled(probe_stack, PROBE_STACK.len()));
    }

    #[test]
    fn a_switch_is_what_the_assembler_makes_of_it() {
        let bytes = [SWITCH, CONTINUE].concat();
        assert_eq!(bytes, assembled(switch, bytes.len()));
        assert_eq!(GO, assembled(go, GO.len()));
        assert_eq!(CONTINUE_BELOW, assembled(continue_below, CONTINUE_BELOW.len()));
    }

    #[test]
    fn a_switch_continues_after_the_jump_to_it() {
        let mut code = vec![0x90, CALL, 0, 0, 0, 0, 0x90];
        let place = place_switch(&mut code, 2, None).unwrap();
        assert_eq!((place, code[1]), (7, JUMP));
        let distance = i32::from_le_bytes(code[7 + DISTANCE..][..4].try_into().unwrap());
        assert_eq!(7 + 7 + distance, 6, "the instruction after the jump");
    }

    #[test]
    fn a_switch_into_a_thunk_ends_in_a_jump_to_it() {
        let mut code = vec![CALL, 0, 0, 0, 0];
        place_switch(&mut code, 1, Some(0)).unwrap();
        let end = code.len();
        let distance = i32::from_le_bytes(code[end - 4..].try_into().unwrap());
        assert_eq!((code[end - 5], end as i32 + distance), (JUMP, 0));
    }
}
