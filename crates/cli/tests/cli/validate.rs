//! `ropewalk validate`.

use crate::process::{file, ropewalk};

#[test]
fn valid_modules_pass_in_silence() {
    let text = file("validate-valid.wat", "(module (func (result i32) i32.const 1))");
    let binary = file("validate-valid.wasm", b"\0asm\x01\0\0\0");
    ropewalk(&["validate", &text, &binary]).prints("");
}

#[test]
fn nothing_is_run() {
    let module = file("validate-starts.wat", "(func $s unreachable) (start $s)");
    ropewalk(&["validate", &module]).prints("");
    let module = file("validate-imports.wat", "(import \"host\" \"log\" (func))");
    ropewalk(&["validate", &module]).prints("");
}

#[test]
fn every_bad_file_is_reported() {
    let malformed = file("validate-malformed.wat", "(module (func)");
    let valid = file("validate-fine.wat", "(module)");
    let invalid = file("validate-invalid.wat", "(module (func (result i32)))");
    let says = ["validate-malformed.wat", "validate-invalid.wat", "^", "missing.wat"];
    ropewalk(&["validate", &malformed, &valid, &invalid, "missing.wat"]).fails(1, &says);
}

#[test]
fn reserved_imports_are_checked() {
    let text = "(module\n  (import \"ropewalk:task\" \"frob\" (func)))";
    let module = file("validate-reserved.wat", text);
    let says = ["no reserved import `ropewalk:task` `frob`", "validate-reserved.wat:2:"];
    ropewalk(&["validate", &module]).fails(1, &says);
}
