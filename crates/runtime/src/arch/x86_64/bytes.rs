//! Copying and filling memory without leaving WebAssembly's stack.
//!
//! These functions run on a WebAssembly stack, which no Rust code may use. So they are assembly,
//! use no stack, and are called only for ranges that were checked. Up to 128 bytes, all loads come
//! before all stores, so overlapping ranges are no problem. Each size class loads the beginning
//! and the end of the range, which can overlap too. Longer ranges are copied 64 bytes at a time,
//! from the end that does not overwrite bytes that are still to be copied.

/// Loads 64 bytes from an address into the low or the high four of eight registers.
macro_rules! load_64 {
    (low $place:literal) => {
        load_64!($place, "xmm0" "xmm1" "xmm2" "xmm3")
    };
    (high $place:literal) => {
        load_64!($place, "xmm4" "xmm5" "xmm6" "xmm7")
    };
    ($place:literal, $a:literal $b:literal $c:literal $d:literal) => {
        concat!(
            concat!("movups ", $a, ", [", $place, "]\n"),
            concat!("movups ", $b, ", [", $place, " + 16]\n"),
            concat!("movups ", $c, ", [", $place, " + 32]\n"),
            concat!("movups ", $d, ", [", $place, " + 48]"),
        )
    };
}

/// Stores 64 bytes from the low or the high four of eight registers, or one register four times.
macro_rules! store_64 {
    (low $place:literal) => {
        store_64!($place, "xmm0" "xmm1" "xmm2" "xmm3")
    };
    (high $place:literal) => {
        store_64!($place, "xmm4" "xmm5" "xmm6" "xmm7")
    };
    (same $place:literal) => {
        store_64!($place, "xmm0" "xmm0" "xmm0" "xmm0")
    };
    ($place:literal, $a:literal $b:literal $c:literal $d:literal) => {
        concat!(
            concat!("movups [", $place, "], ", $a, "\n"),
            concat!("movups [", $place, " + 16], ", $b, "\n"),
            concat!("movups [", $place, " + 32], ", $c, "\n"),
            concat!("movups [", $place, " + 48], ", $d),
        )
    };
}

/// Copies `rdx` bytes from `rsi` to `rdi`. The ranges can overlap.
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
        load_64!(low "rsi"),
        load_64!(high "rsi + rdx - 64"),
        store_64!(low "rdi"),
        store_64!(high "rdi + rdx - 64"),
        "ret",
        // more: going up, the last 64 bytes are loaded first, going down, the first 64
        "8:",
        "mov rax, rdi",
        "sub rax, rsi",
        "cmp rax, rdx",
        "jb 9f",
        load_64!(high "rsi + rdx - 64"),
        "lea rcx, [rdi + rdx - 64]",
        "12:",
        load_64!(low "rsi"),
        store_64!(low "rdi"),
        "add rsi, 64",
        "add rdi, 64",
        "cmp rdi, rcx",
        "jb 12b",
        store_64!(high "rcx"),
        "ret",
        "9:",
        load_64!(high "rsi"),
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
        store_64!(high "rdi"),
        "ret",
    )
}

/// Fills `rdx` bytes at `rdi` with the lowest byte of `rsi`.
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
        store_64!(same "rdi"),
        "add rdi, 64",
        "cmp rdi, rcx",
        "jb 8b",
        store_64!(same "rcx"),
        "ret",
    )
}

#[cfg(test)]
mod tests {
    type Copy = unsafe extern "C" fn(*mut u8, *const u8, usize);
    type Fill = unsafe extern "C" fn(*mut u8, u32, usize);

    #[test]
    fn every_length_and_overlap_is_copied() {
        // SAFETY: the signature is that of the stub.
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
        // SAFETY: the signature is that of the stub.
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
