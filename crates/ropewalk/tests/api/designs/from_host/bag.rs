//! Stacks of the bag that the host switches to.

use super::*;

const BAG: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (rec
      (type $ping (stack (param i32) (param i32) (ref null $pong)))
      (type $pong (stack (param i64) (ref null $ping))))
    (type $bound (stack (param i32) (ref null $pong))) (type $s (struct (field i32)))
    (tag $thrown (export "thrown") (param i32 (ref null $ping)))
    (tag $there (param i32 (ref null $pong))) (global $kept (mut (ref null $pong)) (ref.null $pong))
    (global $other (mut (ref null $ping)) (ref.null $ping))

    ;; Sends the sum of its values and of an object; with -1 it retires, with -2 it throws
    ;; to the stack that switched here, with -3 it traps, with -4 it returns.
    (func $body (param $x i32) (param $y i32) (param $back (ref null $pong))
      (local $all (ref null $s))
      (local.set $all (struct.new $s (i32.const 0)))
      (loop $more
        (if (i32.eq (local.get $x) (i32.const -1))
          (then (switch_retire $pong (i64.const 11) (local.get $back))))
        (if (i32.eq (local.get $x) (i32.const -2))
          (then
            (switch_throw $pong $thrown (i32.const 12) (local.get $back))
            (local.set $back) (drop) (drop)))
        (if (i32.eq (local.get $x) (i32.const -3)) (then (unreachable)))
        (if (i32.eq (local.get $x) (i32.const -4)) (then (return)))
        (local.set $all (struct.new $s (i32.add (struct.get $s 0 (local.get $all))
          (i32.add (call $wait (local.get $x)) (local.get $y)))))
        (switch $pong (i64.extend_i32_s (struct.get $s 0 (local.get $all))) (local.get $back))
        (local.set $back) (local.set $y) (local.set $x) (br $more)))
    (func (export "new") (result (ref $ping)) (stack.new $ping $body))
    (func (export "bound") (result (ref $bound))
      (stack.bind $ping $bound (i32.const 40) (stack.new $ping $body)))

    ;; The host's stack is kept, and another one switches there.
    (func $second (param i32) (param i32) (param (ref null $pong))
      (switch_retire $pong (i64.const 99) (global.get $kept)))
    (func $first (param $x i32) (param $y i32) (param $back (ref null $pong))
      (global.set $kept (local.get $back))
      (switch $ping (local.get $x) (local.get $y) (stack.new $ping $second)) (unreachable))
    (func (export "by way of another") (result (ref $ping)) (stack.new $ping $first))
    ;; The host's stack is kept beyond the call of the host.
    (func $keeps (param $x i32) (param $y i32) (param $back (ref null $pong))
      (global.set $kept (local.get $back))
      (unreachable))
    (func (export "keeps") (result (ref $ping)) (stack.new $ping $keeps))
    (func (export "to the kept one")
      (switch $pong (i64.const 0) (global.get $kept))
      (drop) (drop) (drop)))"#;

#[test]
fn the_host_switches_to_a_stack_and_is_switched_to() {
    for (mut store, instance) in all_engines().iter().map(|engine| with_ready(engine, BAG)) {
        let mut stack: BagStack = get(&mut store, instance, "new");
        let mut all = 0;
        for x in 0..5 {
            store.gc();
            assert!(stack.bytes(&store).unwrap() > 0);
            let (came, from) = back(stack.switch(&mut store, &[Val::I32(x), Val::I32(2)]));
            all += i64::from(x) + 2;
            assert_eq!(came, all);
            stack = from.expect("it has not retired");
            assert_eq!(frames(&stack.backtrace(&store).unwrap()), ["body"]);
        }
        let (came, from) = back(stack.switch(&mut store, &[Val::I32(-1), Val::I32(2)]));
        assert!(came == 11 && from.is_none());
        check_live(&mut store, 0);
    }
}

#[test]
fn bound_values_come_before_the_hosts() {
    for (mut store, instance) in all_engines().iter().map(|engine| with_ready(engine, BAG)) {
        let stack: BagStack = get(&mut store, instance, "bound");
        let (came, from) = back(stack.switch(&mut store, &[Val::I32(2)]));
        assert_eq!(came, 42);
        from.unwrap().free(&mut store).unwrap();
        assert_eq!(store.stack_statistics().live, 0);
    }
}

#[test]
fn a_stack_may_throw_trap_and_return_in_the_hands_of_the_host() {
    for (mut store, instance) in all_engines().iter().map(|engine| with_ready(engine, BAG)) {
        let thrown = tag(&mut store, instance, "thrown");
        for x in [-2, -3, -4] {
            let stack: BagStack = get(&mut store, instance, "new");
            let error = stack.switch(&mut store, &[Val::I32(x), Val::I32(0)]).unwrap_err();
            match x {
                -2 => {
                    let exception = error.downcast_ref::<Exception>().expect("it was thrown");
                    assert_eq!(exception.tag(&mut store).unwrap(), thrown);
                    let Val::ContRef(Some(from)) = exception.values(&mut store).unwrap()[1] else {
                        panic!("the stack that was left");
                    };
                    let from = BagStack::from_ref(&mut store, from).unwrap();
                    let (came, _) = back(from.switch(&mut store, &[Val::I32(3), Val::I32(4)]));
                    assert_eq!(came, -2);
                }
                -3 => assert_eq!(trap(&error).code(), TrapCode::Unreachable),
                _ => assert_eq!(trap(&error).code(), TrapCode::CoroutineReturned),
            }
        }
        check_live(&mut store, 0);
    }
}

#[test]
fn any_stack_with_the_hosts_stack_switches_there() {
    for (mut store, instance) in all_engines().iter().map(|engine| with_ready(engine, BAG)) {
        let stack: BagStack = get(&mut store, instance, "by way of another");
        let (came, from) = back(stack.switch(&mut store, &[Val::I32(0), Val::I32(0)]));
        assert!(came == 99 && from.is_none());
        check_live(&mut store, 0);
        // The call used the reference.
        let stack: BagStack = get(&mut store, instance, "keeps");
        let kept = stack.switch(&mut store, &[Val::I32(0), Val::I32(0)]);
        traps(kept, TrapCode::Unreachable);
        traps(call(&mut store, instance, "to the kept one", &[]), TrapCode::StackUsed);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_stack_waits_for_host_functions() {
    for (mut store, instance) in all_engines().iter().map(|engine| waiting(engine, BAG)) {
        let mut stack: BagStack = get(&mut store, instance, "new");
        for (x, all) in [(3, 3), (5, 8)] {
            let values = [Val::I32(x), Val::I32(0)];
            let (switched, polls) = count_polls(stack.switch_async(&mut store, &values));
            let (came, from) = back(switched);
            assert_eq!((came, polls), (all, 2));
            stack = from.unwrap();
        }
        drop(stack);
        assert_eq!(store.stack_statistics().live, 0);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_stack_that_the_host_owns_is_stale_elsewhere() {
    for (mut store, instance) in all_engines().iter().map(|engine| with_ready(engine, BAG)) {
        let new = instance.get_typed_func::<(), ContRef>(&mut store, "new").unwrap();
        let reference = new.call(&mut store, ()).unwrap();
        let stack = BagStack::from_ref(&mut store, reference).unwrap();
        assert!(!reference.is_suspended(&store).unwrap());
        traps(BagStack::from_ref(&mut store, reference), TrapCode::StackUsed);
        store.gc();
        let reference = stack.into_ref(&mut store).unwrap();
        assert!(reference.is_suspended(&store).unwrap());
        let stack = BagStack::from_ref(&mut store, reference).unwrap();
        assert!(stack.switch(&mut store, &[Val::I32(0)]).is_err());
        check_live(&mut store, 0);
        let reference = new.call(&mut store, ()).unwrap();
        traps(FirstClassStack::from_ref(&mut store, reference), TrapCode::OtherDesign);
    }
}
