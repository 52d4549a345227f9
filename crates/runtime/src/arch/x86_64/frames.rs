//! How functions look to whoever interrupts them.

/// The return address of a function that was interrupted before its frame was in
/// the chain of frame pointers, as an offset from the stack pointer. `offset` says
/// how far into the function it was, or nothing for the stub that probes frames.
/// None if its frame is in the chain.
pub(crate) fn unlinked_return_address(offset: Option<u32>) -> Option<usize> {
    // `push rbp` is one byte long, `mov rbp, rsp` follows it.
    match offset {
        None | Some(0) => Some(0),
        Some(1) => Some(size_of::<usize>()),
        Some(_) => None,
    }
}

/// Whether the instruction at an address is the one that generated code traps by.
///
/// # Safety
///
/// Code must be there.
pub(crate) unsafe fn is_trap_instruction(pc: usize) -> bool {
    const UD2: [u8; 2] = [0x0f, 0x0b];
    // SAFETY: the caller's promise.
    unsafe { (pc as *const [u8; 2]).read_unaligned() == UD2 }
}

/// The number of the register `base`, if the instruction at an address is
/// `mov register, [base - 8]`.
///
/// # Safety
///
/// Code must be there.
pub(crate) unsafe fn loads_from(pc: usize) -> Option<u8> {
    // SAFETY: an instruction that begins there is followed by others, or by the stub
    // that probes frames, or by padding.
    let bytes = unsafe { (pc as *const [u8; 5]).read_unaligned() };
    base_of_load(bytes)
}

fn base_of_load([rex, opcode, mode, fourth, fifth]: [u8; 5]) -> Option<u8> {
    const MOV: u8 = 0x8b;
    const MINUS_8: u8 = 0xf8;
    /// Says that one more byte says which register.
    const SIB: u8 = 4;
    let is_word = rex & 0b1111_1010 == 0b0100_1000; // REX.W, and no index
    let has_distance_of_a_byte = mode >> 6 == 0b01;
    let (low, distance) = match mode & 7 {
        // No index, and the base in the lowest bits.
        SIB if fourth >> 3 == 0b00_100 => (fourth & 7, fifth),
        SIB => return None,
        low => (low, fourth),
    };
    let is_load = is_word && opcode == MOV && has_distance_of_a_byte && distance == MINUS_8;
    is_load.then_some((rex & 1) << 3 | low)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_base_of_a_load_is_found() {
        // mov rcx, [rax - 8]; mov r9, [r14 - 8]; mov rdi, [r12 - 8]; mov rbp, [rbp - 8]
        assert_eq!(base_of_load([0x48, 0x8b, 0x48, 0xf8, 0x90]), Some(0));
        assert_eq!(base_of_load([0x4d, 0x8b, 0x4e, 0xf8, 0x90]), Some(14));
        assert_eq!(base_of_load([0x49, 0x8b, 0x7c, 0x24, 0xf8]), Some(12));
        assert_eq!(base_of_load([0x48, 0x8b, 0x6d, 0xf8, 0x90]), Some(5));
        // mov ecx, [rax - 8]; mov rcx, [rax]; mov rcx, [rax + 8]; mov [rax - 8], rcx;
        // mov rcx, [rax + rbx - 8]
        assert_eq!(base_of_load([0x8b, 0x48, 0xf8, 0x90, 0x90]), None);
        assert_eq!(base_of_load([0x48, 0x8b, 0x08, 0xf8, 0x90]), None);
        assert_eq!(base_of_load([0x48, 0x8b, 0x48, 0x08, 0x90]), None);
        assert_eq!(base_of_load([0x48, 0x89, 0x48, 0xf8, 0x90]), None);
        assert_eq!(base_of_load([0x48, 0x8b, 0x4c, 0x18, 0xf8]), None);
    }
}
