//! Modules of WebAssembly 3.0 do the same in every mode and, if it is built in, in Wasmtime.

mod common;

#[test]
fn modules_do_the_same_in_every_mode() {
    common::try_cases("smith", 500, 3000);
}
