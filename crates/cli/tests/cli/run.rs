//! `ropewalk run`.

use crate::process::{Outcome, file, ropewalk};

/// Runs `--invoke f` of a module that consists of this function.
fn invoke(test: &str, func: &str, arguments: &[&str]) -> Outcome {
    let module = file(&format!("{test}.wat"), format!("(func (export \"f\") {func})"));
    ropewalk(&[&["run", &module, "--invoke", "f"], arguments].concat())
}

/// Runs a function that returns its only parameter.
fn echo(ty: &str, argument: &str) -> Outcome {
    // The name of the file is unique: no two tests echo the same.
    let test = format!("echo-{ty}-{}", argument.replace(['/', ':', ','], "_"));
    invoke(&test, &format!("(param {ty}) (result {ty}) local.get 0"), &[argument])
}

#[test]
fn results_are_printed_one_per_line() {
    let func = "(param i32 i64) (result i64 i32 f64) local.get 1 local.get 0 f64.const 0.5";
    invoke("results", func, &["1", "2"]).prints("2\n1\n0.5\n");
}

#[test]
fn a_function_without_results_prints_nothing() {
    invoke("silent", "", &[]).prints("");
}

#[test]
fn integers_are_printed_as_signed() {
    echo("i32", "-7").prints("-7\n");
    echo("i32", "0xffffffff").prints("-1\n");
    echo("i64", "18446744073709551615").prints("-1\n");
    echo("i64", "-9223372036854775808").prints("-9223372036854775808\n");
}

#[test]
fn floats_are_printed_as_they_can_be_typed() {
    echo("f64", "-0.1").prints("-0.1\n");
    echo("f64", "1e300").prints("1e300\n");
    echo("f64", "-inf").prints("-inf\n");
    echo("f32", "0x1.8p3").prints("12\n");
    echo("f32", "nan").prints("nan\n");
    echo("f32", "3.4028235e38").prints("3.4028235e38\n");
}

#[test]
fn vectors_are_printed_in_hexadecimal() {
    echo("v128", "0x10").prints("0x00000000000000000000000000000010\n");
    echo("v128", "i32x4:1,-1,3,4").prints("0x0000000400000003ffffffff00000001\n");
}

#[test]
fn references_are_printed_by_their_kind() {
    echo("funcref", "null").prints("null\n");
    echo("externref", "null").prints("null\n");
    let module = "(elem declare func $f) (func $f (export \"f\") (result funcref) ref.func $f)";
    ropewalk(&["run", &file("funcref.wat", module), "--invoke", "f"]).prints("func\n");
}

#[test]
fn start_is_called_by_default() {
    let module = file("start.wat", "(func (export \"_start\") unreachable)");
    ropewalk(&["run", &module]).fails(134, &["unreachable"]);
    let module = file("start-ok.wat", "(func (export \"_start\"))");
    ropewalk(&["run", &module]).prints("");
}

#[test]
fn binaries_run_as_well() {
    let module = b"\0asm\x01\0\0\0\x01\x05\x01\x60\0\x01\x7f\x03\x02\x01\0\
                   \x07\x05\x01\x01f\0\0\x0a\x06\x01\x04\0\x41\x2a\x0b";
    ropewalk(&["run", &file("binary.wasm", module), "--invoke", "f"]).prints("42\n");
}

#[test]
fn without_a_start_the_exports_are_listed() {
    let module = file("exports.wat", "(func (export \"one\")) (func (export \"two\"))");
    ropewalk(&["run", &module]).fails(1, &["`_start`", "--invoke", "one, two"]);
    ropewalk(&["run", &module, "--invoke", "three"]).fails(1, &["`three`", "one, two"]);
    let module = file("no-exports.wat", "(func)");
    ropewalk(&["run", &module]).fails(1, &["exports no function"]);
}

#[test]
fn arguments_must_be_as_many_as_the_parameters() {
    let says = ["`f`", "[i32 f64] -> []", "2 arguments", "1 given"];
    invoke("too-few", "(param i32 f64)", &["1"]).fails(1, &says);
    let says = ["`f`", "0 arguments", "1 given"];
    invoke("too-many", "", &["1"]).fails(1, &says);
}

#[test]
fn arguments_must_be_of_the_types_of_the_parameters() {
    let bad = |ty, argument, says: &[&str]| echo(ty, argument).fails(1, says);
    bad("i32", "4294967296", &["parameter 1", "i32", "`4294967296`", "integer"]);
    bad("i64", "1.5", &["parameter 1", "i64", "`1.5`"]);
    bad("f32", "much", &["parameter 1", "f32", "`much`"]);
    bad("v128", "i32x4:1", &["parameter 1", "v128", "`i32x4:1`"]);
    bad("funcref", "f", &["parameter 1", "funcref", "`null`"]);
}

#[test]
fn a_trap_is_named_and_exits_with_134() {
    let func = "(param i32) (result i32) (i32.div_s (i32.const 1) (local.get 0))";
    invoke("divide", func, &["0"]).fails(134, &["integer divide by zero"]);
    let module = file("start-traps.wat", "(func $s unreachable) (start $s)");
    ropewalk(&["run", &module]).fails(134, &["unreachable"]);
    let module = file("endless.wat", "(func $f (export \"f\") call $f)");
    ropewalk(&["run", &module, "--invoke", "f"]).fails(134, &["call stack exhausted"]);
}

#[test]
fn a_malformed_text_is_shown_with_a_caret() {
    let module = file("malformed.wat", "(module\n  (func i32.cons 1))\n");
    let says = ["malformed.wat", "2:9", "(func i32.cons 1))", "        ^"];
    ropewalk(&["run", &module]).fails(1, &says);
}

#[test]
fn an_invalid_text_is_shown_with_a_caret() {
    let module = file("invalid.wat", "(module\n  (func (result i32)\n    i64.const 1))\n");
    let says = ["invalid.wat", "type mismatch", "^"];
    ropewalk(&["run", &module]).fails(1, &says);
}

#[test]
fn an_invalid_binary_is_an_error() {
    let module = file("truncated.wasm", b"\0asm\x01\0\0\0\x01");
    ropewalk(&["run", &module]).fails(1, &["truncated.wasm"]);
}

#[test]
fn a_missing_import_is_an_error() {
    let module = file("imports.wat", "(import \"host\" \"log\" (func)) (func (export \"_start\"))");
    ropewalk(&["run", &module]).fails(1, &["host", "log"]);
}

#[test]
fn a_missing_file_is_an_error() {
    ropewalk(&["run", "no/such/file.wat"]).fails(1, &["no/such/file.wat", "No such file"]);
}

#[test]
fn a_wrong_command_line_is_an_error() {
    ropewalk(&[]).fails(1, &["Usage"]);
    ropewalk(&["run"]).fails(1, &["<FILE>"]);
    ropewalk(&["walk"]).fails(1, &["walk"]);
}

#[test]
fn options_may_stand_on_either_side_of_the_file() {
    ropewalk(&["run", "--invoke", "fib", "examples/fib.wat", "10"]).prints("55\n");
    ropewalk(&["run", "examples/fib.wat", "--invoke", "fib", "10"]).prints("55\n");
}

#[test]
fn arguments_may_stand_behind_a_double_dash() {
    let func = "(param i32 i32) (result i32) (i32.sub (local.get 0) (local.get 1))";
    invoke("dashes", func, &["--", "-5", "-3"]).prints("-2\n");
    invoke("no-dashes", func, &["-5", "-3"]).prints("-2\n");
}

#[test]
fn help_and_version_are_no_errors() {
    for arguments in [&["--help"][..], &["run", "--help"], &["--version"]] {
        let outcome = ropewalk(arguments);
        assert_eq!((outcome.code, outcome.stderr.as_str()), (Some(0), ""), "{outcome:?}");
        assert!(outcome.stdout.contains("ropewalk"), "{outcome:?}");
    }
}
