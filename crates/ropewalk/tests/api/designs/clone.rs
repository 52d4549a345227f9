//! Clones of suspended stacks by the host and by WebAssembly: they are equal and independent, some
//! stacks cannot be cloned, and nothing leaks.

use crate::common::*;
use ropewalk::*;

fn more_engines() -> Vec<Engine> {
    let mut all = all_engines();
    all.extend([PARK, POOL_OF_ONE, MINIMAL_STACKS].map(engine));
    all
}

const MODULE: &str = r#"(module
    (import "host" "suspends" (func $host (param i32) (result i32)))
    (import "host" "new_stack" (func $new-stack (result stackref)))
    (type $f (func (param i32) (result i32))) (type $k (cont $f))
    (type $t (task (param i32) (result i32))) (type $s (struct (field i32)))
    (tag $ask (export "ask") (param i32) (result i32)) (tag $error (export "error") (param i32))
    (elem declare func $asks $inside) (global $kept (mut (ref null $k)) (ref.null $k))

    ;; Asks until the reply is zero; returns the sum of the replies.
    (func $asks (export "asks") (param $x i32) (result i32) (local $sum (ref null $s))
      (local.set $sum (struct.new $s (i32.const 0)))
      (loop $more
        (local.set $x (suspend $ask (local.get $x)))
        (local.set $sum (struct.new $s (i32.add (struct.get $s 0 (local.get $sum)) (local.get $x))))
        (br_if $more (local.get $x)))
      (struct.get $s 0 (local.get $sum)))
    (func $inside (param i32) (result i32) (resume $k (local.get 0) (cont.new $k (ref.func $asks))))
    (func (export "nested") (param i32) (result i32)
      (i32.add (i32.const 1000) (resume $k (local.get 0) (cont.new $k (ref.func $inside)))))
    (func (export "deep") (param $n i32) (result i32) (call $down (local.get $n)))
    (func $down (param $n i32) (result i32)
      (if (result i32) (local.get $n)
        (then (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)))))
        (else (suspend $ask (i32.const 0)))))
    (func (export "catches") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $error $h) (call $asks (local.get 0)))))
    (func (export "calls the host") (param i32) (result i32) (call $host (local.get 0)))
    (func $task (param $me (ref null $t)) (param i32) (result i32) (call $asks (local.get 1)))
    (func (export "has a task") (param i32) (result i32)
      (task.resume $t (task.new $t $task) (local.get 0)))
    (func (export "has a stack") (param i32) (result i32) (local $s stackref)
      (local.set_cleared $s (call $new-stack))
      (call $asks (local.get 0)))

    ;; Copies of WebAssembly's.
    (func $begin (param $x i32) (result (ref $k)) (local $k (ref null $k))
      (block $h (result i32 (ref $k))
        (drop (resume $k (on $ask $h) (local.get $x) (cont.new $k (ref.func $inside))))
        (unreachable))
      (local.set $k) (drop)
      (ref.as_non_null (local.get $k)))
    (func (export "keep") (global.set $kept (call $begin (i32.const 1))))
    (func (export "finish") (param $x i32) (result i32)
      (block $h (result i32 (ref $k))
        (return (resume $k (on $ask $h) (local.get $x) (global.get $kept))))
      (global.set $kept)
      (drop)
      (block $h (result i32 (ref $k))
        (return (resume $k (on $ask $h) (i32.const 0) (global.get $kept))))
      (unreachable))
    (func (export "copy") (param $n i32)
      (loop $more
        (drop (cont.clone $k (global.get $kept)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (table $copies 0 (ref null $k))
    (func (export "keep copies") (param $n i32)
      (loop $more
        (drop (table.grow $copies (cont.clone $k (global.get $kept)) (i32.const 1)))
        (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (func (export "drop copies") (local $i i32)
      (loop $more
        (if (i32.lt_u (local.get $i) (table.size $copies))
          (then
            (table.set $copies (local.get $i) (ref.null $k))
            (local.set $i (i32.add (local.get $i) (i32.const 1))) (br $more)))))
    (func (export "given") (param (ref null $k)) (result (ref $k)) (cont.clone $k (local.get 0))))"#;

fn setup(engine: &Engine) -> (Store<()>, Instance) {
    let module = Module::new(engine, MODULE).unwrap();
    let mut store = Store::new(engine, ());
    let ty = FuncType::new(vec![ValType::I32], vec![ValType::I32]);
    let tag = Tag::new(&mut store, TagType { ty: ty.clone() }).unwrap();
    let mut linker = Linker::new(engine);
    linker.host_new("suspends", ty, move |_, params, _| Err(Suspension::new(tag, params).into()));
    let instance = linker.instantiate(&mut store, &module).unwrap();
    (store, instance)
}

fn begun(resumed: Result<Resumed>) -> Continuation {
    asked(resumed).1
}

/// Resumes with these replies, then with zero.
fn finish(store: &mut Store<()>, mut rest: Continuation, replies: &[i32]) -> i32 {
    for reply in replies {
        rest = begun(rest.resume(&mut *store, &[Val::I32(*reply)]));
    }
    returned(rest.resume(store, &[Val::I32(0)]))
}

#[test]
fn copies_that_the_host_holds_are_equal_and_independent() {
    for (mut store, instance) in more_engines().iter().map(setup) {
        for (name, added) in [("asks", 0), ("nested", 1000)] {
            let fresh = continuation(&mut store, instance, name);
            let copy = fresh.try_clone(&mut store).unwrap();
            let first = begun(fresh.resume(&mut store, &[Val::I32(1)]));
            let second = first.try_clone(&mut store).unwrap();
            store.gc();
            let third = begun(second.resume(&mut store, &[Val::I32(30)]));
            let fourth = third.try_clone(&mut store).unwrap();
            assert_eq!(
                fourth.backtrace(&store).unwrap().frames().len(),
                third.backtrace(&store).unwrap().frames().len()
            );
            assert_eq!(finish(&mut store, first, &[5, 6]), added + 11);
            assert_eq!(finish(&mut store, fourth, &[7]), added + 37);
            assert_eq!(finish(&mut store, third, &[8, 9]), added + 47);
            let copy = begun(copy.resume(&mut store, &[Val::I32(1)]));
            assert_eq!(finish(&mut store, copy, &[2]), added + 2);
            check_live(&mut store, 0);
        }
    }
}

#[test]
fn an_exception_into_a_copy_leaves_the_other_as_it_is() {
    for (mut store, instance) in more_engines().iter().map(setup) {
        let error = instance.get_tag(&mut store, "error").unwrap();
        let rest =
            begun(continuation(&mut store, instance, "catches").resume(&mut store, &[Val::I32(1)]));
        let copy = rest.try_clone(&mut store).unwrap();
        let exception = Exception::new(&mut store, error, &[Val::I32(9)]).unwrap();
        assert_eq!(returned(copy.resume_throw(&mut store, &exception)), 9);
        assert_eq!(finish(&mut store, rest, &[4]), 4);
        check_live(&mut store, 0);
    }
}

#[test]
fn typed_copies_have_types() {
    let (mut store, instance) = setup(&Engine::default());
    let asks = instance.get_typed_func::<i32, i32>(&mut store, "asks").unwrap();
    let ask = instance.get_tag(&mut store, "ask").unwrap().typed::<i32, i32>(&store).unwrap();
    let begun = TypedContinuation::new(&mut store, &asks).unwrap();
    let begun = begun.resume_on(&mut store, &ask, 1).unwrap();
    let TypedResumed::Suspended { continuation, .. } = begun else { panic!("it asks") };
    let copy = continuation.try_clone(&mut store).unwrap();
    for rest in [continuation, copy] {
        let ended = rest.resume_on(&mut store, &ask, 0).unwrap();
        assert!(matches!(ended, TypedResumed::Returned(0)));
    }
}

#[test]
fn a_failed_copy_leaves_the_original() {
    for (mut store, instance) in more_engines().iter().map(setup) {
        for (name, reason) in [
            ("calls the host", "it was suspended in a host call, which returns once"),
            ("has a task", "a task was suspended with it, and a task is one object"),
        ] {
            let rest =
                begun(continuation(&mut store, instance, name).resume(&mut store, &[Val::I32(1)]));
            let failed = rest.try_clone(&mut store).unwrap_err();
            let failed = failed.downcast_ref::<Trap>().unwrap();
            assert_eq!(failed.code(), TrapCode::NotCopied, "{name}");
            assert!(failed.detail().unwrap().starts_with(reason), "{name}: {failed}");
            let again = rest.try_clone(&mut store).unwrap_err().to_string();
            assert!(again.starts_with("wasm trap: stack cannot be copied: "), "{name}: {again}");
            assert_eq!(returned(rest.resume(&mut store, &[Val::I32(0)])), 0, "{name}");
            check_live(&mut store, 0);
        }
    }
}

#[test]
fn a_copy_has_copies_of_the_stacks_that_the_original_owns() {
    for (mut store, instance) in more_engines().iter().map(setup) {
        let owner = continuation(&mut store, instance, "has a stack");
        let rest = begun(owner.resume(&mut store, &[Val::I32(1)]));
        check_live(&mut store, 2);
        let copy = rest.try_clone(&mut store).unwrap();
        check_live(&mut store, 4);
        assert_eq!(finish(&mut store, rest, &[5]), 5);
        check_live(&mut store, 2);
        assert_eq!(finish(&mut store, copy, &[6]), 6);
        check_live(&mut store, 0);
    }
}

#[test]
fn copies_of_webassembly_and_of_the_host_are_the_same() {
    for (mut store, instance) in more_engines().iter().map(setup) {
        let rest =
            begun(continuation(&mut store, instance, "asks").resume(&mut store, &[Val::I32(1)]));
        let copy = rest.try_clone(&mut store).unwrap();
        let given = copy.into_ref(&mut store).unwrap();
        let copies = instance.get_typed_func::<Option<ContRef>, ContRef>(&mut store, "given");
        let made = copies.unwrap().call(&mut store, Some(given)).unwrap();
        let made = Continuation::from_ref(&mut store, made).unwrap();
        let given = Continuation::from_ref(&mut store, given).unwrap();
        for (i, rest) in [(1, rest), (2, made), (3, given)] {
            assert_eq!(finish(&mut store, rest, &[i, 10]), i + 10);
        }
        check_live(&mut store, 0);
    }
}

#[test]
fn copies_that_nothing_refers_to_are_reclaimed() {
    // Three stacks each. There are few, so all are reused.
    for (mut store, instance) in engines_with_max_stacks(20).iter().map(setup) {
        number(&mut store, instance, "keep", &[]).unwrap();
        number(&mut store, instance, "copy", &[200]).unwrap();
        assert_eq!(number(&mut store, instance, "finish", &[5]).unwrap(), 5);
        check_live(&mut store, 0);
    }
}

#[test]
fn too_many_copies_trap_and_leave_the_original() {
    for (mut store, instance) in engines_with_max_stacks(20).iter().map(setup) {
        number(&mut store, instance, "keep", &[]).unwrap();
        for _ in 0..3 {
            traps(number(&mut store, instance, "keep copies", &[30]), TrapCode::TooManyStacks);
            number(&mut store, instance, "drop copies", &[]).unwrap();
        }
        assert_eq!(number(&mut store, instance, "finish", &[5]).unwrap(), 5);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_copy_of_a_large_stack_needs_memory_for_it() {
    let mut config = Config::new();
    config.max_stack_memory(3 << 20).stack_pool(1);
    let (mut store, instance) = setup(&Engine::new(&config).unwrap());
    let deep = continuation(&mut store, instance, "deep");
    let rest = begun(deep.resume(&mut store, &[Val::I32(14_000)]));
    assert!(rest.bytes(&store).unwrap() > 512 << 10);
    let mut all = vec![rest];
    let error = loop {
        match all[0].try_clone(&mut store) {
            Ok(copy) => all.push(copy),
            Err(error) => break error,
        }
    };
    assert!((2..=5).contains(&all.len()), "{} fit", all.len());
    assert_eq!(trap(&error).code(), TrapCode::TooManyStacks);
    assert!(error.to_string().contains("Config::max_stack_memory"), "{error}");
    for rest in all {
        assert_eq!(returned(rest.resume(&mut store, &[Val::I32(1)])), 14_001);
    }
    check_live(&mut store, 0);
}

#[test]
fn parked_stacks_are_copied_where_they_are() {
    let (mut store, instance) = setup(&Engine::default());
    let rest =
        begun(continuation(&mut store, instance, "nested").resume(&mut store, &[Val::I32(1)]));
    assert_eq!(store.park_idle(), 3);
    let copy = rest.try_clone(&mut store).unwrap();
    assert_eq!(store.stack_statistics().parked, 3);
    assert_eq!(finish(&mut store, copy, &[2]), 1002);
    assert_eq!(store.stack_statistics().parked, 3);
    assert_eq!(finish(&mut store, rest, &[3]), 1003);
    check_live(&mut store, 0);
}

#[test]
fn a_copy_of_another_store_is_refused() {
    let (mut store, instance) = setup(&Engine::default());
    let (mut other, _) = setup(&Engine::default());
    let rest = continuation(&mut store, instance, "asks");
    let error = rest.try_clone(&mut other).unwrap_err();
    assert!(error.downcast_ref::<WrongStore>().is_some(), "{error}");
}

const STACKS: &str = r#"(module
    (import "host" "new_stack" (func $new-stack (result stackref)))
    (rec
      (type $ask (stack (param i32) (ref null $tell)))
      (type $tell (stack (param i32) (ref null $ask))))
    (event $send (export "send") (param i32 stackref))
    (event $told (export "told") (param i32 stackref))
    (func $sums (param $x i32) (param $back (ref null $tell)) (local $sum i32)
      (loop $more
        (local.set $sum (i32.add (local.get $sum) (local.get $x)))
        (switch $tell (local.get $sum) (local.get $back)) (local.set $back) (local.set $x)
        (br $more)))
    (func (export "bag") (result (ref $ask)) (stack.new $ask $sums))
    (rout $body (local $back stackref) (local $sum i32)
      (block $asked (result i32 stackref)
        (try (stack.start) catch $send $asked) (unreachable))
      (loop $more (param i32 stackref)
        (local.set_cleared $back)
        (local.set $sum (i32.add (local.get $sum)))
        (block $again (result i32 stackref)
          (try (stack.switch $told (local.get $sum) (local.get_clear $back)) catch $send $again)
          (unreachable))
        (br $more)))
    (func (export "first class") (result stackref) (stack.extend $body (call $new-stack)))
    ;; The trap ends the activation and the stack that could not be copied.
    (type $t (task)) (global $main (mut stackref) (ref.null stack))
    (func $leaves (param (ref null $t))
      (stack.switch $told (i32.const 0) (global.get_clear $main)))
    (rout $runs-task
      (block $asked (result i32 stackref)
        (try (stack.start) catch $send $asked) (unreachable))
      (global.set_cleared $main)
      (drop)
      (task.resume $t (task.new $t $leaves)))
    (func (export "trap")
      (block $told (result i32 stackref)
        (try (stack.switch $send (i32.const 0) (stack.extend $runs-task (call $new-stack)))
          catch $told $told)
        (unreachable))
      (stack.clone)
      (drop) (drop) (drop)))"#;

fn setup_stacks(engine: &Engine) -> (Store<()>, Instance) {
    let module = Module::new(engine, STACKS).unwrap();
    let mut store = Store::new(engine, ());
    let instance = Linker::new(engine).instantiate(&mut store, &module).unwrap();
    (store, instance)
}

#[test]
fn stacks_of_the_bag_are_copied_by_the_host() {
    for (mut store, instance) in more_engines().iter().map(setup_stacks) {
        let send = |store: &mut Store<()>, stack: BagStack, x: i32| {
            let Switched { values, from } = stack.switch(store, &[Val::I32(x)]).unwrap();
            (values[0].i32().unwrap(), from.unwrap())
        };
        let stack = invoke::<(), BagStack>(&mut store, instance, "bag", ()).unwrap();
        let (_, stack) = send(&mut store, stack, 1);
        let copy = stack.try_clone(&mut store).unwrap();
        let (sum, _) = send(&mut store, stack, 10);
        let (copied, copy) = send(&mut store, copy, 20);
        assert_eq!((sum, copied), (11, 21));
        drop(copy);
        check_live(&mut store, 0);
    }
}

#[test]
fn first_class_stacks_are_copied_by_the_host() {
    for (mut store, instance) in more_engines().iter().map(setup_stacks) {
        let event = instance.get_tag(&mut store, "send").unwrap();
        let send = |store: &mut Store<()>, stack: FirstClassStack, x: i32| {
            let arrived = stack.switch(store, event, &[Val::I32(x)]).unwrap();
            (arrived.values[0].i32().unwrap(), arrived.from.unwrap())
        };
        let stack = invoke::<(), Option<FirstClassStack>>(&mut store, instance, "first class", ())
            .unwrap()
            .unwrap();
        let fresh = stack.try_clone(&mut store).unwrap();
        let (_, stack) = send(&mut store, stack, 1);
        let copy = stack.try_clone(&mut store).unwrap();
        let (sum, _) = send(&mut store, stack, 10);
        let (copied, _) = send(&mut store, copy, 20);
        let (first, _) = send(&mut store, fresh, 30);
        assert_eq!((sum, copied, first), (11, 21, 30));
        check_live(&mut store, 0);
    }
}

#[test]
fn a_first_class_stack_whose_copy_traps_ends_with_the_activation() {
    for (mut store, instance) in more_engines().iter().map(setup_stacks) {
        traps(number(&mut store, instance, "trap", &[]), TrapCode::NotCopied);
        assert_eq!(store.stack_statistics().live, 0);
    }
}
