//! What is wrong in text with fibers: a table of sources, each with the line
//! and column of the error, and a part of its message.

mod common;
use common::erring::{error, error_at};

/// What every module below starts with, on the first line.
const HEAD: &str = "(tag $e) (tag $n (param i32)) (tag $p (param i32 i64)) (tag $r (result i32)) \
    (type $kf (func)) (type $k (cont $kf)) (func $f (param fiberref)) \
    (func $g (param i32 fiberref)) (func $h (param fiberref i32)) \
    (func $i (param fiberref) (result i32) (i32.const 1)) (func $no)\n";

/// Checks the rows of a table: source, position, a part of the message.
#[track_caller]
fn check(is_invalid: bool, rows: &[(&str, &str, &str)]) {
    for (source, position, message) in rows {
        let error = error_at(&format!("{HEAD}{source}"), position);
        assert!(error.message().contains(message), "\n{error}");
        assert_eq!(error.is_invalid(), is_invalid, "\n{error}");
    }
}

const MALFORMED: &[(&str, &str, &str)] = &[
    (
        "(func (fiber.mount 0))",
        "2:20",
        "expected a name, found the number 0: lowering a dialect adds some, and numbers",
    ),
    (
        "(func (fiber.mount $e (on 0 $l)))",
        "2:27",
        "expected a name, found the number 0: lowering a dialect adds some, and numbers",
    ),
    (
        "(func (block $l (fiber.mount $e (on $e 0))))",
        "2:40",
        "expected a name, found the number 0: lowering a dialect adds some, and numbers",
    ),
    (
        "(func (drop (fiber.new 0 (on $e $f))))",
        "2:24",
        "expected a name, found the number 0: lowering a dialect adds some, and numbers",
    ),
    (
        "(func (drop (fiber.mount_new $e 0)))",
        "2:33",
        "expected a name, found the number 0: lowering a dialect adds some, and numbers",
    ),
    (
        "(func (drop (fiber.new)) (call 0))",
        "2:32",
        "expected a name, found the number 0: lowering a dialect adds some, and numbers",
    ),
    (
        "(func (drop (fiber.new (on $e $x))))",
        "2:31",
        "unknown function: there is no function named `$x`",
    ),
    ("(func (drop (fiber.new (on $x $f))))", "2:28", "unknown tag: there is no tag named `$x`"),
    ("(func (drop (fiber.new $x (on $e $f))))", "2:24", "unknown tag: there is no tag named `$x`"),
    ("(func (fiber.mount $x))", "2:20", "unknown tag: there is no tag named `$x`"),
    (
        "(func (fiber.switch $e\n  (on $e $x) (fiber.new) (fiber.new)))",
        "3:10",
        "unknown label: failed to find name `$x`",
    ),
    (
        "(func (block $l (fiber.dismount $e\n  (on $e $l)\n  (on $x $l))))",
        "4:7",
        "unknown tag: there is no tag named `$x`",
    ),
    (
        "(func (drop (fiber.mount_new $e $x)))",
        "2:33",
        "unknown function: there is no function named `$x`",
    ),
    (
        "(func (drop (fiber.mount_new $e $f (on $e $x))))",
        "2:43",
        "unknown label: failed to find name `$x`",
    ),
    ("(func fiber.mount)", "2:18", "`fiber.mount` expects the name of a tag here, found `)`"),
    (
        "(func fiber.mount drop)",
        "2:19",
        "`fiber.mount` expects the name of a tag here, found `drop`",
    ),
    (
        "(func (fiber.mount (fiber.new)))",
        "2:20",
        "`fiber.mount` expects the name of a tag here, found `(fiber.new ..)`",
    ),
    (
        "(func (drop (fiber.mount_new $e)))",
        "2:32",
        "`fiber.mount_new` expects the name of a function here, found `)`",
    ),
    (
        "(func (fiber.mount $e (on $e) (fiber.new)))",
        "2:29",
        "`(on ..)` expects the name of a label here, found `)`",
    ),
    (
        "(func (fiber.mount $e (on) (fiber.new)))",
        "2:26",
        "`(on ..)` expects the name of a tag here, found `)`",
    ),
    (
        "(func (fiber.mount $e (on $e switch) (fiber.new)))",
        "2:30",
        "`(on ..)` expects the name of a label here, found `switch`",
    ),
    (
        "(func (block $l (fiber.mount $e (on $e $l $l) (fiber.new))))",
        "2:43",
        "expected `)` after the two names of a clause, found `$l`",
    ),
    (
        "(func (block $l (fiber.dismount_release $e (on $e $l) (fiber.new))))",
        "2:44",
        "unexpected `(on ..)`: `fiber.dismount_release` has no clauses, since nothing comes",
    ),
    (
        "(func fiber.switch_release $e\n (on $e $l))",
        "3:2",
        "unexpected `(on ..)`: `fiber.switch_release` has no clauses, since nothing comes",
    ),
    (
        "(func (fiber.frob $e))",
        "2:8",
        "unknown operator `fiber.frob`; there are `fiber.new`, `fiber.mount`",
    ),
    (
        "(func (param fiber))",
        "2:14",
        "`fiber` is not a value type; write `fiberref` or `(ref fiber)`",
    ),
    ("(func (fiber.mount $e (fiber.new))", "2:35", "expected `)`: a parenthesis is not closed"),
    ("(func (fiber.release $x))", "2:22", "expected an instruction"),
    (
        "(func (drop (ref.null fiberref)))",
        "2:23",
        "`fiberref` is a value type; the heap type is `fiber`",
    ),
    (
        "(func (block $l (fiber.mount $e $n (fiber.new))))",
        "2:33",
        "incomplete clause: expected the name of a label after the event `$n`, found `(fiber.new \
         ..)`; clauses are written as pairs",
    ),
    (
        "(func (block $l (fiber.mount $e $e $l $n (fiber.new))))",
        "2:39",
        "incomplete clause: expected the name of a label after the event `$n`",
    ),
    (
        "(func (block $l (drop (fiber.mount_new $e $f $n))))",
        "2:46",
        "incomplete clause: expected the name of a label after the event `$n`, found `)`",
    ),
    (
        "(func (block $l (fiber.mount $e $e $l (on $e $l) (fiber.new))))",
        "2:39",
        "unexpected `(on ..)`: the clauses of one instruction are all written as pairs",
    ),
    (
        "(func (block $l (fiber.mount $e (on $e $l) $n $l (fiber.new))))",
        "2:44",
        "unexpected `$n`: the clauses of one instruction are all written as pairs",
    ),
    (
        "(func (drop (fiber.new $e $e $f (on $e $f))))",
        "2:33",
        "unexpected `(on ..)`: the clauses of one instruction",
    ),
    (
        "(func (drop (fiber.new $e $f (on $e $f))))",
        "2:30",
        "unexpected `(on ..)`: the clauses of one instruction",
    ),
    (
        "(func (drop (fiber.new (on $e $f) $e $f)))",
        "2:35",
        "unexpected `$e`: the clauses of one instruction",
    ),
    (
        "(func (drop (fiber.new $e $e)))",
        "2:27",
        "unknown function: there is no function named `$e`",
    ),
    ("(func (drop (fiber.new $e $e 0)))", "2:30", "expected a name, found the number 0"),
    (
        "(func (block $l (fiber.mount $e $e 0 (fiber.new))))",
        "2:36",
        "expected a name, found the number 0",
    ),
    (
        "(func (block $l (fiber.dismount_release $e $e $l (fiber.new))))",
        "2:44",
        "unexpected `$e`: `fiber.dismount_release` has no clauses",
    ),
    ("(func (fiber.eq $e (fiber.new) (fiber.new)))", "2:17", "expected an instruction"),
    (
        "(func (fiber.spawn $e $f))",
        "2:8",
        "unknown operator `fiber.spawn`: an earlier draft had it; it is `fiber.mount_new` now",
    ),
    (
        "(func fiber.resume $e)",
        "2:7",
        "unknown operator `fiber.resume`: an earlier draft had it; it is `fiber.mount` now",
    ),
    (
        "(func (call 0) (fiber.suspend $e))",
        "2:17",
        "unknown operator `fiber.suspend`: an earlier draft had it; it is `fiber.dismount` now",
    ),
    (
        "(global fiberref (fiber.retire $e))",
        "2:19",
        "unknown operator `fiber.retire`: an earlier draft had it; it is `fiber.dismount_release` now",
    ),
];

const INVALID: &[(&str, &str, &str)] = &[
    (
        "(func (drop (fiber.new (on $e $no))))",
        "2:31",
        "`$no` cannot start this fiber: its last parameter must be `fiberref` or `(ref",
    ),
    (
        "(func (drop (fiber.new (on $n $f))))",
        "2:31",
        "`$f` cannot start this fiber: its last parameters must be `fiberref` or `(ref",
    ),
    (
        "(func (drop (fiber.new (on $e $h))))",
        "2:31",
        "`$h` cannot start this fiber: its last parameter must be `fiberref` or `(ref",
    ),
    (
        "(func $x (param i32)) (func (drop (fiber.new (on $e $x))))",
        "2:53",
        "`$x` cannot start this fiber: its last parameter must be `fiberref` or `(ref",
    ),
    (
        "(func $x (param anyref)) (func (drop (fiber.new (on $e $x))))",
        "2:56",
        "`$x` cannot start this fiber: its last parameter must be `fiberref` or `(ref",
    ),
    (
        "(func $x (param (ref null cont))) (func (drop (fiber.new (on $e $x))))",
        "2:65",
        "`$x` cannot start this fiber: its last parameter must be `fiberref` or `(ref",
    ),
    (
        "(func $x (param fiberref i64)) (func (drop (fiber.new (on $n $x))))",
        "2:62",
        "`$x` cannot start this fiber: its parameters after the fiber must take the values of `$n`",
    ),
    (
        "(func (drop (fiber.new (on $e $f) (on $e $g))))",
        "2:42",
        "`$g` cannot start this fiber: before the fiber it must take what the function of",
    ),
    (
        "(func $x (param i64 fiberref))\n(func (drop (fiber.new\n (on $e $g)\n (on $e $x) (i32.const 1))))",
        "5:9",
        "`$x` cannot start this fiber: before the fiber it must take what the function of",
    ),
    (
        "(func $a (param fiberref fiberref)) (func $x (param anyref fiberref)) (func (drop (fiber.new (on $e $a) (on $e $x) (ref.null fiber))))",
        "2:112",
        "`$x` cannot start this fiber: before the fiber it must take what the function of",
    ),
    (
        "(func (drop (fiber.new $n (on $e $f))))",
        "2:34",
        "`$f` cannot start this fiber: it must return the values of `$n`, the return event:",
    ),
    (
        "(func (drop (fiber.new $e (on $e $i))))",
        "2:34",
        "`$i` cannot start this fiber: it must return the values of `$e`, the return event:",
    ),
    (
        "(func $x (param fiberref) (result i64) (unreachable)) (func (drop (fiber.new $n (on $e $x))))",
        "2:88",
        "`$x` cannot start this fiber: it must return the values of `$n`, the return event",
    ),
    (
        "(func (drop (fiber.new (on $r $f))))",
        "2:28",
        "an event of fibers is a tag without results, but `$r` has results; answers are",
    ),
    (
        "(func (drop (fiber.new $r (on $e $f))))",
        "2:24",
        "an event of fibers is a tag without results, but `$r` has results; answers are",
    ),
    (
        "(func (fiber.mount $r))",
        "2:20",
        "an event of fibers is a tag without results, but `$r` has results; answers are",
    ),
    (
        "(func (block $l (fiber.mount $e (on $r $l) (fiber.new))))",
        "2:37",
        "an event of fibers is a tag without results, but `$r` has results; answers are",
    ),
    (
        "(func (drop (fiber.mount_new $r $f)))",
        "2:30",
        "an event of fibers is a tag without results, but `$r` has results; answers are",
    ),
    (
        "(func (drop (fiber.new (on $e $g))))",
        "2:14",
        "type mismatch: `fiber.new` takes `[i32]` here, but the stack has other types",
    ),
    (
        "(func (drop (fiber.new (on $e $g) (i64.const 1))))",
        "2:14",
        "type mismatch: `fiber.new` takes `[i32]` here, but the stack has other types",
    ),
    (
        "(func (fiber.mount $e))",
        "2:8",
        "type mismatch: `fiber.mount` takes `[fiberref]` here, which is not what is on the",
    ),
    (
        "(func\n  (fiber.mount $n (fiber.new)))",
        "3:4",
        "type mismatch: `fiber.mount` takes `[i32 fiberref]` here, which is not what is on",
    ),
    (
        "(func (fiber.mount $n (i64.const 1) (fiber.new)))",
        "2:8",
        "type mismatch: `fiber.mount` takes `[i32 fiberref]` here, which is not what is on",
    ),
    (
        "(func (fiber.switch $e (fiber.new)))",
        "2:8",
        "type mismatch: `fiber.switch` takes `[fiberref fiberref]` here, which is not what",
    ),
    (
        "(func (param funcref) (fiber.mount $e (local.get 0)))",
        "2:24",
        "type mismatch: `fiber.mount` takes `[fiberref]` here, which is not what is on the",
    ),
    (
        "(func (param (ref null $k)) (fiber.mount $e (local.get 0)))",
        "2:30",
        "type mismatch: `fiber.mount` takes `[fiberref]` here, which is not what is on the",
    ),
    (
        "(func (param anyref) (fiber.mount $e (local.get 0)))",
        "2:23",
        "type mismatch: `fiber.mount` takes `[fiberref]` here, which is not what is on the",
    ),
    (
        "(func (fiber.release))",
        "2:8",
        "type mismatch: `fiber.release` takes `[fiberref]` here, which is not what is on the",
    ),
    (
        "(func (fiber.release (i32.const 1)))",
        "2:8",
        "type mismatch: `fiber.release` takes `[fiberref]` here, which is not what is on the",
    ),
    ("(func (result i32) (fiber.new))", "2:31", "type mismatch: expected i32, found (ref fiber)"),
    (
        "(func (block $l (result i32) (fiber.mount $e (on $e $l) (fiber.new)) (i32.const 1)) (drop))",
        "2:53",
        "type mismatch: expected a label that takes [], found one that takes [i32]: the label `$l` \
         takes the values of the event `$e`, no more and no less",
    ),
    (
        "(func (block $l\n  (block $m (result i32)\n  (fiber.mount $e (on $n $m)\n (on $n $l) (fiber.new)) (unreachable)) (drop)))",
        "5:9",
        "type mismatch: expected a label that takes [i32], found one that takes []: the label `$l` \
         takes the values of the event `$n`, no more and no less",
    ),
    (
        "(func (block $l (result fiberref i32) (fiber.dismount $e (on $n $l) (fiber.new)) (unreachable)) (drop) (drop))",
        "2:65",
        "type mismatch: expected a label that takes [i32], found one that takes [fiberref i32]",
    ),
    (
        "(func (block $l (drop (fiber.mount_new $e $f (on $e $l)))))",
        "2:53",
        "type mismatch: expected a label that takes [(ref fiber)], found one that takes []: the \
         label `$l` takes the new fiber and then the values of the event `$e`, no more and no less",
    ),
    (
        "(func (block $l (result i32 (ref fiber)) (drop (fiber.mount_new $e $f (on $n $l))) (unreachable)) (drop) (drop))",
        "2:78",
        "type mismatch: expected a label that takes [(ref fiber) i32], found one that takes \
         [i32 (ref fiber)]: the label `$l` takes the new fiber and then the values of the event",
    ),
    (
        "(func (drop (fiber.mount_new $n $f)))",
        "2:33",
        "`$f` cannot start this fiber: it must return the values of `$n`, the return event:",
    ),
    (
        "(func (drop (fiber.mount_new $e $h)))",
        "2:33",
        "`$h` cannot start this fiber: its last parameter must be `fiberref` or `(ref",
    ),
    (
        "(func (drop (fiber.mount_new $e $g)))",
        "2:14",
        "type mismatch: `fiber.mount_new` takes `[i32]` here, which is not what is on the",
    ),
    (
        "(func (fiber.mount_new $e $f))",
        "2:30",
        "type mismatch: values remaining on stack at end of block",
    ),
    (
        "(func (drop (fiber.switch_new $e $f)))",
        "2:14",
        "type mismatch: `fiber.switch_new` takes `[fiberref]` here, which is not what is on",
    ),
    (
        "(func (drop (fiber.switch_new $e $g (fiber.new) (i32.const 1))))",
        "2:14",
        "type mismatch: `fiber.switch_new` takes `[i32 fiberref]` here, which is not what is",
    ),
    (
        "(func (fiber.dismount_release $e))",
        "2:8",
        "type mismatch: `fiber.dismount_release` takes `[fiberref]` here, which is not what",
    ),
    (
        "(global fiberref (fiber.new))",
        "2:19",
        "constant expression required: `fiber.new` stands only in functions",
    ),
    (
        "(global fiberref\n (drop (fiber.mount_new $e $f)))",
        "3:9",
        "constant expression required: `fiber.mount_new` stands only in functions",
    ),
    (
        "(func (param fiberref) (result i32) (ref.eq (local.get 0) (local.get 0)))",
        "2:38",
        "type mismatch: expected subtype of eqref, found fiberref",
    ),
    (
        "(func (param fiberref) (result i32) (ref.test (ref fiber) (local.get 0)))",
        "2:38",
        "invalid cast: cannot cast to a continuation type",
    ),
    (
        "(func (param fiberref) (result anyref) (local.get 0))",
        "2:53",
        "type mismatch: expected anyref, found fiberref",
    ),
    (
        "(func (param fiberref) (result (ref null stack)) (local.get 0))",
        "2:63",
        "type mismatch: expected (ref null stack), found fiberref (stack, task, fiber and",
    ),
    (
        "(func (param fiberref) (result contref) (local.get 0))",
        "2:54",
        "type mismatch: expected contref, found fiberref (stack, task, fiber and",
    ),
    (
        "(func (param fiberref) (result (ref fiber)) (local.get 0))",
        "2:58",
        "type mismatch: expected (ref fiber), found fiberref",
    ),
    ("(func (local (ref fiber)) (drop (local.get 0)))", "2:34", "uninitialized local: 0"),
    (
        "(func (param (ref null $k)) (result fiberref) (local.get 0))",
        "2:60",
        "type mismatch: expected fiberref, found (ref null $k)",
    ),
    ("(table 1 (ref fiber))", "2:2", "type mismatch: non-defaultable element type"),
    (
        "(func (drop (fiber.new (on $e $y)))) (func $y (type $k))",
        "2:53",
        "expected a function type, but `$k` is a continuation type",
    ),
];

#[test]
fn malformed() {
    check(false, MALFORMED);
}

#[test]
fn invalid() {
    check(true, INVALID);
}

#[test]
fn names_of_an_earlier_draft_in_a_module_without_any_other_dialect_word() {
    for (old, new) in [
        ("spawn", "mount_new"),
        ("resume", "mount"),
        ("suspend", "dismount"),
        ("retire", "dismount_release"),
    ] {
        let error = error(&format!("(module\n  (func (call 0) (fiber.{old})))"));
        assert_eq!(error.position().unwrap().to_string(), "2:19", "\n{error}");
        let message = format!(
            "unknown operator `fiber.{old}`: an earlier draft had it; it is `fiber.{new}` now"
        );
        assert_eq!(error.message(), message);
        assert!(!error.is_invalid());
    }
}
