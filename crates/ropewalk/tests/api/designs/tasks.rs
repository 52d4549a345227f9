//! Tasks: calls between a task and the host in both directions.

use crate::common::*;
use ropewalk::*;

/// `run x` runs a task and in it a second one, which calls the host with x. Both continue with the
/// result. All other exports use one of the two, or a third task that is suspended.
const CALLS: &str = r#"(module
    (import "host" "f" (func $f (param i32) (result i32)))
    (type $t (task (param i32) (result i32)))
    (global $outer (mut (ref null $t)) (ref.null $t))
    (global $inner (mut (ref null $t)) (ref.null $t))
    (global $kept (mut (ref null $t)) (ref.null $t))

    (func $outer (param $me (ref null $t)) (param $x i32) (result i32)
      (global.set $inner (task.new $t $inner))
      (task.resume $t (global.get $inner) (local.get $x)))
    (func $inner (param $me (ref null $t)) (param $x i32) (result i32) (call $f (local.get $x)))
    (func (export "run") (param i32) (result i32)
      (global.set $outer (task.new $t $outer))
      (task.resume $t (global.get $outer) (local.get 0)))

    (func (export "resume outer") (param i32) (result i32)
      (task.resume $t (global.get $outer) (local.get 0)))
    (func (export "resume inner") (param i32) (result i32)
      (task.resume $t (global.get $inner) (local.get 0)))
    (func (export "release outer") (param i32) (result i32)
      (task.release $t (global.get $outer)) (i32.const 0))
    (func (export "release inner") (param i32) (result i32)
      (task.release $t (global.get $inner)) (i32.const 0))
    (func $to-outer (param $me (ref null $t)) (param $x i32) (result i32)
      (task.switchto $t $t (local.get $me) (global.get $outer) (local.get $x)))
    (func (export "switch to outer") (param i32) (result i32)
      (task.resume $t (task.new $t $to-outer) (local.get 0)))
    (func (export "suspend outer") (param i32) (result i32)
      (task.suspend $t (global.get $outer) (local.get 0)))
    (func (export "suspend inner") (param i32) (result i32)
      (task.suspend $t (global.get $inner) (local.get 0)))
    (func (export "retire outer") (param i32) (result i32)
      (task.retire $t (global.get $outer) (local.get 0)))
    (func (export "switch from inner") (param i32) (result i32)
      (task.switchto $t $t (global.get $inner) (task.new $t $inner) (local.get 0)))

    (func $adds (param $me (ref null $t)) (param $n i32) (result i32) (local $sum i32)
      (loop $next
        (local.set $sum (i32.add (local.get $sum) (local.get $n)))
        (local.set $n (task.suspend $t (local.get $me) (local.get $sum))) (br $next))
      (unreachable))
    (func (export "keep") (param i32) (result i32)
      (global.set $kept (task.new $t $adds))
      (i32.const 0))
    (func (export "add") (param i32) (result i32)
      (task.resume $t (global.get $kept) (local.get 0))))"#;

#[test]
fn a_task_can_call_the_host() {
    designs::a_stack_can_call_the_host(CALLS);
}

#[test]
fn calls_nest_through_tasks_and_the_host() {
    let host = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
        if x == 0 { Ok(1) } else { Ok(x + call_back(&mut caller, "run", x - 1)?) }
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        assert_eq!(number(&mut store, instance, "run", &[10]).unwrap(), 56);
    }
}

#[test]
fn a_task_of_an_outer_activation_is_in_use() {
    let ways = [
        ("resume outer", TrapCode::TaskNotSuspended),
        ("resume inner", TrapCode::TaskNotSuspended),
        ("release outer", TrapCode::TaskNotSuspended),
        ("release inner", TrapCode::TaskNotSuspended),
        ("switch to outer", TrapCode::TaskNotSuspended),
        ("suspend outer", TrapCode::TaskNotRunning),
        ("suspend inner", TrapCode::TaskNotRunning),
        ("retire outer", TrapCode::TaskNotRunning),
        ("switch from inner", TrapCode::TaskNotRunning),
    ];
    for engine in engines() {
        for (way, expected) in ways {
            let (mut store, instance) =
                with_host(&engine, CALLS, move |mut caller: Caller<'_, ()>, x: i32| {
                    let error = call_back(&mut caller, way, x).unwrap_err();
                    assert_eq!(trap(&error).code(), expected, "{way}");
                    // The host propagates the trap or ignores it.
                    if x == 0 { Err(error) } else { Ok(x + 1) }
                });
            // The trap ended only the inner activation.
            assert_eq!(number(&mut store, instance, "run", &[4]).unwrap(), 5);
            assert_eq!(code(number(&mut store, instance, "run", &[0])), expected);
            traps(number(&mut store, instance, "resume inner", &[0]), TrapCode::TaskMoribund);
            assert_eq!(number(&mut store, instance, "run", &[5]).unwrap(), 6);
        }
    }
}

#[test]
fn another_activation_can_resume_a_suspended_stack() {
    designs::another_activation_can_resume(CALLS);
}

#[test]
fn an_error_of_the_host_in_a_task_ends_its_tasks() {
    let host = |x: i32| -> Result<i32> {
        anyhow::ensure!(x != 13, "thirteen");
        Ok(x)
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        let error = number(&mut store, instance, "run", &[13]).unwrap_err();
        assert_eq!(host_message(&error), "thirteen");
        for way in ["resume outer", "resume inner", "release outer"] {
            let moribund = code(number(&mut store, instance, way, &[0]));
            assert_eq!(moribund, TrapCode::TaskMoribund, "{way}");
        }
        assert_eq!(number(&mut store, instance, "run", &[14]).unwrap(), 14);
    }
}
