//! Tasks that the host resumes.

use super::*;
use std::pin::pin;

const TASKS: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (type $t (task (param i32) (result i32))) (type $s (struct (field i32)))
    (type $deep (func (param i32) (result i32))) (type $k (cont $deep))
    (tag $wrong (export "wrong") (param i32)) (tag $ask) (elem declare func $deep)
    (global $task (mut (ref null $t)) (ref.null $t))

    ;; Gives the sum of the received numbers, which is in an object, until a number is
    ;; negative: -1 returns, -2 retires, -3 throws, -4 traps, -5 suspends with a tag, -6
    ;; resumes itself.
    (func $body (param $me (ref null $t)) (param $x i32) (result i32) (local $sum (ref null $s))
      (local.set $sum (struct.new $s (i32.const 0)))
      (loop $more
        (if (i32.eq (local.get $x) (i32.const -1)) (then (return (i32.const 100))))
        (if (i32.eq (local.get $x) (i32.const -2))
          (then (task.retire $t (local.get $me) (i32.const 200))))
        (if (i32.eq (local.get $x) (i32.const -3)) (then (throw $wrong (i32.const 300))))
        (if (i32.eq (local.get $x) (i32.const -4)) (then (unreachable)))
        (if (i32.eq (local.get $x) (i32.const -5)) (then (suspend $ask)))
        (if (i32.eq (local.get $x) (i32.const -6))
          (then (drop (task.resume $t (local.get $me) (i32.const 1)))))
        (local.set $sum (struct.new $s (i32.add (struct.get $s 0 (local.get $sum)) (local.get $x))))
        (local.set $x (task.suspend $t (local.get $me) (struct.get $s 0 (local.get $sum))))
        (br $more))
      (unreachable))
    (func (export "new") (result (ref $t)) (global.set $task (task.new $t $body))
      (ref.as_non_null (global.get $task)))
    (func (export "forget") (global.set $task (ref.null $t)))
    (func (export "resume") (param i32) (result i32)
      (task.resume $t (global.get $task) (local.get 0)))
    (func (export "is it") (param taskref) (result i32) (task.eq (local.get 0) (global.get $task)))

    ;; Suspends from a continuation inside of it.
    (func $deep (param $x i32) (result i32)
      (loop $more
        (local.set $x (task.suspend $t (global.get $task) (i32.mul (local.get $x) (i32.const 2))))
        (br_if $more (local.get $x)))
      (i32.const 7))
    (func $outer (param (ref null $t)) (param $x i32) (result i32)
      (resume $k (local.get $x) (cont.new $k (ref.func $deep))))
    (func (export "nested") (result (ref $t)) (global.set $task (task.new $t $outer))
      (ref.as_non_null (global.get $task)))

    ;; Another task takes its place.
    (func $second (param (ref null $t)) (param $x i32) (result i32)
      (i32.add (local.get $x) (i32.const 1000)))
    (func $first (param $me (ref null $t)) (param $x i32) (result i32)
      (task.switchto $t $t (local.get $me) (task.new $t $second) (local.get $x)))
    (func (export "switching") (result (ref $t)) (task.new $t $first))

    (func $waits (param (ref null $t)) (param $x i32) (result i32)
      (i32.add (call $wait (local.get $x)) (i32.const 1)))
    (func (export "waiting") (result (ref $t)) (task.new $t $waits))
    (func $again (param $me (ref null $t)) (param $x i32) (result i32)
      (drop (task.suspend $t (local.get $me) (call $wait (local.get $x))))
      (i32.const 5))
    (func (export "waiting and suspending") (result (ref $t)) (task.new $t $again)))"#;

#[test]
fn the_host_resumes_a_task_until_it_ends() {
    for (mut store, instance) in all_engines().iter().map(|engine| waiting(engine, TASKS)) {
        for (last, expected) in [(-1, 100), (-2, 200)] {
            let task: Task = get(&mut store, instance, "new");
            store.gc();
            assert!(task.is_suspended(&store).unwrap());
            assert!(task.bytes(&store).unwrap() > 0);
            assert_eq!(task.ty(&store).unwrap().to_string(), "[i32] -> [i32]");
            for (x, sum) in [(1, 1), (2, 3), (3, 6)] {
                let resumed = task.resume(&mut store, &[Val::I32(x)]).unwrap();
                let TaskResumed::Suspended(values) = resumed else { panic!("it suspends") };
                assert_eq!(i32s(&values), [sum]);
                assert_eq!(frames(&task.backtrace(&store).unwrap()), ["body"]);
                // WebAssembly has the same task.
                let sum = number(&mut store, instance, "resume", &[0]).unwrap();
                assert_eq!(i32s(&values), [sum]);
            }
            let resumed = task.resume(&mut store, &[Val::I32(last)]).unwrap();
            let TaskResumed::Finished(values) = resumed else { panic!("it ends") };
            assert_eq!(i32s(&values), [expected]);
            assert!(task.is_moribund(&store).unwrap());
            traps(task.resume(&mut store, &[Val::I32(0)]), TrapCode::TaskMoribund);
            check_live(&mut store, 0);
        }
    }
}

#[test]
fn a_task_that_fails_in_the_hands_of_the_host_is_moribund() {
    for (mut store, instance) in all_engines().iter().map(|engine| waiting(engine, TASKS)) {
        for x in [-3, -4, -5, -6] {
            let task: Task = get(&mut store, instance, "new");
            let task = task.typed::<i32, i32>(&store).unwrap();
            assert_eq!(task.resume(&mut store, 9).unwrap(), TaskResumed::Suspended(9));
            let error = task.resume(&mut store, x).unwrap_err();
            match x {
                -3 => {
                    let exception = error.downcast_ref::<Exception>().expect("it was thrown");
                    assert_eq!(i32s(&exception.values(&mut store).unwrap()), [300]);
                    assert_eq!(names(&error), ["body"]);
                }
                -4 => assert_eq!(trap(&error).code(), TrapCode::Unreachable),
                -5 => assert_eq!(trap(&error).code(), TrapCode::UnhandledTag),
                _ => assert_eq!(trap(&error).code(), TrapCode::TaskNotSuspended),
            }
            assert!(task.task().is_moribund(&store).unwrap());
            check_live(&mut store, 0);
        }
    }
}

#[test]
fn stacks_inside_of_a_task_stay_with_it() {
    for (mut store, instance) in all_engines().iter().map(|engine| waiting(engine, TASKS)) {
        let task: Task = get(&mut store, instance, "nested");
        let task = task.typed::<i32, i32>(&store).unwrap();
        for x in 1..4 {
            assert_eq!(task.resume(&mut store, x).unwrap(), TaskResumed::Suspended(2 * x));
            store.gc();
            assert_eq!(frames(&task.task().backtrace(&store).unwrap()), ["deep", "outer"]);
            assert_eq!(number(&mut store, instance, "resume", &[x]).unwrap(), 2 * x);
        }
        assert_eq!(task.resume(&mut store, 0).unwrap(), TaskResumed::Finished(7));
        check_live(&mut store, 0);
    }
}

#[test]
fn a_task_whose_place_another_takes_is_suspended() {
    for (mut store, instance) in all_engines().iter().map(|engine| waiting(engine, TASKS)) {
        let task: Task = get(&mut store, instance, "switching");
        let task = task.typed::<i32, i32>(&store).unwrap();
        assert_eq!(task.resume(&mut store, 1).unwrap(), TaskResumed::Suspended(1001));
        assert_eq!(task.resume(&mut store, 2).unwrap(), TaskResumed::Finished(2));
        check_live(&mut store, 0);
    }
}

#[test]
fn a_task_lasts_as_long_as_references_to_it() {
    for (mut store, instance) in all_engines().iter().map(|engine| waiting(engine, TASKS)) {
        let task: Task = get(&mut store, instance, "new");
        let is_it = instance.get_typed_func::<Task, i32>(&mut store, "is it").unwrap();
        assert_eq!(is_it.call(&mut store, task.clone()).unwrap(), 1);
        let other: Task = get(&mut store, instance, "switching");
        assert_eq!(is_it.call(&mut store, other).unwrap(), 0);
        call(&mut store, instance, "forget", &[]).unwrap();
        check_live(&mut store, 1);
        let reference = task.reference(&mut store).unwrap();
        assert!(Fiber::from_ref(&mut store, reference).is_err());
        task.release(&mut store).unwrap();
        assert!(task.is_moribund(&store).unwrap());
        traps(task.release(&mut store), TrapCode::TaskMoribund);
        // A dropped task is garbage.
        drop(get::<Task>(&mut store, instance, "switching"));
        check_live(&mut store, 0);
    }
}

#[test]
fn a_task_waits_for_host_functions() {
    for (mut store, instance) in all_engines().iter().map(|engine| waiting(engine, TASKS)) {
        let task: Task = get(&mut store, instance, "waiting");
        let (resumed, polls) = count_polls(task.resume_async(&mut store, &[Val::I32(4)]));
        let TaskResumed::Finished(values) = resumed.unwrap() else { panic!("it returns") };
        assert_eq!((i32s(&values), polls), (vec![5], 2));

        let task: Task = get(&mut store, instance, "waiting and suspending");
        let (resumed, _) = count_polls(task.resume_async(&mut store, &[Val::I32(4)]));
        let TaskResumed::Suspended(values) = resumed.unwrap() else { panic!("it suspends") };
        assert_eq!(i32s(&values), [4]);
        assert!(matches!(
            task.resume(&mut store, &[Val::I32(0)]).unwrap(),
            TaskResumed::Finished(_)
        ));

        // A dropped call frees the task.
        let task: Task = get(&mut store, instance, "waiting");
        let resuming = poll_once(pin!(task.resume_async(&mut store, &[Val::I32(4)])));
        assert!(resuming.is_pending());
        assert!(task.is_moribund(&store).unwrap());
        // A synchronous call says that it cannot wait.
        let task: Task = get(&mut store, instance, "waiting");
        fails_because(task.resume(&mut store, &[Val::I32(4)]), "call_async");
        check_live(&mut store, 0);
    }
}

#[test]
fn wrong_arguments_leave_a_task_as_it_was() {
    let (mut store, instance) = waiting(&Engine::default(), TASKS);
    let task: Task = get(&mut store, instance, "new");
    assert!(task.resume(&mut store, &[]).is_err());
    assert!(task.resume(&mut store, &[Val::I64(0)]).is_err());
    let mistyped = message(task.clone().typed::<i64, i32>(&store));
    let [expected, found] = ["[i64] -> [i32]", "[i32] -> [i32]"];
    assert!(mistyped.contains("task") && mistyped.contains(expected), "{mistyped}");
    assert!(mistyped.contains(found), "{mistyped}");
    let mut other = Store::new(store.engine(), ());
    assert!(task.resume(&mut other, &[Val::I32(0)]).is_err());
    assert!(matches!(task.resume(&mut store, &[Val::I32(6)]).unwrap(), TaskResumed::Suspended(_)));
    // A task of an unknown type.
    let untyped = Module::new(
        store.engine(),
        r#"(module (func (export "pass") (param taskref) (result taskref) (local.get 0)))"#,
    );
    let untyped = Instance::new(&mut store, &untyped.unwrap(), &[]).unwrap();
    let passed =
        invoke::<Task, Option<Task>>(&mut store, untyped, "pass", task.clone()).unwrap().unwrap();
    fails_because(passed.resume(&mut store, &[Val::I32(0)]), "known parameters and results");
    passed.release(&mut store).unwrap();
    assert!(task.is_moribund(&store).unwrap());
}

#[test]
fn a_hundred_thousand_tasks_come_and_go_in_bounded_memory() {
    alone(|| {
        let (mut store, instance) = waiting(&Engine::default(), TASKS);
        let before = memory("VmRSS:");
        for _ in 0..100_000 {
            invoke::<(), Task>(&mut store, instance, "waiting", ()).unwrap();
        }
        assert!(memory("VmRSS:") < before + (128 << 10));
    });
}
