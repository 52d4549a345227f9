//! The same program in Rust. average-rust.wasm was built from it in this folder, with Rust 1.95:
//!
//!   rustc --target wasm32-unknown-unknown --crate-type cdylib -C opt-level=1 -C panic=abort \
//!     -C debuginfo=2 --remap-path-prefix $PWD=. -o average-rust.wasm average.rs

#![no_std]

#[panic_handler]
fn panic(_: &core::panic::PanicInfo<'_>) -> ! {
    core::arch::wasm32::unreachable()
}

#[inline(always)]
fn quotient(a: i32, b: i32) -> i32 {
    if b == 0 {
        core::arch::wasm32::unreachable();
    }
    a.wrapping_div(b)
}

#[inline(never)]
fn average(sum: i32, count: i32) -> i32 {
    let rest = sum % 7;
    quotient(sum, count) + rest
}

#[unsafe(no_mangle)]
extern "C" fn run(count: i32) -> i32 {
    average(core::hint::black_box(100), count) + 1
}
