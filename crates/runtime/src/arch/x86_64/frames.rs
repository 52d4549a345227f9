//! Recognizes instructions of interrupted functions.

/// The offset from the stack pointer to the return address of a function that was interrupted
/// before its frame was in the chain of frame pointers. `offset` is the position in the function,
/// or `None` in the stub that probes frames. Returns `None` if the frame is in the chain.
pub(crate) fn unlinked_return_address(offset: Option<u32>) -> Option<usize> {
    // `push rbp` is one byte long. `mov rbp, rsp` follows it.
    match offset {
        None | Some(0) => Some(0),
        Some(1) => Some(size_of::<usize>()),
        Some(_) => None,
    }
}

/// Whether generated code traps with the instruction at an address.
///
/// # Safety
///
/// It must be the address of an instruction that was executed.
pub(crate) unsafe fn is_trap_instruction(pc: usize) -> bool {
    const UD2: [u8; 2] = [0x0f, 0x0b];
    // SAFETY: the caller's promise. Instructions with this first byte have a second one.
    unsafe { byte(pc, 0) == UD2[0] && byte(pc, 1) == UD2[1] }
}

/// A byte of the instruction at an address.
///
/// # Safety
///
/// The instruction must have been executed, and have this byte. The code after it may not be
/// readable [yet](crate::code::precompiled).
unsafe fn byte(pc: usize, number: usize) -> u8 {
    // SAFETY: the caller's promise.
    unsafe { *((pc + number) as *const u8) }
}

/// The number of the register `base`, if the instruction at an address is `mov register, [base -
/// 8]`.
///
/// # Safety
///
/// It must be the address of an instruction that was executed.
pub(crate) unsafe fn loads_from(pc: usize) -> Option<u8> {
    const MOV: u8 = 0x8b;
    const MINUS_8: u8 = 0xf8;
    /// The value that announces another byte with the base.
    const SIB: u8 = 4;
    // SAFETY: the caller's promise. Each byte says whether there is another.
    let byte = |number| unsafe { byte(pc, number) };
    let rex = byte(0);
    let is_word = rex & 0b1111_1010 == 0b0100_1000; // REX.W, and no index
    if !is_word || byte(1) != MOV {
        return None;
    }
    let mode = byte(2);
    let has_distance_of_a_byte = mode >> 6 == 0b01;
    if !has_distance_of_a_byte {
        return None;
    }
    let (low, distance) = match mode & 7 {
        // There is no index, and the low bits are the base.
        SIB if byte(3) >> 3 == 0b00_100 => (byte(3) & 7, byte(4)),
        SIB => return None,
        low => (low, byte(3)),
    };
    (distance == MINUS_8).then_some((rex & 1) << 3 | low)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::os::mapping::{Map, PAGE};

    /// The base of a load whose bytes are the last readable ones.
    fn base_of_load(bytes: &[u8]) -> Option<u8> {
        let map = Map::read_write(2 * PAGE).unwrap();
        map.guard(PAGE, PAGE).unwrap();
        let pc = map.base() as usize + PAGE - bytes.len();
        // SAFETY: there is room for the bytes before the inaccessible page.
        unsafe {
            std::ptr::copy_nonoverlapping(bytes.as_ptr(), pc as *mut u8, bytes.len());
            assert!(!is_trap_instruction(pc));
            loads_from(pc)
        }
    }

    #[test]
    fn nothing_is_read_after_an_instruction() {
        // push rbp; mov rcx, rax; mov [rsp], eax; mov rcx, [rax - 8]
        for bytes in [&[0x55][..], &[0x48, 0x8b, 0xc8], &[0x89, 0x04, 0x24]] {
            assert_eq!(base_of_load(bytes), None);
        }
        assert_eq!(base_of_load(&[0x48, 0x8b, 0x48, 0xf8]), Some(0));
    }

    #[test]
    fn the_base_of_a_load_is_found() {
        // mov rcx, [rax - 8]; mov r9, [r14 - 8]; mov rdi, [r12 - 8]; mov rbp, [rbp - 8]
        assert_eq!(base_of_load(&[0x48, 0x8b, 0x48, 0xf8]), Some(0));
        assert_eq!(base_of_load(&[0x4d, 0x8b, 0x4e, 0xf8]), Some(14));
        assert_eq!(base_of_load(&[0x49, 0x8b, 0x7c, 0x24, 0xf8]), Some(12));
        assert_eq!(base_of_load(&[0x48, 0x8b, 0x6d, 0xf8]), Some(5));
        // mov ecx, [rax - 8]; mov rcx, [rax]; mov rcx, [rax + 8]; mov [rax - 8], rcx;
        // mov rcx, [rax + rbx - 8]
        assert_eq!(base_of_load(&[0x8b, 0x48, 0xf8]), None);
        assert_eq!(base_of_load(&[0x48, 0x8b, 0x08]), None);
        assert_eq!(base_of_load(&[0x48, 0x8b, 0x48, 0x08]), None);
        assert_eq!(base_of_load(&[0x48, 0x89, 0x48, 0xf8]), None);
        assert_eq!(base_of_load(&[0x48, 0x8b, 0x4c, 0x18, 0xf8]), None);
    }
}
