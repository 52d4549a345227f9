//! The WebAssembly part of the fiber library for C, called as its C part does, without a C
//! compiler.

use crate::process::{Outcome, file, ropewalk};

const LIBRARY: &str = "fiber=libraries/c/fiber.wat";

/// The imports of fiber.c, and a function that creates fibers with the body `$body` in the
/// first slots.
const IMPORTS: &str = r#"
    (import "fiber" "start" (func $start (param funcref)))
    (import "fiber" "grow" (func $grow (param i32) (result i32)))
    (import "fiber" "create" (func $create (param i32)))
    (import "fiber" "drop" (func $drop (param i32)))
    (import "fiber" "resume" (func $resume (param i32 i32) (result i32)))
    (import "fiber" "yield" (func $yield (param i32 i32) (result i32)))
    (import "fiber" "switch" (func $switch (param i32 i32 i32) (result i32)))
    (elem declare func $body)
    (func $prepare (param $slots i32) (local $slot i32)
      (call $start (ref.func $body))
      (drop (call $grow (local.get $slots)))
      (loop $more
        (call $create (local.get $slot))
        (local.set $slot (i32.add (local.get $slot) (i32.const 1)))
        (br_if $more (i32.lt_u (local.get $slot) (local.get $slots)))))
"#;

/// Runs the function `run` of a module with the imports and these fields.
fn run(name: &str, module: &str, arguments: &[&str]) -> Outcome {
    let path = file(&format!("c-fibers-{name}.wat"), format!("(module {IMPORTS} {module})"));
    let mut command = vec!["run", "--preload", LIBRARY, "--invoke", "run", &*path];
    command.extend(arguments);
    ropewalk(&command)
}

#[test]
fn a_generator_yields_and_returns() {
    let module = r#"
        (func $body (param $n i32) (result i32)
          (loop $more
            (drop (call $yield (i32.const 0) (local.get $n)))
            (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
          (i32.const 1000))
        (func (export "run") (param $n i32) (result i32) (local $sum i32) (local $value i32)
          (call $prepare (i32.const 1))
          (loop $more
            (local.set $value (call $resume (i32.const 0) (local.get $n)))
            (local.set $sum (i32.add (local.get $sum) (local.get $value)))
            (br_if $more (i32.ne (local.get $value) (i32.const 1000))))
          (local.get $sum))"#;
    run("generator", module, &["10"]).prints("1055\n");
}

#[test]
fn resume_passes_a_value_to_yield() {
    let module = r#"
        (func $body (param $n i32) (result i32)
          (i32.add (local.get $n) (call $yield (i32.const 0) (i32.const 0))))
        (func (export "run") (result i32)
          (call $prepare (i32.const 1))
          (drop (call $resume (i32.const 0) (i32.const 30)))
          (call $resume (i32.const 0) (i32.const 12)))"#;
    run("value", module, &[]).prints("42\n");
}

/// Two fibers, 0 and 1, switch to each other and count. The fiber that ends returns to the
/// code that resumed the first.
#[test]
fn fibers_switch_to_each_other() {
    let module = r#"
        (global $count (mut i32) (i32.const 0))
        (func $body (param $slot i32) (result i32)
          (loop $more
            (global.set $count (i32.add (global.get $count) (i32.const 1)))
            (if (i32.lt_u (global.get $count) (i32.const 1001))
              (then
                (drop (call $switch (local.get $slot) (i32.sub (i32.const 1) (local.get $slot))
                        (i32.sub (i32.const 1) (local.get $slot))))
                (br $more))))
          (i32.add (global.get $count) (local.get $slot)))
        (func (export "run") (result i32)
          (call $prepare (i32.const 2))
          (call $resume (i32.const 0) (i32.const 0)))"#;
    run("switch", module, &[]).prints("1001\n");
}

/// A fiber that another fiber switched to yields. Resuming its slot continues it, and resuming
/// the slot of the other fiber continues that one.
#[test]
fn each_fiber_waits_in_its_own_slot() {
    let module = r#"
        (func $body (param $slot i32) (result i32)
          (if (local.get $slot)
            (then (drop (call $yield (i32.const 1) (i32.const 7))) (return (i32.const 20))))
          (i32.add (i32.const 300) (call $switch (i32.const 0) (i32.const 1) (i32.const 1))))
        (func (export "run") (result i32 i32 i32)
          (call $prepare (i32.const 2))
          (call $resume (i32.const 0) (i32.const 0))
          (call $resume (i32.const 1) (i32.const 0))
          (call $resume (i32.const 0) (i32.const 5)))"#;
    run("slots", module, &[]).prints("7\n20\n305\n");
}

#[test]
fn a_fiber_resumes_another() {
    let module = r#"
        (func $body (param $slot i32) (result i32)
          (if (i32.eq (local.get $slot) (i32.const 9)) (then (return (i32.const 1))))
          (i32.add
            (call $resume (i32.add (local.get $slot) (i32.const 1))
              (i32.add (local.get $slot) (i32.const 1)))
            (call $yield (local.get $slot) (i32.const 1))))
        (func (export "run") (result i32)
          (call $prepare (i32.const 10))
          (drop (call $resume (i32.const 0) (i32.const 0)))
          (call $resume (i32.const 0) (i32.const 41)))"#;
    run("nested", module, &[]).prints("42\n");
}

#[test]
fn dropped_and_ended_fibers_cannot_be_resumed() {
    let module = r#"
        (func $body (param i32) (result i32) (i32.const 1))
        (func (export "run") (param $drop i32) (result i32)
          (call $prepare (i32.const 1))
          (if (local.get $drop)
            (then (call $drop (i32.const 0)))
            (else (drop (call $resume (i32.const 0) (i32.const 0)))))
          (call $resume (i32.const 0) (i32.const 0)))"#;
    run("dropped", module, &["1"]).fails(134, &["null continuation reference"]);
    run("ended", module, &["0"]).fails(134, &["continuation already consumed"]);
}

#[test]
fn a_function_of_another_type_is_refused() {
    let module = r#"
        (func $body)
        (func (export "run") (call $start (ref.func $body)))"#;
    run("start", module, &[]).fails(134, &["cast failure"]);
}
