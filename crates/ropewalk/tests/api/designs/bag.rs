//! Bag of stacks: calls between a stack and the host in both directions.

use crate::common::*;
use ropewalk::*;

/// `run x` keeps the root and switches to a coroutine, which calls the host with x and switches
/// back with the result. All other exports use the kept root.
const CALLS: &str = r#"(module
    (import "host" "f" (func $f (param i32) (result i32)))
    (type $c (stack (param i32) (ref null $c))) (tag $e (param i32) (param (ref null $c)))
    (global $root (export "root") (mut (ref null $c)) (ref.null $c))
    (global $kept (mut (ref null $c)) (ref.null $c))

    (func $calls (param $x i32) (param $root (ref null $c))
      (global.set $root (local.get $root))
      (local.set $x (call $f (local.get $x)))
      (switch_retire $c (local.get $x) (global.get $root)))
    (func (export "run") (param i32) (result i32)
      (switch $c (local.get 0) (stack.new $c $calls)) (drop))

    (func (export "switch to the root") (param i32) (result i32)
      (switch $c (local.get 0) (global.get $root)) (drop))
    (func (export "throw at the root") (param i32) (result i32)
      (switch_throw $c $e (local.get 0) (global.get $root)) (drop))
    (func (export "retire to the root") (param i32) (result i32)
      (switch_retire $c (local.get 0) (global.get $root)))
    (func $then (param i32) (param (ref null $c)) (result i32) (local.get 0))
    (func (export "leave for the root") (param i32) (result i32)
      (return_switch $c $then (local.get 0) (global.get $root)))
    (func $to-root (param i32) (param (ref null $c))
      (switch $c (local.get 0) (global.get $root)) (unreachable))
    (func (export "switch to the root from a coroutine") (param i32) (result i32)
      (switch $c (local.get 0) (stack.new $c $to-root)) (drop))
    (func $traps (param i32) (param (ref null $c)) (unreachable))
    (func (export "retire") (param i32) (result i32)
      (switch_retire $c (local.get 0) (stack.new $c $traps)))

    (func $adds (param $n i32) (param $from (ref null $c)) (local $sum i32)
      (loop $next
        (local.set $sum (i32.add (local.get $sum) (local.get $n)))
        (switch $c (local.get $sum) (local.get $from)) (local.set $from) (local.set $n)
        (br $next)))
    (func (export "keep") (param i32) (result i32)
      (global.set $kept (stack.new $c $adds))
      (i32.const 0))
    (func (export "add") (param i32) (result i32)
      (switch $c (local.get 0) (global.get $kept)) (global.set $kept)))"#;

#[test]
fn a_coroutine_can_call_the_host() {
    designs::a_stack_can_call_the_host(CALLS);
}

#[test]
fn calls_nest_through_coroutines_and_the_host() {
    let host = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
        if x == 0 {
            return Ok(1);
        }
        // Inner calls write their root into the same global, so the host keeps the outer
        // one.
        let root = caller.get_export("root").and_then(Extern::into_global).unwrap();
        let outer = root.get(&mut caller)?;
        let inner = call_back(&mut caller, "run", x - 1)?;
        root.set(&mut caller, outer)?;
        Ok(inner + x)
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        assert_eq!(number(&mut store, instance, "run", &[10]).unwrap(), 56);
    }
}

#[test]
fn a_switch_does_not_cross_a_host_frame() {
    for engine in engines() {
        let ways = [
            "switch to the root",
            "throw at the root",
            "retire to the root",
            "leave for the root",
            "switch to the root from a coroutine",
        ];
        for way in ways {
            let (mut store, instance) =
                with_host(&engine, CALLS, move |mut caller: Caller<'_, ()>, x: i32| {
                    let error = call_back(&mut caller, way, x).unwrap_err();
                    assert_eq!(trap(&error).code(), TrapCode::AcrossHostFrame, "{way}");
                    // The host propagates the trap or ignores it.
                    if x == 0 { Err(error) } else { Ok(x + 1) }
                });
            // The trap did not use the reference: the coroutine switches back.
            assert_eq!(number(&mut store, instance, "run", &[4]).unwrap(), 5);
            traps(number(&mut store, instance, "run", &[0]), TrapCode::AcrossHostFrame);
            assert_eq!(number(&mut store, instance, "run", &[5]).unwrap(), 6);
            // That root has ended.
            traps(number(&mut store, instance, way, &[0]), TrapCode::StackUsed);
        }
    }
}

#[test]
fn another_activation_can_resume_a_suspended_stack() {
    designs::another_activation_can_resume(CALLS);
}

#[test]
fn a_root_that_retires_inside_ends_only_its_own_activation() {
    let host = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
        traps(call_back(&mut caller, "retire", x), TrapCode::Unreachable);
        Ok(x + 1)
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        assert_eq!(number(&mut store, instance, "run", &[4]).unwrap(), 5);
        assert_eq!(number(&mut store, instance, "run", &[5]).unwrap(), 6);
    }
}

#[test]
fn an_error_of_the_host_in_a_coroutine_reaches_the_caller_as_itself() {
    let host = |x: i32| -> Result<i32> {
        anyhow::ensure!(x != 13, "thirteen");
        Ok(x)
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        let error = number(&mut store, instance, "run", &[13]).unwrap_err();
        assert_eq!(host_message(&error), "thirteen");
        // The root that waited was freed with it.
        traps(number(&mut store, instance, "switch to the root", &[0]), TrapCode::StackUsed);
        assert_eq!(number(&mut store, instance, "run", &[14]).unwrap(), 14);
    }
}

#[test]
fn a_million_times_return_switch_does_not_grow_a_stack() {
    let text = r#"(module
        (type $c (stack (ref null $c))) (global $left (mut i32) (i32.const 0))
        (func $bounces (param (ref null $c)) (return_switch $c $bounces (local.get 0)))
        (func $bounce (param $n i32) (param $s (ref null $c))
          (global.set $left (local.get $n)) (return_switch $c $bounced (local.get $s)))
        (func $bounced (param $s (ref null $c))
          (if (global.get $left)
            (then
              (return_call $bounce (i32.sub (global.get $left) (i32.const 1)) (local.get $s)))))
        (func (export "bounce") (param $n i32)
          (call $bounce (local.get $n) (stack.new $c $bounces))))"#;
    let (mut store, instance) = instantiate(text);
    number(&mut store, instance, "bounce", &[1_000_000]).unwrap();
}
