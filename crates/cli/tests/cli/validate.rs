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

#[test]
fn a_wrong_label_of_a_clause_is_shown_at_the_label() {
    let text = "(module\n  (tag $e (param i32))\n  (func (block $l (result i64)\n    \
                (try_table (catch $e $l)) (unreachable)) (drop)))";
    let module = file("validate-label.wat", text);
    let says = [
        "type mismatch: expected a label that takes [i32], found one that takes [i64]\n",
        "validate-label.wat:4:26\n",
        "\n   |                          ^\n",
    ];
    ropewalk(&["validate", &module]).fails(1, &says);
}

/// In binaries the names come from the name section.
#[test]
fn types_have_the_names_of_the_user() {
    let text = "(module (type $f (func)) (type $g (func (param i32)))\n  \
                (func (param (ref $g)) (call_ref $f (local.get 0))))";
    let says = "error: type mismatch: expected (ref null $f), found (ref $g)\n";
    ropewalk(&["validate", &file("validate-names.wat", text)]).fails(1, &[says]);
    let encoded = ropewalk_text::Text::parse(text).expect("it can be read");
    let binary = file("validate-names.wasm", encoded.binary());
    let says = "validate-names.wasm: type mismatch: expected (ref null $f), found (ref $g) (at ";
    ropewalk(&["validate", &binary]).fails(1, &[says]);
    ropewalk(&["run", &binary]).fails(1, &[says]);
}

#[test]
fn an_undeclared_function_reference_says_what_to_add() {
    let text = "(module (func $f) (func (drop (ref.func $f))))";
    let module = file("validate-undeclared.wat", text);
    let says = ["add `(elem declare func $f)` to the module", "validate-undeclared.wat:1:32"];
    ropewalk(&["validate", &module]).fails(1, &says);
}
