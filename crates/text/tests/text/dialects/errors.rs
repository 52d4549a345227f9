//! Errors in text with forms of the dialects.

use crate::common::errors::{self, error, error_at};
use ropewalk_text::Text;

/// The first line of every module below.
const HEAD: &str = "(type $c (stack (param i32) (ref null $c))) (type $d (stack (ref $c))) \
    (type $kf (func)) (type $k (cont $kf)) (tag $e (param i32 (ref null $c))) (tag $e0) \
    (func $f (param i32 (ref null $c))) (func $g (param i64 (ref null $c))) (func $h)\n";

#[track_caller]
fn malformed(table: &str) {
    errors::malformed(HEAD, table);
}

#[track_caller]
fn invalid(table: &str) {
    errors::invalid(HEAD, table);
}

/// The same errors as in a module without dialects.
#[test]
fn unbalanced_blocks_and_second_starts() {
    let rows = r"
(func
 block $l^) => expected `end`
(func ^end) => unexpected `end`
(func ^else) => unexpected `else`
(func (switch $c (i32.const 1) (ref.null $c)) ^end) => unexpected `end`
(start $h)
(start ^$h) => unexpected second `start`
(global i32 (i32.const 1) ^end) => unexpected `end`
";
    malformed(rows);
}

#[test]
fn numeric_indices() {
    let rows = [
        "(func (call ^0))",
        "(func call\n ^0x1)",
        "(func return_call ^0)",
        "(func (drop (ref.func ^0)))",
        "(start ^0)",
        "(export \"a\" (func ^0))",
        "(export \"a\" (tag ^0))",
        "(table 1 funcref) (elem (i32.const 0) ^0)",
        "(table 1 funcref) (elem (i32.const 0) func $f ^0)",
        "(elem declare func ^0)",
        "(table funcref (elem $f ^0))",
        "(func (type ^0))",
        "(func (param (ref ^0)))",
        "(func (param (ref null ^0)))",
        "(func (drop (ref.null ^0)))",
        "(type (sub ^0 (func)))",
        "(type (sub final ^0 (func)))",
        "(type (cont ^0))",
        "(func (br ^0))",
        "(func (block $l (br_table $l $l ^1 (i32.const 0))))",
        "(func (block $l (try_table (catch ^0 $l))))",
        "(func (block $l (try_table (catch $e ^0))))",
        "(func (block $l (try_table (catch_all ^0))))",
        "(func (throw ^0))",
        "(func (resume $k (on ^0 switch)))",
        "(func (resume ^0))",
        "(func (struct.new ^0))",
        "(func (array.copy $k ^0))",
        "(func (switch ^0))",
        "(func (switch_retire ^0))",
        "(func (stack.new $c ^0))",
        "(func (switch_throw $c ^7))",
    ];
    for row in rows {
        malformed(&format!("{row} => expected a name, found the number"));
    }
}

#[test]
fn unknown_words_and_names() {
    let rows = r"
(func (switch ^$x)) => unknown type: there is no type named `$x`
(func (stack.new $c ^$x)) => unknown function: there is no function named
(func (switch_throw $c ^$x)) => unknown tag: there is no tag named `$x`
(type $s (stack (param (ref ^$x)) (ref $c))) => unknown type
(func (param (ref null ^$x))) => unknown type
(func (local (ref ^$x))) => unknown type
(func (^stack.frob $c))
    => unknown operator `stack.frob`: expected one of `stack.new`, `stack.new_ref`, `stack.bind`,
(func (call ^$x)) => unknown func
(func (br ^$x)) => unknown label
(func (param ^stack)) => ..write `(ref null stack)`, or `stackref`
(func (result ^nostack)) => ..write `(ref null nostack)`
(^stack (ref null $c)) => ..a stack type is defined by `(type $t (stack ..))`
(func ^$f) => duplicate func identifier
(type ^$c (func)) => duplicate type identifier
";
    malformed(rows);
}

#[test]
fn missing_and_superfluous_immediates() {
    let rows = r"
(func (switch_retire^)) => ..expects the name of a stack type here, found `)`
(func (stack.new $c^)) => ..expects the name of a function here, found `)`
(func stack.bind $c ^drop) => ..expects the name of a stack type here, found `drop`
(func (stack.new_ref $c ^(nop))) => ..found `(nop ..)`
(func (return_switch_throw $c $e^)) => ..the name of a function here
(func (stack.new $c $f ^$f)) => expected an instruction
";
    malformed(rows);
}

#[test]
fn parentheses() {
    let rows = r"
(func (switch $c (i32.const 1)^ => expected `)`
(func (switch $c))^) => unexpected `)`
";
    malformed(rows);
    malformed("(func (switch $c) \"^\u{1}\") => ..invalid character");
}

#[test]
fn stack_types() {
    let rows = r"
(^type $s (stack)) => ..found no type
(type $s (stack (param ^i32)))
    => a stack type must end with the stack to return to, `(ref null? $d)` where `$d` is a stack type;
(type $s (stack ^(ref null stack))) => ..found `(ref null stack)`
(type $s (stack (ref null ^$k))) => ..found `$k`, which is a continuation type
(type $s (sub ^$k (stack (ref $c)))) => ..`$k` is a continuation type
(^type $s (sub $c (stack (param i32) (ref null $c)))) => sub type cannot have a final
(type $s (sub (stack (ref null $c))))
(^type $t (sub $s (stack (ref $c)))) => sub type must match super type
";
    invalid(rows);
    let rows = r#"
(type $s (stack ^i32 (ref $c))) => expected `(param ..)`, found `i32`
(type $s (stack (param ^$x i32 i64) (ref $c))) => expected exactly one type after `$x`
(type $s (stack (param ^"x") (ref $c))) => expected a value type
(type $s (stack (param ^i33) (ref $c))) => unexpected token
"#;
    malformed(rows);
}

/// The conditions of a design have better messages than its lowered text.
#[test]
fn conditions_are_reported_before_other_errors() {
    let wrong = "(func (result i32) (i64.const 1)) (type $i (stack (param i64) (ref null $c)))\n";
    let head = format!("{HEAD}{wrong}");
    let rows = r"
(func (drop (stack.bind $c ^$i (ref.null $c)))) => ..`$i` takes others
(func (drop (stack.new $c ^$g))) => ..`$g` does not fit
";
    errors::invalid(&head, rows);
}

#[test]
fn conditions() {
    let rows = r"
(func (switch ^$k)) => expected a stack type, but `$k` is a continuation type
(func (switch ^$kf)) => expected a stack type, but `$kf` is a function type
(func (stack.new $c ^$h)) => ..expected 2 parameters and 0 results, found 0
(func $x (param i32) (result i32) (local.get 0)) (func (stack.new $c ^$x))
    => ..expected 2 parameters and 0 results, found 1 parameter and 1 result
(func (drop (stack.new $c ^$g))) => ..the type of `$g` does not fit
(func (stack.new_ref $c ^$kf)) => ..the type of `$kf` does not fit
(func (stack.new_ref $c ^$d)) => expected a function type, but `$d` is a stack
(func (switch_retire ^$d (ref.null $d))) => ..`$d` ends with `(ref $c)`
(func (stack.bind $d ^$c)) => ..`$d` takes 1, and `$c` takes 2
(type $s (stack (param i64) (ref null $c)))
(func (drop (stack.bind $c ^$s (ref.null $c)))) => ..`$s` takes others
(func (switch_throw $c ^$e0)) => ..the last parameter of `$e0` must be
(tag $t (param (ref $d)))
(func (switch_throw $c ^$t (ref.null $c)) drop drop) => ..must be `(ref null? $c)`
(func (return_switch $c ^$h)) => ..expected 2, found 0
(global (ref $c) (^stack.new $c $f))
    => constant expression required: `stack.new` is allowed only in functions
";
    invalid(rows);
}

#[test]
fn operands_and_results() {
    let rows = r"
(func (^switch $c (i64.const 1) (ref.null $c)) drop drop) => type mismatch: expected i32
(func (drop (switch $c (i32.const 1) (ref.null $c)))^) => ..values remaining
(func
 (^switch_retire $c (ref.null $c))) => ..expected i32 but nothing on stack
(func (result i64) (^return_switch $c $f (i32.const 1) (ref.null $c))) => type mismatch
(func (return_switch $c ^$g (i32.const 1) (ref.null $c))) => ..the parameters of `$g` do not fit
(func (^switch_throw $c $e (ref.null $c))) => ..expected i32 but nothing on stack
";
    invalid(rows);
    // An error unrelated to dialects, after lowered instructions.
    let rows = r"
(func (drop (stack.new $c $f))
  i32.const 1
  ^i64.eqz drop) => type mismatch
(func (local i32 (ref $c)) (drop (^local.get 1))) => uninitialized local
";
    invalid(rows);
}

#[test]
fn kinds_do_not_match() {
    let rows = r"
(func (param contref) (result (ref null stack)) (local.get 0)^) => ..never match
(func (param (ref $c)) (result contref) (local.get 0)^) => ..never match
(func (param (ref stack)) (result contref)
 (local.get 0)^) => ..found (ref stack)
(func (drop (^cont.new $c (ref.null nofunc))))
    => expected a continuation type, but `$c` is not one (stack, task, fiber and
(func (^resume $c (i32.const 1) (ref.null $c) (ref.null $c))) => ..never match
(global (ref null $c) (^ref.null nocont))
    => type mismatch: expected (ref null $c), found nullcontref (stack, task, fiber and
";
    invalid(rows);
    // Errors only in the standard text.
    let rows = r"
(func (param (ref $c)) (result funcref) (local.get 0)^) => ..expected funcref
(func (param (ref $c)) (result (ref null $k)) (local.get 0)^) => type mismatch
(func (param (ref $c)) (^call_ref $c (i32.const 1) (ref.null $c) (local.get 0)))
    => expected func type, but `$c` is a stack type
";
    invalid(rows);
}

/// Types have the names of the source, in errors of the standard text and of the shadow.
#[test]
fn types_are_named() {
    let rows = r"
(func (param (ref $c)) (result contref) (local.get 0)^)
    => type mismatch: expected contref, found (ref $c) (stack, task, fiber
(func (drop (^stack.bind $c $c (ref.null $d))))
    => type mismatch: expected (ref null $c), found (ref null $d)
(func (drop (^stack.bind $c $c))) => type mismatch: expected (ref null $c) but nothing on stack
";
    invalid(rows);
    // A type of the source with the name of an added type.
    let rows = r"
(type $fiber (struct)) (func (param (ref $fiber)) (^fiber.release (local.get 0)))
    => ..`fiber.release` takes `[fiberref]`
(type $fiber (struct)) (func (param (ref $fiber)) (result (ref fiber)) (local.get 0)^)
    => type mismatch: expected (ref fiber), found (ref $fiber)
(func (param stackref) (result (ref null $c)) (local.get_clear 0)^)
    => type mismatch: expected (ref null $c), found stackref
";
    invalid(rows);
}

/// In a module without words for continuations, messages call them stacks.
#[test]
fn general_types_are_named() {
    let error = error("(func (param (ref null stack)) (result fiberref) (local.get 0))");
    assert!(error.message().contains("expected fiberref, found (ref null stack)"), "{error}");
}

#[test]
fn references_are_opaque() {
    let rows = r"
(func (drop (^ref.cast (ref $c) (ref.null $c)))) => invalid cast
(func (drop (^ref.test (ref stack) (ref.null $c)))) => invalid cast
(func (drop (^ref.eq (ref.null $c) (ref.null $c)))) => type mismatch
";
    invalid(rows);
}

#[test]
fn quoted_modules() {
    let error = error("(module quote\n  \"(type $c (stack (ref $c)))\"\n  \"(func (switch $x))\")");
    assert_eq!(error.position().unwrap().to_string(), "3:18");
    assert!(!error.is_invalid());
}

#[test]
fn errors_show_the_source() {
    let error = error("(type $c (stack\n  (ref null $c)))\n(func\n  (switch $d))");
    assert_eq!(
        error.to_string(),
        "\
unknown type: there is no type named `$d`
  --> 4:11
   |
 4 |   (switch $d))
   |           ^"
    );
}

#[test]
fn a_standard_module_has_standard_errors() {
    let error = Text::parse("(func (switch $c $e) ;; stack\n").unwrap_err();
    assert_eq!(error.position().unwrap().to_string(), "1:30");
    assert!(!error.message().contains("parenthesis"), "{error}");
}

/// Types that lowering adds have no name in messages: their structure is printed.
#[test]
fn added_types_are_printed_by_structure() {
    let stack = "(type $c (stack (param i32) (ref null $c))) (type $g (func (param i64)))\n";
    let check = |source: &str, position: &str, message: &str| {
        let error = error_at(source, position);
        assert_eq!(error.message(), message);
    };
    check(
        &format!("{stack}(func (param (ref null $g)) (drop (cont.new $c (local.get 0))))"),
        "2:36",
        "type mismatch: expected (ref null (func (param i32 (ref null $c)))), found (ref null $g)",
    );
    check(
        &format!("{stack}(func $f (param i32 (ref null $c))) (global (ref null $c) (ref.func $f))"),
        "2:60",
        "type mismatch: expected (ref null $c), found (ref (func (param i32 (ref null $c))))",
    );
    check(
        "(type $c (stack (ref null $c)))\n(func (param (ref null $c)) (drop (ref.cast (ref $c) (local.get 0))))",
        "2:36",
        "invalid cast: cannot cast to a stack, task or fiber type",
    );
    check(
        "(type $t (task (param i32) (result i64)))\n(func (drop (cont.new $t (ref.null func))))",
        "2:14",
        "type mismatch: expected (ref null (func (param i32) (result i64))), found funcref",
    );
}
