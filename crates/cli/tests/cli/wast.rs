//! `ropewalk wast`.

use crate::process::{file, ropewalk};

const GOOD: &str = r#"
(module (func (export "one") (result i32) i32.const 1))
(assert_return (invoke "one") (i32.const 1))
"#;

const BAD: &str = r#"
(module (func (export "one") (result i32) i32.const 1))
(assert_return (invoke "one") (i32.const 2))
(assert_trap (invoke "one") "unreachable")
(assert_return (invoke "one") (i32.const 1))
"#;

#[test]
fn a_script_that_passes_exits_with_0() {
    ropewalk(&["wast", &file("good.wast", GOOD)]).prints("2 passed, 0 failed\n");
}

#[test]
fn failures_are_listed_by_line_and_exit_with_1() {
    let (good, bad) = (file("good2.wast", GOOD), file("bad.wast", BAD));
    let outcome = ropewalk(&["wast", &good, &bad, &good]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    let expected = format!(
        "{bad}:3: expected (i32.const 2), found (i32.const 1)\n\
         {bad}:4: expected trap: unreachable, found a return\n\
         6 passed, 2 failed\n"
    );
    assert_eq!(outcome.stdout, expected);
}

#[test]
fn a_malformed_script_is_a_failure_with_a_caret() {
    let script = file("broken.wast", "(module)\n(assert_retrn)\n");
    let outcome = ropewalk(&["wast", &script]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stdout.starts_with(&format!("{script}:2: ")), "{outcome:?}");
    let shown = format!("\n  --> {script}:2:2\n   |\n 2 | (assert_retrn)\n   |  ^\n");
    assert!(outcome.stdout.contains(&shown), "{outcome:?}");
    assert!(outcome.stdout.ends_with("0 passed, 1 failed\n"), "{outcome:?}");
}

#[test]
fn an_unreadable_script_exits_with_1_and_the_others_run() {
    let good = file("good3.wast", GOOD);
    let outcome = ropewalk(&["wast", "missing.wast", &good]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("missing.wast"), "{outcome:?}");
    assert_eq!(outcome.stdout, "2 passed, 0 failed\n");
}

#[test]
fn an_empty_script_is_an_error() {
    let empty = file("empty.wast", "");
    let outcome = ropewalk(&["wast", &empty]);
    assert_eq!(outcome.code, Some(1), "{outcome:?}");
    assert!(outcome.stderr.contains("empty.wast is empty"), "{outcome:?}");
}
