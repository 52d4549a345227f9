//! Modules of WebAssembly 3.0 do the same in every mode, and, if that is built
//! in, in Wasmtime.

mod seeds;

#[test]
fn modules_do_the_same_in_every_mode() {
    seeds::try_cases("smith", 500, 3000);
}
