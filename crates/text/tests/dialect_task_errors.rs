//! What is wrong in text with tasks: a table of sources, each with the line and
//! column of the error, and how its message starts.

mod common;
use common::erring::{SWITCHING, error, error_at, validate};
use ropewalk_text::Text;

/// What every module below starts with, on the first line.
const HEAD: &str = "\
    (type $t (task (param i32) (result i64))) (type $u (task)) \
    (type $v (task (result anyref))) (type $w (taskref () (eqref))) \
    (type $c (stack (ref null $c))) (type $kf (func)) (type $k (cont $kf)) \
    (rec (type $samef (func (param i32) (result i64))) (type $same (cont $samef))) \
    (func $f (param (ref null $t) i32 f32) (result i64) (i64.const 1)) \
    (func $plain (param (ref $u))) (func $no) \
    (func $short (param (ref null $t)) (result i64) (i64.const 1)) \
    (func $other (param (ref null $t) i64) (result i64) (i64.const 1)) \
    (func $first (param i32 (ref null $t)) (result i64) (i64.const 1)) \
    (func $less (param (ref null $t) i32)) \
    (func $wrong (param (ref null $t) i32) (result i32) (i32.const 1)) \
    (func $stacked (param (ref null $c) i32) (result i64) (i64.const 1)) \
    (func $conted (param contref i32) (result i64) (i64.const 1))\n";

/// Checks the rows of a table: source, position, how the message starts.
#[track_caller]
fn check(is_invalid: bool, rows: &[(&str, &str, &str)]) {
    for (source, position, message) in rows {
        let error = error_at(&format!("{HEAD}{source}"), position);
        assert!(error.message().starts_with(message), "\n{error}");
        assert_eq!(error.is_invalid(), is_invalid, "\n{error}");
    }
}

#[test]
fn malformed() {
    check(false, MALFORMED);
}

#[test]
fn invalid() {
    check(true, INVALID);
}

/// In a module without continuations and stacks, errors say `taskref`.
#[test]
fn the_type_of_all_tasks() {
    for (source, position, message) in ANY_TASK {
        let error = error(&format!("(type $t (task)) (type $u (task (result i32)))\n{source}"));
        assert_eq!(error.position().unwrap().to_string(), *position, "\n{error}");
        assert!(error.message().starts_with(message), "\n{error}");
        assert!(error.is_invalid(), "\n{error}");
    }
}

const ANY_TASK: &[(&str, &str, &str)] = &[
    (
        "(func (param taskref) (task.resume $t (local.get 0)))",
        "2:24",
        "type mismatch: expected (ref null $t), found taskref",
    ),
    (
        "(func (param (ref task)) (task.release $t (local.get 0)))",
        "2:27",
        "type mismatch: expected (ref null $t), found (ref task)",
    ),
    (
        "(func (param i32) (task.release (local.get 0)))",
        "2:20",
        "type mismatch: expected taskref, found i32",
    ),
    (
        "(func (param taskref) (drop (task.eq (local.get 0))))",
        "2:30",
        "type mismatch: expected taskref but nothing on stack",
    ),
    (
        "(func (param taskref) (result (ref task)) (local.get 0))",
        "2:56",
        "type mismatch: expected (ref task), found taskref",
    ),
    (
        "(func (param taskref) (result (ref null $t)) (ref.cast (ref null $t) (local.get 0)))",
        "2:47",
        "",
    ),
    ("(func (param taskref) (result i32) (ref.test (ref $t) (local.get 0)))", "2:37", ""),
    ("(func (param taskref) (result i32) (ref.eq (local.get 0) (local.get 0)))", "2:37", ""),
    ("(func (param taskref) (result anyref) (local.get 0))", "2:52", ""),
    (
        "(func (param taskref) (result (ref $u)) (block $l (result (ref $u)) (br_on_cast $l taskref (ref $u) (local.get 0)) (unreachable)))",
        "2:70",
        "",
    ),
    (
        "(func (param fiberref) (result taskref) (local.get 0))",
        "2:54",
        "type mismatch: expected taskref, found fiberref",
    ),
    (
        "(func (param taskref) (result fiberref) (local.get 0))",
        "2:54",
        "type mismatch: expected fiberref, found taskref",
    ),
    ("(func (param fiberref) (drop (task.eq (local.get 0) (ref.null task))))", "2:31", ""),
    (
        "(type $c (stack (ref null $c))) (func (param (ref null $c)) (result taskref) (local.get 0))",
        "2:91",
        "",
    ),
    ("(func (param (ref null stack)) (result taskref) (local.get 0))", "2:62", ""),
    ("(func (param taskref) (result (ref null stack)) (local.get 0))", "2:62", ""),
    ("(func (param contref) (result taskref) (local.get 0))", "2:53", ""),
    ("(func (param taskref) (result contref) (local.get 0))", "2:53", ""),
    ("(func (result taskref) (ref.null nocont))", "2:41", ""),
    ("(type $s (struct)) (func (result taskref) (struct.new $s))", "2:58", ""),
    ("(func (param stackref) (result taskref) (local.get_clear 0))", "2:60", ""),
    (
        "(func $f (param anyref)) (func (drop (task.new $t $f)))",
        "2:51",
        "`$f` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)` or `taskref`",
    ),
    (
        "(func $f (param fiberref)) (func (drop (task.new $t $f)))",
        "2:53",
        "`$f` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)` or `taskref`",
    ),
    (
        "(type $v (task (param taskref))) (func $f (param taskref (ref null $t))) (func (drop (task.new $v $f)))",
        "2:99",
        "`$f` cannot be the function of a task of type `$v`: after the task it must take what `$v` receives; the types do not fit",
    ),
    (
        "(global taskref (task.new $t $f)) (func $f (param taskref))",
        "2:18",
        "constant expression required",
    ),
];

#[test]
fn errors_behind_what_was_lowered() {
    let lines = "(func (task.release $t\n    (ref.null $t)))\n\n(func\n  (drop (task.new $t $f (f32.const 1)))\n  i64.eqz\n  drop)";
    check(true, &[(lines, "7:3", "type mismatch: expected i64 but nothing on stack")]);
}

#[test]
fn the_head_is_valid() {
    let text = Text::parse(HEAD).unwrap();
    validate(&text, SWITCHING).unwrap();
}

/// What cannot be read: unknown words and names, numbers, and wrong syntax.
const MALFORMED: &[(&str, &str, &str)] = &[
    (
        "(type $x (task (param (ref null $nope))))",
        "2:33",
        "unknown type: there is no type named `$nope`",
    ),
    ("(type $x (task (result i33)))", "2:24", "unexpected token"),
    ("(type $x (task i32))", "2:16", "expected `(param ..)` or `(result ..)`, found `i32`"),
    (
        "(type $x (task (result i32) (param i32)))",
        "2:29",
        "unexpected `(param ..)`: a task type has its parameters before its results",
    ),
    (
        "(type $x (task (local i32)))",
        "2:16",
        "expected `(param ..)` or `(result ..)`, found `(local ..)`",
    ),
    ("(type $x (task (param $a i32 i64)))", "2:23", "expected exactly one type after `$a`"),
    ("(type $x (task (param \"a\")))", "2:23", "expected a value type, found `\"a\"`"),
    (
        "(type $x (taskref))",
        "2:18",
        "`taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `)`",
    ),
    (
        "(type $x (taskref (i32)))",
        "2:24",
        "`taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `)`",
    ),
    (
        "(type $x (taskref i32 i64))",
        "2:19",
        "`taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `i32`",
    ),
    (
        "(type $x (taskref (i32) (i32) (i32)))",
        "2:31",
        "`taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `(i32 ..)`",
    ),
    (
        "(type $x (taskref (i32) (i32) i32))",
        "2:31",
        "`taskref` has two lists of types, `(taskref (r*) (s*))`: what a task receives, and what it gives; found `i32`",
    ),
    ("(type $x (taskref ((task)) ()))", "2:20", "expected a value type, found `(task ..)`"),
    ("(type $x (taskref (i33) ()))", "2:20", "unexpected token"),
    (
        "(type $x (taskref ((ref $nope)) ()))",
        "2:25",
        "unknown type: there is no type named `$nope`",
    ),
    ("(type $x (taskref ((ref null 3)) ()))", "2:30", "expected a name, found the number 3"),
    ("(type $x (task) (task))", "2:17", "expected `)` after the type, found `(task ..)`"),
    (
        "(type $x (sub final (task) (task)))",
        "2:28",
        "expected `)` after the type, found `(task ..)`",
    ),
    ("(type $x (sub final (task)) nop)", "2:29", "expected `)` after the type, found `nop`"),
    ("(type $x (sub frob (task)))", "2:15", "expected `(`"),
    (
        "(type $x (stack (ref null $x)) (stack (ref null $x)))",
        "2:32",
        "expected `)` after the type, found `(stack ..)`",
    ),
    ("(type $t (func))", "2:7", "duplicate type identifier"),
    (
        "(func (param task))",
        "2:14",
        "unexpected token: `task` is not a value type; write `taskref` or `(ref task)`",
    ),
    (
        "(func (param (ref taskref)))",
        "2:19",
        "unexpected token: `taskref` is a value type; the heap type is `task`",
    ),
    (
        "(func (drop (ref.null taskref)))",
        "2:23",
        "unexpected token: `taskref` is a value type; the heap type is `task`",
    ),
    ("(func (param (ref null notask)))", "2:24", "unexpected token"),
    (
        "(func (local (taskref (i32) (i32))))",
        "2:15",
        "unexpected token `taskref`: a task type is defined by `(type $t (task ..))`",
    ),
    (
        "(func (param taskref) (task.release 0 (local.get 0)))",
        "2:37",
        "expected a name, found the number 0",
    ),
    (
        "(func (param taskref) (task.eq $t (local.get 0) (local.get 0)))",
        "2:32",
        "expected an instruction",
    ),
    (
        "(func (param taskref) (task.eq 0 (local.get 0) (local.get 0)))",
        "2:32",
        "expected an instruction",
    ),
    (
        "(func (param taskref) (task.resume (local.get 0)))",
        "2:36",
        "`task.resume` expects the name of a task type here, found `(local.get ..)`",
    ),
    (
        "(func (param taskref) (task.resume task (local.get 0)))",
        "2:36",
        "`task.resume` expects the name of a task type here, found `task`",
    ),
    ("(task (param i32))", "2:2", "unexpected token `task`: a task type is defined by"),
    ("(func (task.frob $t))", "2:8", "unknown operator `task.frob`; there are `task.new`"),
    ("(func task.yield $t)", "2:7", "unknown operator `task.yield`; there are `task.new`"),
    (
        "(func (task.resume))",
        "2:19",
        "`task.resume` expects the name of a task type here, found `)`",
    ),
    (
        "(func task.resume drop)",
        "2:19",
        "`task.resume` expects the name of a task type here, found `drop`",
    ),
    ("(func (task.resume $nope))", "2:20", "unknown type: there is no type named `$nope`"),
    ("(func (task.resume 0))", "2:20", "expected a name, found the number 0"),
    (
        "(func (task.resume \"t\"))",
        "2:20",
        "`task.resume` expects the name of a task type here, found `\"t\"`",
    ),
    ("(func (task.new $t))", "2:19", "`task.new` expects the name of a function here, found `)`"),
    (
        "(func (task.new $t (i32.const 1)))",
        "2:20",
        "`task.new` expects the name of a function here, found `(i32.const ..)`",
    ),
    ("(func (task.new $t $nope))", "2:20", "unknown function: there is no function named `$nope`"),
    ("(func (task.new $t 0))", "2:20", "expected a name, found the number 0"),
    (
        "(func (param $x $t))",
        "2:17",
        "expected a value type, found `$t`: a reference to a type is written `(ref null $t)`",
    ),
    (
        "(func (local $x $t))",
        "2:17",
        "expected a value type, found `$t`: a reference to a type is written `(ref null $t)`",
    ),
    (
        "(func (result $t) (unreachable))",
        "2:15",
        "expected a value type, found `$t`: a reference to a type is written `(ref null $t)`",
    ),
    (
        "(func (block (result $t) (unreachable)) (drop))",
        "2:22",
        "expected a value type, found `$t`: a reference to a type is written `(ref null $t)`",
    ),
    (
        "(type $x (taskref ($t) ()))",
        "2:20",
        "expected a value type, found `$t`: a reference to a type is written `(ref null $t)`",
    ),
    (
        "(func (drop (task.new $f (f32.const 1))))",
        "2:23",
        "`task.new` expects the name of a task type here, found the function `$f`: write `task.new $t $f`",
    ),
    (
        "(func (drop (task.new $plain)))",
        "2:23",
        "`task.new` expects the name of a task type here, found the function `$plain`: write `task.new $u $plain`",
    ),
    (
        "(func (drop (task.new $no)))",
        "2:23",
        "`task.new` expects the name of a task type here, found the function `$no`: write `task.new $t $no`",
    ),
    ("(func (task.new $f $t))", "2:17", "unknown type: there is no type named `$f`"),
    (
        "(func (task.switchto $t))",
        "2:24",
        "`task.switchto` expects the name of a task type here, found `)`",
    ),
    (
        "(func (task.switchto $t (local.get 0)))",
        "2:25",
        "`task.switchto` expects the name of a task type here, found `(local.get ..)`",
    ),
    ("(func (task.switchto $t $nope))", "2:25", "unknown type: there is no type named `$nope`"),
    ("(func (task.switchto $t 1))", "2:25", "expected a name, found the number 1"),
    ("(func (task.suspend $t $t))", "2:24", "expected an instruction"),
    ("(func (task.release $t) (call 0))", "2:31", "expected a name, found the number 0"),
    (
        "(func (task.release $t (local.get $nope)))",
        "2:35",
        "unknown local: failed to find name `$nope`",
    ),
    ("(func (block $l (task.release $t (br 0))))", "2:38", "expected a name, found the number 0"),
    ("(func (task.release $t)", "2:24", "expected `)`: a parenthesis is not closed"),
    ("(func (task.release $t)))", "2:25", "unexpected `)`: no parenthesis is open here"),
    ("(func $f)", "2:7", "duplicate func identifier"),
];

/// What can be read, and breaks a condition or has wrong types.
const INVALID: &[(&str, &str, &str)] = &[
    ("(type $x (sub (task)))", "2:2", "a task type is final and has no supertype"),
    (
        "(type $x (sub $t (task (param i32) (result i64))))",
        "2:15",
        "a task type is final and has no supertype",
    ),
    ("(type $x (sub final $t (task)))", "2:21", "a task type is final and has no supertype"),
    ("(type $x (sub $c (task)))", "2:15", "a task type is final and has no supertype"),
    (
        "(type $x (sub $t (func (param i32) (result i64))))",
        "2:2",
        "sub type cannot have a final super type",
    ),
    (
        "(type $x (sub $t (stack (ref null $c))))",
        "2:15",
        "expected a stack type, but `$t` is a task type",
    ),
    (
        "(type $x (task (param (ref null $y)))) (type $y (task))",
        "2:33",
        "unknown type: `$y` is defined only later",
    ),
    (
        "(type $x (stack (ref null $y))) (type $y (stack (ref null $y)))",
        "2:27",
        "unknown type: `$y` is defined only later",
    ),
    (
        "(type $x (struct (field (ref null $y)))) (type $y (task))",
        "2:35",
        "unknown type: `$y` is defined only later",
    ),
    ("(type $x (cont $y)) (type $y (func))", "2:16", "unknown type: `$y` is defined only later"),
    ("(func (task.resume $k))", "2:20", "expected a task type, but `$k` is a continuation type"),
    ("(func (task.resume $kf))", "2:20", "expected a task type, but `$kf` is a function type"),
    ("(func (task.suspend $c))", "2:21", "expected a task type, but `$c` is a stack type"),
    ("(func (task.retire $k))", "2:20", "expected a task type, but `$k` is a continuation type"),
    ("(func (task.release $c))", "2:21", "expected a task type, but `$c` is a stack type"),
    ("(func (task.new $c $f))", "2:17", "expected a task type, but `$c` is a stack type"),
    ("(func (task.switchto $c $t))", "2:22", "expected a task type, but `$c` is a stack type"),
    (
        "(func (task.switchto $t $k))",
        "2:25",
        "expected a task type, but `$k` is a continuation type",
    ),
    ("(func (switch $t))", "2:15", "expected a stack type, but `$t` is a task type"),
    ("(func (stack.new $t $f))", "2:18", "expected a stack type, but `$t` is a task type"),
    ("(func (stack.bind $c $t))", "2:22", "expected a stack type, but `$t` is a task type"),
    (
        "(func (drop (task.new $t $no)))",
        "2:26",
        "`$no` cannot be the function of a task of type `$t`: it must give what `$t` gives: `$t` gives 1, and `$no` gives 0",
    ),
    (
        "(func (drop (task.new $t $short)))",
        "2:26",
        "`$short` cannot be the function of a task of type `$t`: after the task it must take what `$t` receives: `$t` receives 1, and `$short` takes 0",
    ),
    (
        "(func (drop (task.new $t $other)))",
        "2:26",
        "`$other` cannot be the function of a task of type `$t`: after the task it must take what `$t` receives; the types do not fit",
    ),
    (
        "(func (drop (task.new $t $first)))",
        "2:26",
        "`$first` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)`",
    ),
    (
        "(func (drop (task.new $t $less)))",
        "2:26",
        "`$less` cannot be the function of a task of type `$t`: it must give what `$t` gives: `$t` gives 1, and `$less` gives 0",
    ),
    (
        "(func (drop (task.new $t $wrong)))",
        "2:26",
        "`$wrong` cannot be the function of a task of type `$t`: it must give what `$t` gives; the types do not fit",
    ),
    (
        "(func (drop (task.new $t $stacked)))",
        "2:26",
        "`$stacked` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)`",
    ),
    (
        "(func (drop (task.new $t $conted)))",
        "2:26",
        "`$conted` cannot be the function of a task of type `$t`: its first parameter must be the task, `(ref null? $t)`",
    ),
    ("(func (drop (task.new $t $f)))", "2:14", "type mismatch: expected f32 but nothing on stack"),
    (
        "(func (drop (task.new $t $f (i32.const 1))))",
        "2:14",
        "type mismatch: expected f32, found i32",
    ),
    (
        "(func (drop (task.new $t $f (f32.const 1) (i32.const 1))))",
        "2:14",
        "type mismatch: expected f32, found i32",
    ),
    (
        "(func (task.new $t $f (f32.const 1)))",
        "2:37",
        "type mismatch: values remaining on stack at end of block",
    ),
    (
        "(func (param (ref null $t)) (task.resume $t (local.get 0)))",
        "2:30",
        "type mismatch: expected i32, found (ref null $t)",
    ),
    (
        "(func (param (ref null $t)) (task.resume $t (i32.const 1) (local.get 0)))",
        "2:30",
        "type mismatch: expected i32, found (ref null $t)",
    ),
    (
        "(func (param (ref null $t)) (task.resume $t (local.get 0) (i32.const 1)))",
        "2:73",
        "type mismatch: values remaining on stack at end of block",
    ),
    (
        "(func (param (ref null $t)) (result i32) (task.resume $t (local.get 0) (i32.const 1)))",
        "2:86",
        "type mismatch: expected i32, found i64",
    ),
    (
        "(func (param (ref null $u)) (drop (task.resume $t (local.get 0) (i32.const 1))))",
        "2:36",
        "type mismatch: expected (ref null $t), found (ref null $u)",
    ),
    (
        "(func (param (ref null $t)) (drop (task.suspend $t (local.get 0) (i32.const 1))))",
        "2:36",
        "type mismatch: expected i64, found i32",
    ),
    (
        "(func (param (ref null $t)) (result i64) (task.suspend $t (local.get 0) (i64.const 1)))",
        "2:87",
        "type mismatch: expected i64, found i32",
    ),
    (
        "(func (param (ref null $t)) (task.retire $t (local.get 0)))",
        "2:30",
        "type mismatch: expected i64, found (ref null $t)",
    ),
    (
        "(func (param (ref null $t)) (task.release $t (local.get 0) (i32.const 1)))",
        "2:30",
        "type mismatch: expected (ref null $t), found i32",
    ),
    (
        "(func (param (ref null $t)) (task.release $u (local.get 0)))",
        "2:30",
        "type mismatch: expected (ref null $u), found (ref null $t)",
    ),
    (
        "(func (param (ref null $t) (ref null $u)) (task.switchto $t $u (local.get 0) (local.get 1)))",
        "2:61",
        "`task.switchto` puts `$u` in the place of `$t`, so what `$u` gives must match what `$t` gives: `$t` gives 1, and `$u` gives 0",
    ),
    (
        "(func (param (ref null $t) (ref null $v)) (drop (task.switchto $t $v (local.get 0) (local.get 1))))",
        "2:67",
        "`task.switchto` puts `$v` in the place of `$t`, so what `$v` gives must match what `$t` gives",
    ),
    // Also where something else is wrong.
    (
        "(func (result i32) (i64.const 1)) (func (drop (task.switchto $t $v (ref.null $t) (ref.null $v))))",
        "2:65",
        "`task.switchto` puts `$v` in the place of `$t`, so what `$v` gives must match what `$t` gives",
    ),
    (
        "(func (param (ref null $w) (ref null $v)) (task.switchto $v $w (local.get 0) (local.get 1)))",
        "2:44",
        "type mismatch: expected (ref null $w), found (ref null $v)",
    ),
    (
        "(func (param (ref null $t)) (result contref) (local.get 0))",
        "2:59",
        "type mismatch: expected contref, found (ref null $t) (stack, task, fiber and",
    ),
    (
        "(func (param contref) (result (ref null $t)) (local.get 0))",
        "2:59",
        "type mismatch: expected (ref null $t), found contref",
    ),
    (
        "(func (param (ref null $t)) (result (ref null stack)) (local.get 0))",
        "2:68",
        "type mismatch: expected (ref null stack), found (ref null $t) (stack, task, fiber and",
    ),
    (
        "(func (param (ref null $t)) (result fiberref) (local.get 0))",
        "2:60",
        "type mismatch: expected fiberref, found (ref null $t)",
    ),
    (
        "(func (param (ref null $same)) (result (ref null $t)) (local.get 0))",
        "2:68",
        "type mismatch: expected (ref null $t), found (ref null $same) (stack, task, fiber and",
    ),
    (
        "(func (param (ref null $t)) (result structref) (local.get 0))",
        "2:61",
        "type mismatch: expected structref, found (ref null $t)",
    ),
    (
        "(func (param (ref null $t)) (result (ref null $v)) (local.get 0))",
        "2:65",
        "type mismatch: expected (ref null $v), found (ref null $t)",
    ),
    (
        "(func (result (ref null $t)) (ref.null nocont))",
        "2:47",
        "type mismatch: expected (ref null $t), found nullcontref (stack, task, fiber and",
    ),
    (
        "(func (result (ref null $t)) (ref.null none))",
        "2:45",
        "type mismatch: expected (ref null $t), found nullref",
    ),
    (
        "(func (param (ref null $t)) (drop (resume $t (i32.const 1) (local.get 0))))",
        "2:36",
        "expected a continuation type, but `$t` is not one (stack, task, fiber and continuation types are different",
    ),
    (
        "(func (drop (cont.new $t (ref.null nofunc))))",
        "2:14",
        "expected a continuation type, but `$t` is not one (stack, task, fiber and continuation types are different",
    ),
    (
        "(func (param (ref null $t)) (drop (struct.get $t 0 (local.get 0))))",
        "2:36",
        "expected struct type, but `$t` is a task type",
    ),
    (
        "(func (drop (struct.new $t (ref.null nofunc))))",
        "2:14",
        "expected struct type, but `$t` is a task type",
    ),
    (
        "(func (param (ref null $t)) (drop (ref.eq (local.get 0) (local.get 0))))",
        "2:36",
        "type mismatch: expected subtype of eqref, found (ref null $t)",
    ),
    (
        "(func (param (ref null $t)) (drop (ref.cast (ref $t) (local.get 0))))",
        "2:36",
        "invalid cast: cannot cast to a continuation type",
    ),
    (
        "(func (param (ref null $t)) (drop (ref.test (ref $t) (local.get 0))))",
        "2:36",
        "invalid cast: cannot cast to a continuation type",
    ),
    (
        "(func (local $x (ref $t)) (task.release $t (local.get $x)))",
        "2:45",
        "uninitialized local: 0",
    ),
    (
        "(global (ref null $u) (task.new $u $plain))",
        "2:24",
        "constant expression required: `task.new` stands only in functions",
    ),
    (
        "(func (task.release $t (ref.null $t)) (i32.const 1))",
        "2:52",
        "type mismatch: values remaining on stack at end of block",
    ),
    (
        "(func (task.release $t (ref.null $t)) (i32.add (i32.const 1) (i64.const 2)) drop)",
        "2:40",
        "type mismatch: expected i32, found i64",
    ),
    (
        "(func (result i32) (drop (task.new $t $f (f32.const 1))))",
        "2:57",
        "type mismatch: expected i32 but nothing on stack",
    ),
    (
        "(export \"a\" (func $f)) (export \"a\" (func $f)) (func (task.release $t (ref.null $t)))",
        "2:25",
        "duplicate export name `a` already defined",
    ),
];
