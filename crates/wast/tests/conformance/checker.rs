//! The check of all stacks finds bugs that programs do not notice. Each test reintroduces a bug, and
//! runs a script that passes without the check.

use crate::runner;
use ropewalk::stress::LAST_GENERATION;
use ropewalk::{Config, InjectedBug};
use ropewalk_wast::Report;

/// The prefix of every finding.
const FOUND: &str = "the records of the stacks are inconsistent, which is a bug in the engine: ";

fn run(config: &Config, script: &str) -> Report {
    runner(config).run_script("script.wast", script)
}

/// Runs a script with a bug that only the check finds.
fn check(mut config: Config, bug: InjectedBug, script: &str, found: &str) {
    let checked = run(config.clone().stress(|stress| stress.check_stacks = true), script);
    assert!(checked.failures.is_empty(), "without the bug: {checked}");
    // SAFETY: the scripts here end before the bug corrupts memory.
    unsafe { config.inject_bug(bug) };
    let unnoticed = run(&config, script);
    assert!(unnoticed.failures.is_empty(), "without the check: {unnoticed}");
    let report = run(config.stress(|stress| stress.check_stacks = true), script).to_string();
    let is_found = report.contains(FOUND) && report.contains(found);
    assert!(is_found, "expected {found}, found {report}");
}

/// Types and imports of handwritten scripts.
const IMPORTS: &str = r#"
  (rec (type $stack (cont $stack.func))
       (type $stack.func (func (param (ref null $stack) (ref null $stack)))))
  (type $rout (func))
  (import "host" "new_stack" (func $new_stack (result (ref null $stack))))
  (import "ropewalk:first-class" "extend_trap"
    (func $extend (param (ref null $stack) (ref $rout)) (result (ref null $stack))))
  (import "ropewalk:first-class" "start" (func $start))
  (import "ropewalk:first-class" "switch" (func $switch (param (ref null $stack))))
"#;

#[test]
fn an_extender_that_stays_in_the_base_is_found() {
    let script = format!(
        r#"(module {IMPORTS}
             (func $begins (call $start) (unreachable))
             (elem declare func $begins)
             (func (export "go") (drop (call $extend (call $new_stack) (ref.func $begins)))))
           (assert_return (invoke "go"))"#
    );
    let found = "is suspended, and being extended";
    check(Config::new(), InjectedBug::ExtenderStays, &script, found);
}

#[test]
fn an_extender_that_survives_a_landing_is_found() {
    let script = format!(
        r#"(module {IMPORTS}
             (tag $go (param (ref null $stack))) (tag $x)
             (func $throws (throw $x))
             (func $other
               (block $go (result (ref null $stack))
                 (try_table (catch $go $go) (call $start))
                 (unreachable))
               (drop (call $extend (ref.func $throws)))
               (unreachable))
             (elem declare func $throws $other)
             (func (export "go") (result i32)
               (block $x
                 (try_table (catch $x $x)
                   (call $extend (call $new_stack) (ref.func $other))
                   (block $sent (param (ref null $stack)) (result (ref null $stack))
                     (try_table (param (ref null $stack)) (catch $go $sent) (call $switch))
                     (unreachable))
                   (drop))
                 (unreachable))
               (i32.const 1)))
           (assert_return (invoke "go") (i32.const 1))"#
    );
    let found = "a stack continued while it was being extended";
    check(Config::new(), InjectedBug::LandingKeepsExtender, &script, found);
}

#[test]
fn marks_that_come_back_are_found() {
    let script = r#"
        (module
          (import "ropewalk:first-class" "leave_to" (func $leave_to (param i32)))
          (func (export "go") (call $leave_to (i32.const 3))))
        (assert_return (invoke "go"))"#;
    check(Config::new(), InjectedBug::MarksComeBack, script, "has 0 of 3 marks");
}

#[test]
fn marks_that_stay_behind_when_a_stack_gets_another_block_are_found() {
    let script = r#"
        (module
          (import "host" "new_stack" (func $new (result stackref)))
          (call_tag $ask (result i32))
          (event $next (param stackref))
          (event $back (param stackref))
          (rout $begin
            (answer $ask (i32.const 7)
             within
              (block $next (result stackref)
                (try (stack.start) catch $next $next)
                (unreachable))
              (call $serve)
              (unreachable)))
          (func $serve (param $other stackref)
            (loop $again
              (block $next (result stackref)
                (try (stack.switch $back (local.get_clear $other)) catch $next $next)
                (unreachable))
              (local.set_cleared $other)
              (br $again)))
          (func (export "go") (param $turns i32)
            (local $s stackref)
            (local.set_cleared $s (stack.extend $begin (call $new)))
            (loop $again
              (block $back (result stackref)
                (try (stack.switch $next (local.get_clear $s)) catch $back $back)
                (unreachable))
              (local.set_cleared $s)
              (br_if $again (local.tee $turns (i32.sub (local.get $turns) (i32.const 1)))))))
        (assert_return (invoke "go" (i32.const 10)))"#;
    let mut config = Config::new();
    config.stress(|stress| stress.first_generation = LAST_GENERATION - 3);
    check(config, InjectedBug::MarksStayBehind, script, "has 0 of 1 marks");
}

/// Zeroes are the same in every type, so only a type test notices the wrong type.
#[test]
fn values_that_are_received_as_another_type_are_found() {
    let script = r#"
        (module
          (type $f (func (result i64)))
          (type $g (func (param i32 f64) (result i64)))
          (type $h (func (param f64) (result i64)))
          (type $cf (cont $f)) (type $cg (cont $g)) (type $ch (cont $h))
          (tag $ask (result i32 f64))
          (func $asks (result i64) (local $y f64)
            (local.set $y (suspend $ask))
            (i64.add (i64.extend_i32_u) (i64.trunc_f64_u (local.get $y))))
          (elem declare func $asks)
          (func (export "go") (result i64) (local $c (ref $cg))
            (block $asked (result (ref $cg))
              (return (resume $cf (on $ask $asked) (cont.new $cf (ref.func $asks)))))
            (local.set $c)
            (f64.const 0)
            (cont.bind $cg $ch (i32.const 0) (local.get $c))
            (resume $ch)))
        (assert_return (invoke "go") (i64.const 0))"#;
    let found = "value of another type in the transfer area";
    check(Config::new(), InjectedBug::BoundValuesLast, script, found);
}
