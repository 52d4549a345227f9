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
