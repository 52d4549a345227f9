//! First-class stacks that the host switches to.

use super::*;

const FIRST_CLASS: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (import "host" "new_stack" (func $new-stack (result stackref)))
    (event $ask (export "ask") (param i32 stackref))
    (event $told (export "told") (param i32 stackref)) (event $last (export "last") (param i32))
    (event $other (export "other") (param stackref))
    ;; Tells twice what it is asked. With -1, it sends its last word and is freed. With -2, it
    ;; traps. With -3, it runs a function on top of the host's stack. With -4, an exception is
    ;; thrown there.
    (func $on-top (param $x i32) (param $from stackref) (result i32 stackref)
      (i32.add (call $wait (local.get $x)) (i32.const 500)) (local.get_clear $from))
    (func $throws (param $x i32) (param $from stackref) (result i32 stackref)
      (throw $last (i32.const 600)))
    (rout $body (local $back stackref) (local $x i32)
      (block $asked (result i32 stackref)
        (try (stack.start) catch $ask $asked) (unreachable))
      (local.set_cleared $back) (local.set $x)
      (loop $more
        (block $again (result i32 stackref)
          (try
            (if (i32.eq (local.get $x) (i32.const -1))
              (then (stack.switch_drop $last (i32.const 77) (local.get_clear $back))))
            (if (i32.eq (local.get $x) (i32.const -2)) (then (unreachable)))
            (if (i32.eq (local.get $x) (i32.const -3))
              (then (stack.switch_call $on-top $told (i32.const 5) (local.get_clear $back))))
            (if (i32.eq (local.get $x) (i32.const -4))
              (then (stack.switch_call $throws $told (i32.const 5) (local.get_clear $back))))
            (stack.switch $told (i32.mul (call $wait (local.get $x)) (i32.const 2))
              (local.get_clear $back))
            catch $ask $again)
          (unreachable))
        (local.set_cleared $back) (local.set $x) (br $more)))
    (func (export "new") (result stackref) (stack.extend $body (call $new-stack))))"#;

#[test]
fn the_host_switches_to_a_first_class_stack_and_gets_events() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, FIRST_CLASS);
        let [ask, told, last] = ["ask", "told", "last"].map(|name| tag(&mut store, instance, name));
        let stack: Option<FirstClassStack> = get(&mut store, instance, "new");
        let mut stack = stack.unwrap();
        for (x, expected) in [(1, 2), (-3, 505), (4, 8)] {
            store.gc();
            let arrived = stack.switch(&mut store, ask, &[Val::I32(x)]).unwrap();
            assert_eq!((arrived.tag, i32s(&arrived.values)), (told, vec![expected]));
            stack = arrived.from.expect("the sender is suspended");
            assert_eq!(frames(&stack.backtrace(&store).unwrap()), ["body"]);
        }
        let arrived = stack.switch(&mut store, ask, &[Val::I32(-1)]).unwrap();
        assert_eq!((arrived.tag, i32s(&arrived.values)), (last, vec![77]));
        assert!(arrived.from.is_none());
        check_live(&mut store, 0);
    }
}

#[test]
fn an_exception_on_top_of_the_hosts_stack_arrives_there() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, FIRST_CLASS);
        let [ask, last] = ["ask", "last"].map(|name| tag(&mut store, instance, name));
        let stack: Option<FirstClassStack> = get(&mut store, instance, "new");
        let arrived = stack.unwrap().switch(&mut store, ask, &[Val::I32(-4)]).unwrap();
        assert_eq!((arrived.tag, i32s(&arrived.values)), (last, vec![600]));
        // The function that owned the sender was left.
        assert!(arrived.from.is_none());
        assert_eq!(store.stack_statistics().live, 0);
    }
}

#[test]
fn a_first_class_stack_that_fails_is_freed() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, FIRST_CLASS);
        let [ask, other, last] =
            ["ask", "other", "last"].map(|name| tag(&mut store, instance, name));
        let stack: Option<FirstClassStack> = get(&mut store, instance, "new");
        traps(stack.unwrap().switch(&mut store, ask, &[Val::I32(-2)]), TrapCode::Unreachable);
        let stack: Option<FirstClassStack> = get(&mut store, instance, "new");
        traps(stack.unwrap().switch(&mut store, other, &[]), TrapCode::UncaughtOnStack);
        let blank = FirstClassStack::new(&mut store, None).unwrap();
        traps(blank.switch(&mut store, other, &[]), TrapCode::EventReachedGround);
        // The host cannot send an event without its stack.
        let stack: Option<FirstClassStack> = get(&mut store, instance, "new");
        fails_because(
            stack.unwrap().switch(&mut store, last, &[Val::I32(1)]),
            "whose last value is a stack",
        );
        check_live(&mut store, 0);
    }
}

#[test]
fn a_first_class_stack_waits_for_host_functions() {
    for (mut store, instance) in all_engines().iter().map(|engine| waiting(engine, FIRST_CLASS)) {
        let [ask, told] = ["ask", "told"].map(|name| tag(&mut store, instance, name));
        let stack: Option<FirstClassStack> = get(&mut store, instance, "new");
        let mut stack = stack.unwrap();
        for (x, expected) in [(1, 2), (-3, 505), (4, 8)] {
            let values = [Val::I32(x)];
            let (arrived, polls) = count_polls(stack.switch_async(&mut store, ask, &values));
            let arrived = arrived.unwrap();
            assert_eq!((arrived.tag, i32s(&arrived.values)), (told, vec![expected]));
            assert_eq!(polls, 2);
            stack = arrived.from.expect("the sender is suspended");
        }
        stack.free(&mut store).unwrap();
        assert_eq!(store.stack_statistics().live, 0);
    }
}
