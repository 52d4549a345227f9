//! What is wrong in text with dialect forms: each test gives a source, the
//! line and column, and how the message starts.

mod common;
use common::erring::{error, error_at};
use ropewalk_text::{Text, TextError};

/// What every module below starts with, on the first line.
const HEAD: &str = "(type $c (stack (param i32) (ref null $c))) (type $d (stack (ref $c))) \
    (type $kf (func)) (type $k (cont $kf)) (tag $e (param i32 (ref null $c))) (tag $e0) \
    (func $f (param i32 (ref null $c))) (func $g (param i64 (ref null $c))) (func $h)\n";

#[track_caller]
fn check(source: &str, position: &str, message: &str) -> TextError {
    let error = error_at(&format!("{HEAD}{source}"), position);
    assert!(error.message().contains(message), "\n{error}");
    error
}

#[track_caller]
fn malformed(source: &str, position: &str, message: &str) {
    assert!(!check(source, position, message).is_invalid());
}

#[track_caller]
fn invalid(source: &str, position: &str, message: &str) {
    assert!(check(source, position, message).is_invalid());
}

/// As in a module without dialects.
#[test]
fn blocks_and_starts_that_cannot_be_read() {
    malformed("(func\n block $l)", "3:10", "expected `end`");
    malformed("(func end)", "2:7", "unexpected `end`");
    malformed("(func else)", "2:7", "unexpected `else`");
    malformed("(func (switch $c (i32.const 1) (ref.null $c)) end)", "2:47", "unexpected `end`");
    malformed("(start $h)\n(start $h)", "3:8", "unexpected second `start`");
    malformed("(global i32 (i32.const 1) end)", "2:27", "unexpected `end`");
}

#[test]
fn numbers_of_what_shifts() {
    let number =
        |source, position| malformed(source, position, "expected a name, found the number");
    number("(func (call 0))", "2:13");
    number("(func call\n 0x1)", "3:2");
    number("(func return_call 0)", "2:19");
    number("(func (drop (ref.func 0)))", "2:23");
    number("(start 0)", "2:8");
    number("(export \"a\" (func 0))", "2:19");
    number("(export \"a\" (tag 0))", "2:18");
    number("(table 1 funcref) (elem (i32.const 0) 0)", "2:39");
    number("(table 1 funcref) (elem (i32.const 0) func $f 0)", "2:47");
    number("(elem declare func 0)", "2:20");
    number("(table funcref (elem $f 0))", "2:25");
    number("(func (type 0))", "2:13");
    number("(func (param (ref 0)))", "2:19");
    number("(func (param (ref null 0)))", "2:24");
    number("(func (drop (ref.null 0)))", "2:23");
    number("(type (sub 0 (func)))", "2:12");
    number("(type (sub final 0 (func)))", "2:18");
    number("(type (cont 0))", "2:13");
    number("(func (br 0))", "2:11");
    number("(func (block $l (br_table $l $l 1 (i32.const 0))))", "2:33");
    number("(func (block $l (try_table (catch 0 $l))))", "2:35");
    number("(func (block $l (try_table (catch $e 0))))", "2:38");
    number("(func (block $l (try_table (catch_all 0))))", "2:39");
    number("(func (throw 0))", "2:14");
    number("(func (resume $k (on 0 switch)))", "2:22");
    number("(func (resume 0))", "2:15");
    number("(func (struct.new 0))", "2:19");
    number("(func (array.copy $k 0))", "2:22");
    number("(func (switch 0))", "2:15");
    number("(func (switch_retire 0))", "2:22");
    number("(func (stack.new $c 0))", "2:21");
    number("(func (switch_throw $c 7))", "2:24");
}

#[test]
fn unknown_words_and_names() {
    malformed("(func (switch $x))", "2:15", "unknown type: there is no type named `$x`");
    malformed("(func (stack.new $c $x))", "2:21", "unknown function: there is no function named");
    malformed("(func (switch_throw $c $x))", "2:24", "unknown tag: there is no tag named `$x`");
    malformed("(type $s (stack (param (ref $x)) (ref $c)))", "2:29", "unknown type");
    malformed("(func (param (ref null $x)))", "2:24", "unknown type");
    malformed("(func (local (ref $x)))", "2:19", "unknown type");
    malformed(
        "(func (stack.frob $c))",
        "2:8",
        "unknown operator `stack.frob`; there are `stack.new`",
    );
    malformed("(func (call $x))", "2:13", "unknown func");
    malformed("(func (br $x))", "2:11", "unknown label");
    malformed("(func (param stack))", "2:14", "write `(ref null stack)`, or `stackref`");
    malformed("(func (result nostack))", "2:15", "write `(ref null nostack)`");
    malformed("(stack (ref null $c))", "2:2", "a stack type is defined by `(type $t (stack ..))`");
    malformed("(func $f)", "2:7", "duplicate func identifier");
    malformed("(type $c (func))", "2:7", "duplicate type identifier");
}

#[test]
fn missing_and_superfluous_immediates() {
    malformed("(func (switch_retire))", "2:21", "expects the name of a stack type here, found `)`");
    malformed("(func (stack.new $c))", "2:20", "expects the name of a function here, found `)`");
    malformed(
        "(func stack.bind $c drop)",
        "2:21",
        "expects the name of a stack type here, found `drop`",
    );
    malformed("(func (stack.new_ref $c (nop)))", "2:25", "found `(nop ..)`");
    malformed("(func (return_switch_throw $c $e))", "2:33", "the name of a function here");
    malformed("(func (stack.new $c $f $f))", "2:24", "expected an instruction");
}

#[test]
fn parentheses() {
    malformed("(func (switch $c (i32.const 1)", "2:31", "expected `)`");
    malformed("(func (switch $c)))", "2:19", "unexpected `)`");
    malformed("(func (switch $c) \"\u{1}\")", "2:20", "invalid character");
}

#[test]
fn stack_types() {
    invalid("(type $s (stack))", "2:2", "found no type");
    invalid("(type $s (stack (param i32)))", "2:24", "a stack type ends with");
    invalid("(type $s (stack (ref null stack)))", "2:17", "found `(ref null stack)`");
    invalid("(type $s (stack (ref null $k)))", "2:27", "found `$k`, which is a continuation type");
    invalid("(type $s (sub $k (stack (ref $c))))", "2:15", "`$k` is a continuation type");
    invalid(
        "(type $s (sub $c (stack (param i32) (ref null $c))))",
        "2:2",
        "sub type cannot have a final",
    );
    invalid(
        "(type $s (sub (stack (ref null $c))))\n(type $t (sub $s (stack (ref $c))))",
        "3:2",
        "sub type must match super type",
    );
    malformed("(type $s (stack i32 (ref $c)))", "2:17", "expected `(param ..)`, found `i32`");
    malformed(
        "(type $s (stack (param $x i32 i64) (ref $c)))",
        "2:24",
        "expected exactly one type after `$x`",
    );
    malformed("(type $s (stack (param \"x\") (ref $c)))", "2:24", "expected a value type");
    malformed("(type $s (stack (param i33) (ref $c)))", "2:24", "unexpected token");
}

/// Nobody who compiles the module gets to say it in the words of what it is
/// lowered to.
#[test]
fn conditions_are_found_before_what_else_is_wrong() {
    let wrong = "(func (result i32) (i64.const 1)) (type $i (stack (param i64) (ref null $c)))\n";
    invalid(
        &format!("{wrong}(func (drop (stack.bind $c $i (ref.null $c))))"),
        "3:28",
        "`$i` takes others",
    );
    invalid(&format!("{wrong}(func (drop (stack.new $c $g)))"), "3:27", "`$g` does not fit");
}

#[test]
fn conditions() {
    invalid("(func (switch $k))", "2:15", "expected a stack type, but `$k` is a continuation type");
    invalid("(func (switch $kf))", "2:15", "expected a stack type, but `$kf` is a function type");
    invalid("(func (stack.new $c $h))", "2:21", "expected 2 parameters and 0 results, found 0");
    invalid(
        "(func $x (param i32) (result i32) (local.get 0)) (func (stack.new $c $x))",
        "2:70",
        "expected 2 parameters and 0 results, found 1 parameter and 1 result",
    );
    invalid("(func (drop (stack.new $c $g)))", "2:27", "the type of `$g` does not fit");
    invalid("(func (stack.new_ref $c $kf))", "2:25", "the type of `$kf` does not fit");
    invalid(
        "(func (stack.new_ref $c $d))",
        "2:25",
        "expected a function type, but `$d` is a stack",
    );
    invalid("(func (switch_retire $d (ref.null $d)))", "2:22", "`$d` ends with `(ref $c)`");
    invalid("(func (stack.bind $d $c))", "2:22", "`$d` takes 1, and `$c` takes 2");
    invalid(
        "(type $s (stack (param i64) (ref null $c)))\n(func (drop (stack.bind $c $s (ref.null $c))))",
        "3:28",
        "`$s` takes others",
    );
    invalid("(func (switch_throw $c $e0))", "2:24", "the last parameter of `$e0` must be");
    invalid(
        "(tag $t (param (ref $d)))\n(func (switch_throw $c $t (ref.null $c)) drop drop)",
        "3:24",
        "must be `(ref null? $c)`",
    );
    invalid("(func (return_switch $c $h))", "2:25", "expected 2, found 0");
    invalid(
        "(global (ref $c) (stack.new $c $f))",
        "2:19",
        "constant expression required: `stack.new` stands only in functions",
    );
}

#[test]
fn operands_and_results() {
    invalid(
        "(func (switch $c (i64.const 1) (ref.null $c)) drop drop)",
        "2:8",
        "type mismatch: expected i32",
    );
    invalid("(func (drop (switch $c (i32.const 1) (ref.null $c))))", "2:53", "values remaining");
    invalid(
        "(func\n (switch_retire $c (ref.null $c)))",
        "3:3",
        "expected i32 but nothing on stack",
    );
    invalid(
        "(func (result i64) (return_switch $c $f (i32.const 1) (ref.null $c)))",
        "2:21",
        "type mismatch",
    );
    invalid(
        "(func (return_switch $c $g (i32.const 1) (ref.null $c)))",
        "2:25",
        "the parameters of `$g` do not fit",
    );
    invalid(
        "(func (switch_throw $c $e (ref.null $c)))",
        "2:8",
        "expected i32 but nothing on stack",
    );
    // What has nothing to do with dialects, after what was lowered.
    invalid(
        "(func (drop (stack.new $c $f))\n  i32.const 1\n  i64.eqz drop)",
        "4:3",
        "type mismatch",
    );
    invalid("(func (local i32 (ref $c)) (drop (local.get 1)))", "2:35", "uninitialized local");
}

#[test]
fn kinds_do_not_match() {
    invalid(
        "(func (param contref) (result (ref null stack)) (local.get 0))",
        "2:62",
        "never match",
    );
    invalid("(func (param (ref $c)) (result contref) (local.get 0))", "2:54", "never match");
    invalid(
        "(func (param (ref stack)) (result contref)\n (local.get 0))",
        "3:15",
        "found (ref stack)",
    );
    invalid(
        "(func (drop (cont.new $c (ref.null nofunc))))",
        "2:14",
        "expected a continuation type, but `$c` is not one (stack, task, fiber and",
    );
    invalid("(func (resume $c (i32.const 1) (ref.null $c) (ref.null $c)))", "2:8", "never match");
    invalid(
        "(global (ref null $c) (ref.null nocont))",
        "2:24",
        "type mismatch: expected (ref null $c), found nullcontref (stack, task, fiber and",
    );
    // What is only wrong in the standard text.
    invalid("(func (param (ref $c)) (result funcref) (local.get 0))", "2:54", "expected funcref");
    invalid(
        "(func (param (ref $c)) (result (ref null $k)) (local.get 0))",
        "2:60",
        "type mismatch",
    );
    invalid(
        "(func (param (ref $c)) (call_ref $c (i32.const 1) (ref.null $c) (local.get 0)))",
        "2:25",
        "expected func type, but `$c` is a stack type",
    );
}

/// Types have the names of the source, in errors of the standard text and of
/// the check that kinds do not match.
#[test]
fn types_are_named() {
    invalid(
        "(func (param (ref $c)) (result contref) (local.get 0))",
        "2:54",
        "type mismatch: expected contref, found (ref $c) (stack, task, fiber",
    );
    invalid(
        "(func (drop (stack.bind $c $c (ref.null $d))))",
        "2:14",
        "type mismatch: expected (ref null $c), found (ref null $d)",
    );
    invalid(
        "(func (drop (stack.bind $c $c)))",
        "2:14",
        "type mismatch: expected (ref null $c) but nothing on stack",
    );
    // A type of the source that is called like the one that is added.
    invalid(
        "(type $fiber (struct)) (func (param (ref $fiber)) (fiber.release (local.get 0)))",
        "2:52",
        "`fiber.release` takes `[fiberref]`",
    );
    invalid(
        "(type $fiber (struct)) (func (param (ref $fiber)) (result (ref fiber)) (local.get 0))",
        "2:85",
        "type mismatch: expected (ref fiber), found (ref $fiber)",
    );
    invalid(
        "(func (param stackref) (result (ref null $c)) (local.get_clear 0))",
        "2:66",
        "type mismatch: expected (ref null $c), found stackref",
    );
}

/// In a module without words for continuations, what is lowered to one is a
/// stack.
#[test]
fn general_types_are_named() {
    let error = error("(func (param (ref null stack)) (result fiberref) (local.get 0))");
    assert!(error.message().contains("expected fiberref, found (ref null stack)"), "{error}");
}

#[test]
fn references_are_opaque() {
    invalid("(func (drop (ref.cast (ref $c) (ref.null $c))))", "2:14", "invalid cast");
    invalid("(func (drop (ref.test (ref stack) (ref.null $c))))", "2:14", "invalid cast");
    invalid("(func (drop (ref.eq (ref.null $c) (ref.null $c))))", "2:14", "type mismatch");
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

/// A type that lowering adds has no name: it is said by what it is.
#[test]
fn types_that_lowering_adds_are_said_by_what_they_are() {
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
