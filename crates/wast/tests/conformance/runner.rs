//! The runner reports failures: each script here fails as expected.

use ropewalk::Engine;
use ropewalk_wast::WastRunner;

/// The printed failures of a script.
fn failures(text: &str) -> Vec<String> {
    let report = WastRunner::new(&Engine::default()).run_script("s", text);
    report.failures.iter().map(ToString::to_string).collect()
}

/// Runs a script and compares its failures. Each is `line: message`, without source and frames.
#[track_caller]
fn check(text: &str, failures: &[&str]) {
    let found = self::failures(text);
    let found: Vec<_> = found.iter().filter_map(|failure| failure.lines().next()).collect();
    let expected: Vec<_> = failures.iter().map(|failure| format!("s:{failure}")).collect();
    assert_eq!(found, expected);
}

/// The same for assertions on one module, which is on line 1.
#[track_caller]
fn check_module(module: &str, assertions: &str, failures: &[&str]) {
    check(&format!("(module {})\n{assertions}", module.replace('\n', " ")), failures);
}

#[test]
fn wrong_numbers() {
    check_module(
        r#"(func (export "i32") (result i32) (i32.const -1))
           (func (export "i64") (result i64) (i64.const 7))
           (func (export "f32") (result f32) (f32.const 0.5))
           (func (export "f64") (result f64) (f64.const -0))
           (func (export "nan") (result f64) (f64.const nan:0x1))"#,
        r#"(assert_return (invoke "i32") (i32.const 1))
           (assert_return (invoke "i64") (i32.const 7))
           (assert_return (invoke "f32") (f32.const 0.25))
           (assert_return (invoke "f64") (f64.const 0))
           (assert_return (invoke "nan") (f64.const nan:arithmetic))
           (assert_return (invoke "f32") (f32.const nan:canonical))"#,
        &[
            "2: expected (i32.const 1), found (i32.const -1)",
            "3: expected (i32.const 7), found (i64.const 7)",
            "4: expected (f32.const 0.25), found (f32.const 0.5)",
            "5: expected (f64.const 0.0), found (f64.const -0.0)",
            "6: expected (f64.const nan:arithmetic), found (f64.const nan:0x1)",
            "7: expected (f32.const nan:canonical), found (f32.const 0.5)",
        ],
    );
}

#[test]
fn wrong_vectors_are_shown_in_the_shape_expected() {
    check_module(
        r#"(func (export "v") (result v128) (v128.const f32x4 1 2 nan -0))"#,
        r#"(assert_return (invoke "v") (v128.const f32x4 1 2 nan:canonical -0))
           (assert_return (invoke "v") (v128.const f32x4 1 2 nan:canonical 0))
           (assert_return (invoke "v") (v128.const i64x2 1 2))"#,
        &[
            "3: expected (v128.const f32x4 1.0 2.0 nan:canonical 0.0), \
             found (v128.const f32x4 1.0 2.0 nan:0x400000 -0.0)",
            "4: expected (v128.const i64x2 1 2), \
             found (v128.const i64x2 4611686019492741120 -9223372034711486464)",
        ],
    );
}

#[test]
fn wrong_references() {
    check_module(
        r#"(func (export "func") (result funcref) (ref.null func))
           (func $f (export "self") (result funcref) (ref.func $f))
           (func (export "echo") (param externref) (result externref) (local.get 0))"#,
        r#"(assert_return (invoke "func") (ref.null func))
           (assert_return (invoke "func") (ref.null))
           (assert_return (invoke "func") (ref.null extern))
           (assert_return (invoke "func") (ref.func))
           (assert_return (invoke "self") (ref.null))
           (assert_return (invoke "echo" (ref.extern 7)) (ref.extern 7))
           (assert_return (invoke "echo" (ref.extern 7)) (ref.extern))
           (assert_return (invoke "echo" (ref.extern 7)) (ref.extern 8))
           (assert_return (invoke "echo" (ref.null extern)) (ref.extern))
           (assert_return (invoke "echo" (ref.extern 7)) (ref.null extern))"#,
        &[
            "4: expected (ref.null extern), found (ref.null func)",
            "5: expected (ref.func), found (ref.null func)",
            "6: expected (ref.null), found (ref.func)",
            "9: expected (ref.extern 8), found (ref.extern 7)",
            "10: expected (ref.extern), found (ref.null extern)",
            "11: expected (ref.null extern), found (ref.extern 7)",
        ],
    );
}

#[test]
fn one_of_several_results() {
    check_module(
        r#"(func (export "one") (result i32) (i32.const 1))"#,
        r#"(assert_return (invoke "one") (either (i32.const 0) (i32.const 1)))
           (assert_return (invoke "one") (either (i32.const 2) (i32.const 3)))"#,
        &["3: expected (either (i32.const 2) (i32.const 3)), found (i32.const 1)"],
    );
}

#[test]
fn a_wrong_number_of_results() {
    check_module(
        r#"(func (export "none")) (func (export "two") (result i32 i32) (i32.const 1) (i32.const 2))"#,
        r#"(assert_return (invoke "none") (i32.const 1))
           (assert_return (invoke "two"))
           (assert_return (invoke "two") (i32.const 1))"#,
        &[
            "2: expected (i32.const 1), found no result",
            "3: expected no result, found (i32.const 1) (i32.const 2)",
            "4: expected (i32.const 1), found (i32.const 1) (i32.const 2)",
        ],
    );
}

#[test]
fn traps_of_another_kind() {
    check_module(
        r#"(func (export "trap") (unreachable))
           (func (export "fine"))
           (func $f (export "endless") (call $f))"#,
        r#"(assert_trap (invoke "trap") "unreachable")
           (assert_trap (invoke "trap") "unreach")
           (assert_trap (invoke "trap") "unreachable code")
           (assert_trap (invoke "trap") "integer overflow")
           (assert_trap (invoke "fine") "unreachable")
           (assert_return (invoke "trap"))
           (invoke "trap")
           (assert_exhaustion (invoke "endless") "call stack exhausted")
           (assert_exhaustion (invoke "trap") "call stack exhausted")
           (assert_trap (module (func $f) (start $f)) "unreachable")"#,
        &[
            "5: expected trap: integer overflow, found trap: unreachable",
            "6: expected trap: unreachable, found a return",
            "7: expected no result, found trap: unreachable",
            "8: trap: unreachable",
            "10: expected trap: call stack exhausted, found trap: unreachable",
            "11: expected trap: unreachable, found a return",
        ],
    );
}

#[test]
fn modules_that_are_better_than_expected() {
    check(
        r#"(assert_malformed (module quote "(func)") "")
           (assert_invalid (module (func)) "")
           (assert_malformed (module binary "\00asm" "\01\00\00\00") "")
           (assert_unlinkable (module) "unknown import")
           (assert_malformed (module quote "(fun)") "")
           (assert_malformed (module quote "(func call $f)") "")
           (assert_invalid (module (func (result i32))) "")
           (assert_unlinkable (module (import "a" "b" (func))) "unknown import")
           (assert_unlinkable (module (func $f unreachable) (start $f)) "unknown import")"#,
        &[
            "1: expected a malformed module, found a valid module",
            "2: expected an invalid module, found a valid module",
            "3: expected a malformed module, found a valid module",
            "4: expected link error: unknown import, found an instance",
            "9: expected link error: unknown import, found trap: unreachable",
        ],
    );
}

#[test]
fn a_link_error_is_no_trap() {
    let text = r#"(assert_trap (module (import "a" "b" (func))) "unreachable")"#;
    let report = WastRunner::new(&Engine::default()).run_script("s", text);
    let message = &report.failures[0].message;
    assert!(message.starts_with("expected trap: unreachable, found link error: "), "{message}");
}

#[test]
fn names_that_do_not_exist() {
    check(
        r#"(invoke "f")
           (module $M (func (export "f")))
           (invoke "g")
           (invoke $N "f")
           (assert_return (get "g") (i32.const 1))
           (register "N" $N)
           (module instance $I $N)
           (assert_trap (invoke "g") "unreachable")
           (invoke $M "f")"#,
        &[
            "1: there is no instance",
            "3: there is no exported function \"g\"",
            "4: there is no instance $N",
            "5: expected (i32.const 1), found error: there is no exported global \"g\"",
            "6: there is no instance $N",
            "7: there is no module $N",
            "8: expected trap: unreachable, found error: there is no instance",
        ],
    );
}

#[test]
fn after_a_module_that_fails_nothing_runs_on_the_one_before() {
    check(
        r#"(module $M (func (export "f")))
           (module $M (func $f unreachable) (start $f))
           (invoke "f")
           (invoke $M "f")"#,
        &["2: trap: unreachable", "3: there is no instance", "4: there is no instance $M"],
    );
}

#[test]
fn definitions_and_instances() {
    check(
        r#"(module definition $D
             (global $g (mut i32) (i32.const 0))
             (func (export "next") (result i32)
               (global.set $g (i32.add (global.get $g) (i32.const 1)))
               (global.get $g)))
           (module instance $A $D)
           (module instance $B $D)
           (assert_return (invoke $A "next") (i32.const 1))
           (assert_return (invoke $A "next") (i32.const 2))
           (assert_return (invoke $B "next") (i32.const 1))
           (assert_return (invoke "next") (i32.const 2))
           (module instance)
           (assert_return (invoke "next") (i32.const 1))"#,
        &[],
    );
}

#[test]
fn later_registrations_replace_earlier_ones() {
    check(
        r#"(module $A (func (export "f") (result i32) (i32.const 1)))
           (register "m" $A)
           (module $B (func (export "f") (result i32) (i32.const 2)))
           (register "m")
           (module
             (import "m" "f" (func $f (result i32)))
             (func (export "call") (result i32) (call $f)))
           (assert_return (invoke "call") (i32.const 2))"#,
        &[],
    );
}

#[test]
fn suspensions_are_told_from_returns_and_threads_are_not_known() {
    check(
        r#"(module (func (export "f")))
           (assert_suspension (invoke "f") "unhandled")
           (thread $t (invoke "f"))
           (wait $t)
           (thread $u (module (func (param fiberref) (fiber.release (local.get 0)))))
           (assert_return (invoke "f"))"#,
        &[
            "2: expected suspension: unhandled, found a return",
            "3: `thread` directives are not supported",
            "4: `wait` directives are not supported",
            "5: `thread` directives are not supported",
        ],
    );
}

#[test]
fn an_exception_is_told_from_a_return_and_a_trap() {
    check(
        r#"(module
             (tag $e)
             (func (export "returns"))
             (func (export "traps") unreachable)
             (func (export "throws") (throw $e)))
           (assert_exception (invoke "returns"))
           (assert_exception (invoke "traps"))
           (assert_exception (invoke "throws"))
           (assert_trap (invoke "throws") "unreachable")"#,
        &[
            "6: expected an exception, found a return",
            "7: expected an exception, found trap: unreachable",
            "9: expected trap: unreachable, found error: uncaught exception: $e",
        ],
    );
}

#[test]
fn a_text_that_is_no_script() {
    let report = WastRunner::new(&Engine::default()).run_script("s", "(module)\n  (modul)");
    let failure = report.failures[0].to_string();
    assert!(failure.starts_with("s:2: unexpected token"), "{failure}");
    let shown = "\n  --> s:2:4\n   |\n 2 |   (modul)\n   |    ^";
    assert!(failure.ends_with(shown), "{failure}");
    assert_eq!((report.passed, report.failed()), (0, 1));
}

#[test]
fn an_error_far_to_the_right_is_shown() {
    let failure = &failures(&format!("{}(modul)", " ".repeat(70_000)))[0];
    let lines: Vec<&str> = failure.lines().collect();
    let [.., place, _, source, caret] = lines[..] else { panic!("{failure}") };
    assert_eq!(place, "  --> s:1:70002");
    assert_eq!(source[caret.len() - 1..], *"modul)");
    assert!(caret.ends_with('^') && caret.len() < 120, "{caret}");
}

/// An error in a module of a script is printed like an error in a file.
#[test]
fn an_error_in_a_module_shows_line_column_and_source() {
    let script = r#"(module)
(module
  (func (export "f") (result i32)
    (i64.const 1)))
(module quote "(func"
  "  (i32.add))")
(module (func
  (call $g)))
(module definition $D (type $c (stack
  (ref $d))))
(assert_return (invoke "f"))
(assert_trap (module (func
  (drop))) "unreachable")"#;
    let shown = [
        "s:2: invalid module: type mismatch: expected i32, found i64\n  --> s:4:18\n   |\n \
         4 |     (i64.const 1)))\n   |                  ^",
        "s:5: invalid module: type mismatch: expected i32 but nothing on stack\n  --> s:6:7\n   \
         |\n 6 |   \"  (i32.add))\")\n   |       ^",
        "s:7: invalid module: unknown func: failed to find name `$g`\n  --> s:8:9\n   |\n \
         8 |   (call $g)))\n   |         ^",
        "s:9: invalid module: unknown type: there is no type named `$d`\n   --> s:10:8\n    |\n \
         10 |   (ref $d))))\n    |        ^",
        "s:11: expected no result, found error: there is no instance",
        "s:12: expected trap: unreachable, found invalid module: type mismatch: expected a type \
         but nothing on stack\n   --> s:13:4\n    |\n 13 |   (drop))) \"unreachable\")\n    |    ^",
    ];
    assert_eq!(failures(script), shown);
}

/// An unexpected trap is printed with the position of each frame, in every design.
#[test]
fn a_trap_shows_the_place_of_each_frame_in_the_script() {
    let script = r#"(module $m
  (func $inner (unreachable))
  (func (export "run")
    (call $inner)))
(invoke "run")
(module $bag
  (type $c (stack (ref null $c)))
  (func $f (param (ref null $c))
    unreachable)
  (func (export "run")
    (drop (switch $c (stack.new $c $f)))))
(invoke "run")"#;
    let shown = [
        "s:5: trap: unreachable\nwasm backtrace:\n   0: s:2:17: m!inner\n   1: s:4:6: m!run",
        "s:12: trap: unreachable\nwasm backtrace:\n   0: s:9:5: bag!f",
    ];
    assert_eq!(failures(script), shown);
}

#[test]
fn wrong_arguments_fail_and_do_not_trap() {
    let text = r#"(module (func (export "f") (param i32)))
                  (invoke "f")
                  (invoke "f" (i64.const 1))
                  (assert_trap (invoke "f") "unreachable")
                  (invoke "f" (i32.const 1))"#;
    let report = WastRunner::new(&Engine::default()).run_script("s", text);
    let lines: Vec<_> = report.failures.iter().map(|failure| failure.line).collect();
    assert_eq!((lines, report.passed), (vec![2, 3, 4], 2));
}

#[test]
fn malformed_and_invalid_dialect_modules_are_told_apart() {
    check(
        r#"(assert_malformed (module (type $c (stack))) "")
           (assert_invalid (module (type $c (stack (ref $d)))) "")
           (assert_invalid (module (type $c (stack (ref $c)))) "")
           (assert_malformed (module quote "(type $c (stack))") "")
           (module (type $c (stack (ref $d))))"#,
        &[
            "1: expected a malformed module, found an invalid module: a stack type must end with \
             the stack to return to, `(ref null? $d)` where `$d` is a stack type; found no type",
            "2: expected an invalid module, found a malformed module: unknown type: there is no \
             type named `$d`",
            "3: expected an invalid module, found a valid module",
            "4: expected a malformed module, found an invalid module: a stack type must end with \
             the stack to return to, `(ref null? $d)` where `$d` is a stack type; found no type",
            "5: invalid module: unknown type: there is no type named `$d`",
        ],
    );
}
