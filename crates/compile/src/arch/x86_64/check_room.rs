//! Recognizes the code that checks for room on the stack.

/// Whether the instruction at an offset is `mov register, [base - 8]`, right after `mov base, rsp`.
/// Then the fault handler that moves the stack at the load knows which register is a copy of the
/// stack pointer.
pub(crate) fn is_check_for_room(code: &[u8], at: usize) -> bool {
    let Some(copy) = at.checked_sub(3).and_then(|copy| code.get(copy..at)) else { return false };
    let load = &code[at..];
    let (REX_W..=REX_W_B, [0x89, mode]) = (copy[0], [copy[1], copy[2]]) else { return false };
    let base = (copy[0] & 1, mode & 7);
    // A move from rsp to a register.
    if mode & !7 != 0b11_100_000 {
        return false;
    }
    let [rex, 0x8b, mode, ref rest @ ..] = *load else { return false };
    let is_word = rex & 0b1111_1010 == REX_W;
    let distance = match (mode & 7, rest) {
        // One more byte has the base, without an index.
        (4, [sib, distance, ..]) if *sib == 0x24 => distance,
        (4, _) => return false,
        (_, [distance, ..]) => distance,
        _ => return false,
    };
    is_word && mode >> 6 == 0b01 && (rex & 1, mode & 7) == base && *distance == MINUS_8
}

/// The prefix of 64-bit instructions, and the same with one of the upper registers.
const REX_W: u8 = 0x48;
const REX_W_B: u8 = 0x49;
const MINUS_8: u8 = 0xf8;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_check_for_room_loads_from_a_copy_of_the_stack_pointer() {
        let checks: [&[u8]; 4] = [
            &[0x48, 0x89, 0xe0, 0x48, 0x8b, 0x48, 0xf8],       // rax
            &[0x49, 0x89, 0xe6, 0x4d, 0x8b, 0x4e, 0xf8],       // r14
            &[0x49, 0x89, 0xe4, 0x49, 0x8b, 0x7c, 0x24, 0xf8], // r12
            &[0x49, 0x89, 0xe5, 0x49, 0x8b, 0x45, 0xf8],       // r13
        ];
        for check in checks {
            assert!(is_check_for_room(check, 3), "{check:x?}");
        }
        let others: [&[u8]; 6] = [
            &[0x48, 0x89, 0xe0, 0x48, 0x8b, 0x49, 0xf8], // from another register
            &[0x48, 0x89, 0xd8, 0x48, 0x8b, 0x48, 0xf8], // a copy of rbx
            &[0x48, 0x89, 0xe0, 0x48, 0x8b, 0x48, 0x08], // above
            &[0x48, 0x89, 0xe0, 0x48, 0x89, 0x48, 0xf8], // a store
            &[0x48, 0x89, 0x60, 0x48, 0x8b, 0x48, 0xf8], // rsp is stored
            &[0x48, 0x89, 0xe0],
        ];
        for other in others {
            assert!(!is_check_for_room(other, 3), "{other:x?}");
        }
        assert!(!is_check_for_room(checks[0], 2));
    }
}
