//! Messages about traps: backtraces with source positions, in every design.

use crate::process::{file, root, ropewalk};

/// Runs the function `run` of a module in the file `NAME.wat`, which traps, and compares the
/// message. `FILE` stands for the path.
#[track_caller]
fn check(name: &str, module: &str, says: &str) {
    let path = file(&format!("{name}.wat"), module);
    let outcome = ropewalk(&["run", "--invoke", "run", &path]);
    outcome.fails(134, &[]);
    assert_eq!(outcome.stderr, format!("error: {}\n", says.replace("FILE", &path)));
}

#[test]
fn a_trap_of_typed_continuations() {
    check(
        "trap-continuations",
        "\
(module $m
  (type $body (func))
  (type $k (cont $body))
  (tag $yield (param i32))
  (elem declare func $inner)
  (func $inner
    (unreachable))
  (func (export \"run\")
    (block $on (result i32 (ref $k))
      (resume $k (on $yield $on) (cont.new $k (ref.func $inner)))
      (return))
    (drop) (drop)))",
        "\
wasm trap: unreachable
wasm backtrace:
   0: FILE:7:6: m!inner
      -- resumed by resume (on $yield)
   1: FILE:10:8: m!run",
    );
}

#[test]
fn a_trap_of_the_bag_of_stacks() {
    check(
        "trap-bag",
        "\
(module $m
  (rec
    (type $c (stack (param i32) (ref null $d)))
    (type $d (stack (ref null $c))))
  (func $inner (param i32) (param (ref null $d))
    (call $deep))
  (func $deep
    (switch $d (ref.null $d)) drop drop)
  (func (export \"run\")
    (drop (switch $c (i32.const 1) (stack.new $c $inner)))))",
        "\
wasm trap: null stack reference
wasm backtrace:
   0: FILE:8:6: m!deep
   1: FILE:6:6: m!inner",
    );
}

#[test]
fn a_trap_of_tasks() {
    check(
        "trap-tasks",
        "\
(module $m
  (type $t (task (param i32) (result i32)))
  (func $inner (param (ref null $t)) (param i32) (result i32)
    (task.suspend $t (ref.null $t) (i32.const 1)))
  (func (export \"run\") (result i32)
    (task.resume $t
      (task.new $t $inner)
      (i32.const 3))))",
        "\
wasm trap: null task reference
wasm backtrace:
   0: FILE:4:6: m!inner
      -- resumed by task.resume
   1: FILE:6:6: m!run",
    );
}

#[test]
fn a_trap_of_fibers() {
    check(
        "trap-fibers",
        "\
(module $m
  (tag $start) (tag $done) (tag $e (param i32))
  (func $inner (param $self fiberref)
    (block $l (result i32)
      (fiber.dismount $e (on $e $l) (i32.const 1) (ref.null fiber))
      unreachable)
    drop)
  (func (export \"run\")
    (local $f fiberref)
    (local.set $f (fiber.new $done (on $start $inner)))
    (block $l (result i32)
      (block $d
        (fiber.mount $start (on $e $l) (on $done $d) (local.get $f)))
      (return))
    drop))",
        "\
wasm trap: null fiber reference
wasm backtrace:
   0: FILE:5:8: m!inner
      -- resumed by fiber.mount (on $e) (on $done)
   1: FILE:13:10: m!run",
    );
}

#[test]
fn a_trap_of_first_class_stacks() {
    check(
        "trap-first-class",
        "\
(module $m
  (import \"host\" \"new_stack\" (func $new (result stackref)))
  (event $back (param stackref))
  (call_tag $ask (param i32) (result i32))
  (func $inner (param $s stackref)
    (drop (call $asks)))
  (func $asks (result i32)
    (local $x i32)
    (answer $ask (result i32)
      local.set $x
      (i32.div_s (local.get $x) (i32.const 0))

     within
      (call_stack $ask (i32.const 4))))
  (func (export \"run\")
    (block $b (result stackref)
      (try (stack.switch_call $inner (call $new)) catch $back $b)
      unreachable)
    drop))",
        "\
wasm trap: integer divide by zero
wasm backtrace:
   0: FILE:11:8: m!asks.answer
   1: FILE:14:8: m!asks
   2: FILE:6:12: m!inner",
    );
}

/// A binary has only offsets, and names from the name section.
#[test]
fn a_trap_in_a_binary_shows_offsets() {
    let module = "(module $m (func $f (nop) (unreachable)) (func (export \"run\") (call $f)))";
    let text = file("trap-binary.wat", module);
    let binary = root().join(&text).with_extension("wasm").display().to_string();
    ropewalk(&["lower", &text, "-o", &binary]).prints("");
    let outcome = ropewalk(&["run", "--invoke", "run", &binary]);
    let says = "error: wasm trap: unreachable\nwasm backtrace:\n   0:     0x22: m!f\n   1:     0x26: m!run\n";
    outcome.fails(134, &[]);
    assert_eq!(outcome.stderr, says);
}

/// A trap while a module is instantiated.
#[test]
fn a_trap_of_the_start_function() {
    check(
        "trap-start",
        "(module\n  (func $s\n    (drop (i32.div_u (i32.const 1) (i32.const 0))))\n  (start $s)\n  (func (export \"run\")))",
        "wasm trap: integer divide by zero\nwasm backtrace:\n   0: FILE:3:12: <module>!s",
    );
}

#[test]
fn an_unhandled_tag_is_shown_with_its_values() {
    check(
        "trap-unhandled",
        "(module (tag $yield (param i32 f64))
           (func (export \"run\")
             (suspend $yield (i32.const 7) (f64.const 0.5))))",
        "wasm trap: unhandled tag: $yield with (i32.const 7) (f64.const 0.5)\nwasm backtrace:\n   \
         0: FILE:3:15: <module>!run\nhelp: to handle the tag, resume the stack with a clause \
         `(on $tag $label)`",
    );
}

#[test]
fn an_uncaught_exception_is_shown_with_its_values() {
    let module = "(module (tag $e (param i64)) (func (export \"run\") (throw $e (i64.const -1))))";
    let path = file("trap-uncaught.wat", module);
    let outcome = ropewalk(&["run", "--invoke", "run", &path]);
    let says = format!(
        "error: uncaught exception: $e with (i64.const -1)\nwasm backtrace:\n   \
         0: {path}:1:52: <module>!run\nhelp: to catch the exception, call the function in a \
         `try_table` with a clause `(catch $tag $label)` for its tag, or `(catch_all $label)`\n"
    );
    assert_eq!((outcome.code, outcome.stderr), (Some(1), says));
}
