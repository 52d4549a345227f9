//! Copying and filling a few bytes, without leaving WebAssembly's stack.
//!
//! These run on a WebAssembly stack, which code of the host never does; so they
//! are written here, use no stack, and are called only for ranges that were
//! checked. Up to 128 bytes everything is loaded before anything is stored, so
//! that overlapping does not matter; each size class loads its beginning and
//! its end, which may overlap too. Longer ranges are copied 64 bytes at a time,
//! from the end that does not overwrite what is still to be copied.

/// Copies `rdx` bytes from `rsi` to `rdi`; they may overlap.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn copy() {
    core::arch::naked_asm!(
        "cmp rdx, 16",
        "jb 2f",
        "cmp rdx, 32",
        "ja 3f",
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + rdx - 16]",
        "movups [rdi], xmm0",
        "movups [rdi + rdx - 16], xmm1",
        "ret",
        // up to 15
        "2:",
        "cmp edx, 8",
        "jb 4f",
        "mov rax, [rsi]",
        "mov rcx, [rsi + rdx - 8]",
        "mov [rdi], rax",
        "mov [rdi + rdx - 8], rcx",
        "ret",
        "4:",
        "cmp edx, 4",
        "jb 5f",
        "mov eax, [rsi]",
        "mov ecx, [rsi + rdx - 4]",
        "mov [rdi], eax",
        "mov [rdi + rdx - 4], ecx",
        "ret",
        "5:",
        "test edx, edx",
        "jz 6f",
        "movzx eax, byte ptr [rsi]", // the first, the middle and the last one
        "mov r8, rdx",
        "shr r8, 1",
        "movzx ecx, byte ptr [rsi + r8]",
        "movzx r9d, byte ptr [rsi + rdx - 1]",
        "mov [rdi], al",
        "mov [rdi + r8], cl",
        "mov [rdi + rdx - 1], r9b",
        "6:",
        "ret",
        // up to 64
        "3:",
        "cmp rdx, 64",
        "ja 7f",
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + 16]",
        "movups xmm2, [rsi + rdx - 32]",
        "movups xmm3, [rsi + rdx - 16]",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm1",
        "movups [rdi + rdx - 32], xmm2",
        "movups [rdi + rdx - 16], xmm3",
        "ret",
        // up to 128
        "7:",
        "cmp rdx, 128",
        "ja 8f",
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + 16]",
        "movups xmm2, [rsi + 32]",
        "movups xmm3, [rsi + 48]",
        "movups xmm4, [rsi + rdx - 64]",
        "movups xmm5, [rsi + rdx - 48]",
        "movups xmm6, [rsi + rdx - 32]",
        "movups xmm7, [rsi + rdx - 16]",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm1",
        "movups [rdi + 32], xmm2",
        "movups [rdi + 48], xmm3",
        "movups [rdi + rdx - 64], xmm4",
        "movups [rdi + rdx - 48], xmm5",
        "movups [rdi + rdx - 32], xmm6",
        "movups [rdi + rdx - 16], xmm7",
        "ret",
        // more: the last 64 bytes are kept aside when going up, the first 64
        // when going down
        "8:",
        "mov rax, rdi",
        "sub rax, rsi",
        "cmp rax, rdx",
        "jb 9f",
        "movups xmm4, [rsi + rdx - 64]",
        "movups xmm5, [rsi + rdx - 48]",
        "movups xmm6, [rsi + rdx - 32]",
        "movups xmm7, [rsi + rdx - 16]",
        "lea rcx, [rdi + rdx - 64]",
        "12:",
        "movups xmm0, [rsi]",
        "movups xmm1, [rsi + 16]",
        "movups xmm2, [rsi + 32]",
        "movups xmm3, [rsi + 48]",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm1",
        "movups [rdi + 32], xmm2",
        "movups [rdi + 48], xmm3",
        "add rsi, 64",
        "add rdi, 64",
        "cmp rdi, rcx",
        "jb 12b",
        "movups [rcx], xmm4",
        "movups [rcx + 16], xmm5",
        "movups [rcx + 32], xmm6",
        "movups [rcx + 48], xmm7",
        "ret",
        "9:",
        "movups xmm4, [rsi]",
        "movups xmm5, [rsi + 16]",
        "movups xmm6, [rsi + 32]",
        "movups xmm7, [rsi + 48]",
        "13:",
        "movups xmm0, [rsi + rdx - 16]",
        "movups xmm1, [rsi + rdx - 32]",
        "movups xmm2, [rsi + rdx - 48]",
        "movups xmm3, [rsi + rdx - 64]",
        "movups [rdi + rdx - 16], xmm0",
        "movups [rdi + rdx - 32], xmm1",
        "movups [rdi + rdx - 48], xmm2",
        "movups [rdi + rdx - 64], xmm3",
        "sub rdx, 64",
        "cmp rdx, 64",
        "ja 13b",
        "movups [rdi], xmm4",
        "movups [rdi + 16], xmm5",
        "movups [rdi + 32], xmm6",
        "movups [rdi + 48], xmm7",
        "ret",
    )
}

/// Fills `rdx` bytes from `rdi` on with the lowest byte of `rsi`.
#[unsafe(naked)]
pub(crate) unsafe extern "C" fn fill() {
    core::arch::naked_asm!(
        "movd xmm0, esi",
        "pxor xmm1, xmm1",
        "pshufb xmm0, xmm1", // the byte in every place
        "cmp rdx, 16",
        "jb 2f",
        "cmp rdx, 64",
        "ja 3f",
        "movups [rdi], xmm0",
        "movups [rdi + rdx - 16], xmm0",
        "cmp edx, 32",
        "jbe 4f",
        "movups [rdi + 16], xmm0",
        "movups [rdi + rdx - 32], xmm0",
        "4:",
        "ret",
        "2:",
        "cmp edx, 8",
        "jb 5f",
        "movq [rdi], xmm0",
        "movq [rdi + rdx - 8], xmm0",
        "ret",
        "5:",
        "cmp edx, 4",
        "jb 6f",
        "movd [rdi], xmm0",
        "movd [rdi + rdx - 4], xmm0",
        "ret",
        "6:",
        "test edx, edx",
        "jz 7f",
        "mov [rdi], sil",
        "mov [rdi + rdx - 1], sil",
        "shr edx, 1",
        "mov [rdi + rdx], sil",
        "7:",
        "ret",
        "3:",
        "lea rcx, [rdi + rdx - 64]",
        "8:",
        "movups [rdi], xmm0",
        "movups [rdi + 16], xmm0",
        "movups [rdi + 32], xmm0",
        "movups [rdi + 48], xmm0",
        "add rdi, 64",
        "cmp rdi, rcx",
        "jb 8b",
        "movups [rcx], xmm0",
        "movups [rcx + 16], xmm0",
        "movups [rcx + 32], xmm0",
        "movups [rcx + 48], xmm0",
        "ret",
    )
}

#[cfg(test)]
mod tests {
    type Copy = unsafe extern "C" fn(*mut u8, *const u8, usize);
    type Fill = unsafe extern "C" fn(*mut u8, u32, usize);

    #[test]
    fn every_length_and_overlap_is_copied() {
        // SAFETY: that is how it is to be called.
        let copy: Copy = unsafe { std::mem::transmute(super::copy as *const ()) };
        let original: Vec<u8> = (0..2000).map(|i| (i * 7 % 251) as u8).collect();
        for len in (0..300).chain([511, 512, 513, 640]) {
            for distance in [0, 1, 15, 16, 17, 63, 64, 65, 200, 700] {
                for (from, to) in [(100, 100 + distance), (100 + distance, 100)] {
                    let (mut found, mut expected) = (original.clone(), original.clone());
                    expected.copy_within(from..from + len, to);
                    let base = found.as_mut_ptr();
                    // SAFETY: both ranges are within the vector.
                    unsafe { copy(base.add(to), base.add(from), len) };
                    assert!(found == expected, "{len} bytes from {from} to {to}");
                }
            }
        }
    }

    #[test]
    fn every_length_is_filled() {
        // SAFETY: that is how it is to be called.
        let fill: Fill = unsafe { std::mem::transmute(super::fill as *const ()) };
        for len in 0..400 {
            let mut found = vec![1; 600];
            let mut expected = found.clone();
            expected[50..50 + len].fill(0xab);
            // SAFETY: the range is within the vector.
            unsafe { fill(found.as_mut_ptr().add(50), 0x1234_56ab, len) };
            assert!(found == expected, "{len} bytes");
        }
    }
}
