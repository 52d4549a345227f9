//! The directives of the official grammar that tests rarely use.

use ropewalk::Engine;
use ropewalk_wast::{Report, WastRunner};
use std::fs;
use std::path::Path;

fn run(text: &str) -> Report {
    WastRunner::new(&Engine::default()).run_script("s", text)
}

fn run_in(directory: &Path, text: &str) -> Report {
    WastRunner::new(&Engine::default()).with_directory(directory).run_script("s", text)
}

#[track_caller]
fn passes(report: &Report, directives: usize) {
    assert!(report.failures.is_empty(), "{report}");
    assert_eq!(report.passed, directives);
}

#[track_caller]
fn fails(report: &Report, message: &str) {
    let found: Vec<String> = report.failures.iter().map(ToString::to_string).collect();
    assert!(found.len() == 1 && found[0].contains(message), "expected {message}, found {found:?}");
}

const DEFINITIONS: &str = r#"
  (module definition $traps (func $f unreachable) (start $f))
  (module definition $links (import "none" "f" (func)))
  (module definition $fine)"#;

#[test]
fn an_instance_of_a_definition_traps_or_does_not_link() {
    let script = r#"
      (assert_trap (module instance $i $traps) "unreachable")
      (assert_trap (module instance $traps) "unreachable")
      (assert_unlinkable (module instance $i $links) "unknown import")
      (assert_trap (module (func $f unreachable) (start $f)) "unreachable")
      (assert_unlinkable (module (import "none" "f" (func))) "unknown import")"#;
    let report = run(&format!("{DEFINITIONS} {script}"));
    // An instance with one name is one of the latest definition.
    fails(&report, "expected trap: unreachable, found a return");
    assert_eq!(report.passed, 7);
    fails(
        &run(&format!("{DEFINITIONS} (assert_unlinkable (module instance $i $fine) \"x\")")),
        "expected link error: x, found an instance",
    );
    fails(
        &run(&format!("{DEFINITIONS} (assert_unlinkable (module instance $i $none) \"x\")")),
        "there is no module $none",
    );
}

#[test]
fn a_global_is_an_action() {
    let module = r#"(module $m (global (export "g") i32 (i32.const 7)))"#;
    passes(&run(&format!("{module} (get \"g\") (get $m \"g\")")), 3);
    fails(&run(&format!("{module} (get \"h\")")), "there is no exported global \"h\"");
}

#[test]
fn a_script_in_a_script_shares_its_modules() {
    let report = run(r#"
      (script $s
        (module $m (func (export "f") (result i32) (i32.const 1)))
        (script (assert_return (invoke "f") (i32.const 1))))
      (assert_return (invoke $m "f") (i32.const 1))
      (assert_return (invoke $m "f") (i32.const 2))"#);
    fails(&report, "s:6: expected (i32.const 2), found (i32.const 1)");
    assert_eq!(report.passed, 5);
}

#[test]
fn scripts_that_are_nested_too_deeply_are_refused() {
    let nested = |depth: usize| format!("{}{}", "(script ".repeat(depth), ")".repeat(depth));
    passes(&run(&nested(50)), 50);
    fails(&run(&nested(100_000)), "scripts are nested too deeply");
}

#[test]
fn scripts_and_modules_are_read_and_written() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("m.wat"), r#"(func (export "f") (result i32) (i32.const 1))"#).unwrap();
    fs::write(path.join("s.wast"), r#"(module (func (export "g"))) (invoke "g") (invoke "h")"#)
        .unwrap();
    let report = run_in(
        path,
        r#"(input $m "m.wat")
           (assert_return (invoke $m "f") (i32.const 1))
           (output $m "copy.wasm")
           (input $copy "copy.wasm")
           (assert_return (invoke $copy "f") (i32.const 1))
           (module definition $d (func (export "d")))
           (output $d "d.wat")
           (input "d.wat")
           (invoke "d")
           (script $t (module (func)))
           (output $t "t.wast")
           (output $t)"#,
    );
    passes(&report, 13);
    assert_eq!(report.output, "(module (func))\n");
    assert_eq!(fs::read(path.join("copy.wasm")).unwrap()[..4], *b"\0asm");
    assert_eq!(
        fs::read_to_string(path.join("d.wat")).unwrap(),
        "(module $d (func (export \"d\")))"
    );
    assert_eq!(fs::read_to_string(path.join("t.wast")).unwrap(), "(module (func))");
    // Failures in a script that was read have its path.
    let report = run_in(path, r#"(input $s "s.wast") (invoke $s "g")"#);
    fails(&report, "s.wast:1: there is no exported function \"h\"");
    assert_eq!(report.passed, 4);
}

#[test]
fn files_are_read_and_written_with_care() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path();
    fs::write(path.join("self.wast"), r#"(input "self.wast")"#).unwrap();
    fs::write(path.join("there.wat"), "(module)").unwrap();
    fails(&run(r#"(input "m.wat")"#), "this runner has no directory for files");
    let fails_in = |script: &str, message| fails(&run_in(path, script), message);
    fails_in(r#"(input "none.wat")"#, "cannot read");
    fails_in(r#"(input "../there.wat")"#, "is outside of the directory of the script");
    fails_in(r#"(input "/etc/passwd")"#, "is outside of the directory of the script");
    fails_in(r#"(module) (output "there.wat")"#, "cannot write");
    fails_in(
        r#"(module binary "\00asm\01\00\00\00") (output "x.wasm") (input $b "x.wasm")
                (output $b "x.wat")"#,
        "the module is a binary, which has no text",
    );
    fails_in(r#"(output "x.wast")"#, "there is no script");
    fails_in(r#"(input "self.wast")"#, "50 scripts read each other, the maximum");
    assert_eq!(fs::read_to_string(path.join("there.wat")).unwrap(), "(module)");
}
