//! `ropewalk lower`.

use std::fs;

use crate::examples::{claims, examples};
use crate::process::{file, ropewalk};

/// A generator of squares, as a task.
const SQUARES: &str = "\
(module
  (type $t (task (result i32))) ;; gives a square each time
  (func $squares (param $me (ref $t)) (result i32)
    (local $n i32)
    (loop $next
      (task.suspend $t (local.get $me) (i32.mul (local.get $n) (local.get $n)))
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (br $next))
    (unreachable))
  (func (export \"f\") (result i32)
    (local $t (ref $t))
    (local.set $t (task.new $t $squares))
    (drop (task.resume $t (local.get $t)))
    (drop (task.resume $t (local.get $t)))
    (drop (task.resume $t (local.get $t)))
    (task.resume $t (local.get $t))))
";

#[test]
fn text_is_printed_as_standard_text() {
    let source = file(
        "lower-types.wat",
        "(module\n  (type $t (task (param i32))) ;; a comment\n  \
         (func (param (ref $t)) (task.release $t (local.get 0))))",
    );
    ropewalk(&["lower", &source]).prints(
        "(module\n  (import \"ropewalk:task\" \"release\" (func $task.release (param (ref null $t))))\n  \
         (rec (type $t.func (func (param i32))) (type $t (cont $t.func))) ;; a comment\n  \
         (func (param (ref $t)) (call $task.release (local.get 0))))\n",
    );
}

#[test]
fn standard_text_is_not_changed() {
    let text = "(module ;; nothing but\n  (@custom \"a\" \"b\") (func (; standard ;) $task))\n";
    let source = file("lower-standard.wat", text);
    ropewalk(&["lower", &source]).prints(text);
    let output = file("lower-standard-output.wat", "");
    ropewalk(&["lower", &source, "-o", &output]).prints("");
    assert_eq!(fs::read_to_string(&output).unwrap(), text);
}

#[test]
fn the_extension_selects_the_format() {
    let source = file("lower-squares.wat", SQUARES);
    let text = file("lower-squares-output.wat", "");
    let binary = file("lower-squares-output.wasm", "");
    ropewalk(&["lower", &source, "-o", &text]).prints("");
    ropewalk(&["lower", "--output", &binary, &source]).prints("");
    assert_eq!(ropewalk(&["lower", &source]).stdout, fs::read_to_string(&text).unwrap());
    assert!(fs::read(&binary).unwrap().starts_with(b"\0asm"));
    ropewalk(&["validate", &text, &binary]).prints("");
    for lowered in [&source, &text, &binary] {
        ropewalk(&["run", "--invoke", "f", lowered]).prints("9\n");
    }
}

#[test]
fn binaries_are_printed() {
    let source = file("lower-print.wat", SQUARES);
    let binary = file("lower-print.wasm", "");
    ropewalk(&["lower", &source, "-o", &binary]).prints("");
    let printed = ropewalk(&["lower", &binary]);
    assert_eq!(printed.code, Some(0), "{printed:?}");
    assert!(printed.stdout.contains("(import \"ropewalk:task\" \"suspend\""), "{printed:?}");
    // The printed text is the same module, and lowering does not change it.
    let again = file("lower-print-again.wat", &printed.stdout);
    ropewalk(&["lower", &again]).prints(&printed.stdout);
    ropewalk(&["run", "--invoke", "f", &again]).prints("9\n");
    let copy = file("lower-print-copy.wasm", "");
    ropewalk(&["lower", &binary, "-o", &copy]).prints("");
    assert_eq!(fs::read(&binary).unwrap(), fs::read(&copy).unwrap());
}

#[test]
fn examples_run_the_same_when_lowered() {
    for example in examples() {
        let name = example.file_stem().unwrap().to_str().unwrap();
        let source = example.to_str().unwrap();
        let text = file(&format!("lower-example-{name}.wat"), "");
        let binary = file(&format!("lower-example-{name}.wasm"), "");
        ropewalk(&["lower", source, "-o", &text]).prints("");
        ropewalk(&["lower", source, "-o", &binary]).prints("");
        ropewalk(&["validate", &text, &binary]).prints("");
        assert_eq!(ropewalk(&["lower", &binary]).code, Some(0), "{name} cannot be printed");
        for claim in claims(&example) {
            for lowered in [&text, &binary] {
                let is_example = |argument: &str| argument.ends_with(&format!("{name}.wat"));
                let arguments = claim.arguments.iter().map(String::as_str);
                let arguments: Vec<_> = arguments
                    .map(|argument| if is_example(argument) { lowered } else { argument })
                    .collect();
                ropewalk(&arguments).prints(&claim.output);
            }
        }
    }
}

#[test]
fn errors_are_at_the_source() {
    let source = file(
        "lower-invalid.wat",
        "(module\n  (type $t (task))\n  (func (task.resume $t (i32.const 1))))",
    );
    ropewalk(&["lower", &source]).fails(1, &["type mismatch", "lower-invalid.wat:3:10", "^"]);
    let source = file("lower-malformed.wat", "(type $t (task))\n(func (task.resume $u))");
    ropewalk(&["lower", &source]).fails(1, &["unknown type", "lower-malformed.wat:2:20", "^"]);
    let output = file("lower-untouched.wasm", "as before");
    ropewalk(&["lower", &source, "-o", &output]).fails(1, &["unknown type"]);
    assert_eq!(fs::read_to_string(&output).unwrap(), "as before");
    let binary = file("lower-broken.wasm", b"\0asm\x01\0\0\0\x01\x05");
    ropewalk(&["lower", &binary]).fails(1, &["lower-broken.wasm"]);
    ropewalk(&["lower", "missing.wat"]).fails(1, &["cannot read missing.wat"]);
    let source = file("lower-nowhere.wat", "(module)");
    let nowhere = "no/such/folder/out.wat";
    ropewalk(&["lower", &source, "-o", nowhere])
        .fails(1, &["cannot write the lowered module no/such/folder/out.wat"]);
}

#[test]
fn binaries_have_the_names_that_other_tools_know() {
    let text = "(module (func $func (param $local i32) (block $label)))";
    let source = file("lower-names.wat", text);
    let binary = file("lower-names.wasm", "");
    ropewalk(&["lower", &source, "-o", &binary]).prints("");
    let binary = fs::read(&binary).unwrap();
    let has = |name: &[u8]| binary.windows(name.len()).any(|part| part == name);
    assert!(has(b"func") && has(b"local"));
    assert!(!has(b"label"));
}
