//! Tasks that host functions suspend.

use super::*;

const TASKS: &str = r#"(module
    (type $t (task (param i32) (result i32)))
    (type $wide (task (param i32 i64 f64 externref i32) (result i64 i32)))
    (type $f (func (param i32) (result i32))) (type $k (cont $f))
    (type $s (struct (field i32)))
    (import "host" "suspend" (func $suspend (param (ref null $t) i32) (result i32)))
    (import "host" "wide"
      (func $suspend-wide (param (ref null $wide) i64 i32) (result i32 i64 f64 externref i32)))
    (global $outer (mut (ref null $t)) (ref.null $t))
    (global $other (mut (ref null $t)) (ref.null $t))
    (elem declare func $inside)

    ;; Adds what it is resumed with, in an object, until that is zero.
    (func $sum (param $me (ref null $t)) (param $x i32) (result i32) (local $all (ref $s))
      (local.set $all (struct.new $s (i32.const 0)))
      (loop $more
        (local.set $all
          (struct.new $s (i32.add (struct.get $s 0 (local.get $all)) (local.get $x))))
        (local.set $x (call $suspend (local.get $me) (struct.get $s 0 (local.get $all))))
        (br_if $more (local.get $x)))
      (i32.sub (i32.const 0) (struct.get $s 0 (local.get $all))))
    (func (export "sum") (result (ref $t)) (task.new $t $sum))

    ;; The sum of three numbers: the parent is code of the module.
    (func (export "in webassembly") (result i32) (local $task (ref $t))
      (local.set $task (task.new $t $sum))
      (drop (task.resume $t (local.get $task) (i32.const 1)))
      (drop (task.resume $t (local.get $task) (i32.const 20)))
      (drop (task.resume $t (local.get $task) (i32.const 300)))
      (task.resume $t (local.get $task) (i32.const 0)))

    ;; A task in a continuation in a task suspends the outer task.
    (func $inner (param (ref null $t)) (param $x i32) (result i32)
      (i32.add (call $suspend (global.get $outer) (local.get $x))
        (call $suspend (global.get $outer) (i32.const 5))))
    (func $inside (param $x i32) (result i32)
      (task.resume $t (task.new $t $inner) (local.get $x)))
    (func $nested (param $me (ref null $t)) (param $x i32) (result i32)
      (global.set $outer (local.get $me))
      (i32.mul (i32.const 10)
        (resume $k (local.get $x) (cont.new $k (ref.func $inside)))))
    (func (export "nested") (result (ref $t)) (task.new $t $nested))

    (func $widely (param $me (ref null $wide)) (param i32 i64 f64 externref i32) (result i64 i32)
      (call $suspend-wide (local.get $me) (i64.const 7) (i32.const 8))
      (drop) (drop) (drop)
      (i64.add (i64.const 1)) (local.set 2) (local.set 1)
      (local.get 2) (local.get 1))
    (func (export "wide") (result (ref $wide)) (task.new $wide $widely))

    ;; Suspends another task than itself.
    (func $wrong (param (ref null $t)) (param $x i32) (result i32)
      (call $suspend (global.get $other) (local.get $x)))
    (func (export "wrong") (param (ref null $t)) (result (ref $t))
      (global.set $other (local.get 0))
      (task.new $t $wrong))
    (func (export "on the root") (param (ref null $t)) (result i32)
      (call $suspend (local.get 0) (i32.const 1)))

    (func $deep (param $me (ref null $t)) (param $x i32) (result i32)
      (if (i32.eqz (local.get $x))
        (then (return (call $suspend (local.get $me) (i32.const 0)))))
      (i32.add (i32.const 1) (call $deep (local.get $me) (i32.sub (local.get $x) (i32.const 1)))))
    (func (export "deep") (result (ref $t)) (task.new $t $deep)))"#;

fn linker(engine: &Engine) -> Linker<()> {
    let mut linker = Linker::new(engine);
    linker.host("suspend", |task: Option<Task>, x: i32| -> Result<i32> {
        let task = task.ok_or_else(|| Error::msg("null"))?;
        Err(Suspension::of_task(&task, &[x.into()]).into())
    });
    linker.host(
        "wide",
        |task: Option<Task>, x: i64, y: i32| -> Result<(i32, i64, f64, Option<ExternRef>, i32)> {
            Err(Suspension::of_task(&task.unwrap(), &[x.into(), y.into()]).into())
        },
    );
    linker
}

fn setup(engine: &Engine) -> (Store<()>, Instance) {
    link(&linker(engine), (), TASKS)
}

fn make(store: &mut Store<()>, instance: Instance, name: &str) -> TypedTask<i32, i32> {
    get::<Task>(store, instance, name).typed(&*store).unwrap()
}

fn suspended(resumed: Result<TaskResumed<i32>>) -> i32 {
    match resumed.unwrap() {
        TaskResumed::Suspended(value) => value,
        other => panic!("{other:?}"),
    }
}

fn finished(resumed: Result<TaskResumed<i32>>) -> i32 {
    match resumed.unwrap() {
        TaskResumed::Finished(value) => value,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_host_function_suspends_the_task_that_called_it() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        let task = make(&mut store, instance, "sum");
        let mut sum = 0;
        for x in [1, 20, 300] {
            sum += x;
            assert_eq!(suspended(task.resume(&mut store, x)), sum);
            assert!(task.task().is_suspended(&store).unwrap());
            assert_eq!(frames(&task.task().backtrace(&store).unwrap()), ["sum"]);
            disturb(&mut store);
        }
        assert_eq!(finished(task.resume(&mut store, 0)), -321);
        assert_eq!(call_i32(&mut store, instance, "in webassembly"), -321);
        let task = make(&mut store, instance, "sum");
        assert_eq!(suspended(task.resume(&mut store, 1)), 1);
        task.task().release(&mut store).unwrap();
        check_live(&mut store, 0);
    }
}

#[test]
fn an_ancestor_is_suspended_with_everything_inside() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        let task = make(&mut store, instance, "nested");
        assert_eq!(suspended(task.resume(&mut store, 3)), 3);
        disturb(&mut store);
        assert_eq!(suspended(task.resume(&mut store, 30)), 5);
        disturb(&mut store);
        assert_eq!(finished(task.resume(&mut store, 4)), 340);
        // A task that is dropped in the middle is freed with the stacks inside.
        let task = make(&mut store, instance, "nested");
        assert_eq!(suspended(task.resume(&mut store, 3)), 3);
        assert_eq!(store.stack_statistics().live, 3);
        task.task().release(&mut store).unwrap();
        check_live(&mut store, 0);
    }
}

#[test]
fn values_that_are_not_in_registers_arrive() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        let task: Task = get(&mut store, instance, "wide");
        let object = ExternRef::new(&mut store, "an object").unwrap();
        let values = |x: i32, y: i64| {
            [x.into(), y.into(), Val::F64(1), Val::ExternRef(Some(object)), Val::I32(9)]
        };
        let TaskResumed::Suspended(given) = task.resume(&mut store, &values(1, 2)).unwrap() else {
            panic!("it suspends")
        };
        assert_eq!((given[0].i64(), given[1].i32()), (Some(7), Some(8)));
        disturb(&mut store);
        let TaskResumed::Finished(given) = task.resume(&mut store, &values(30, 40)).unwrap() else {
            panic!("it returns")
        };
        assert_eq!((given[0].i64(), given[1].i32()), (Some(41), Some(30)));
    }
}

#[test]
fn a_task_that_does_not_run_is_refused() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        let other: Task = get(&mut store, instance, "sum");
        let wrong = |store: &mut Store<()>, other: &Task| {
            let other = other.reference(&mut *store).unwrap();
            let wrong = instance.get_func(&mut *store, "wrong").unwrap();
            let mut made = [Val::ContRef(None)];
            wrong.call(&mut *store, &[Val::ContRef(Some(other))], &mut made).unwrap();
            let [Val::ContRef(Some(made))] = made else { unreachable!() };
            let task = Task::from_ref(&mut *store, made).unwrap();
            task.resume(store, &[Val::I32(1)])
        };
        traps(wrong(&mut store, &other), TrapCode::TaskNotRunning);
        other.resume(&mut store, &[Val::I32(1)]).unwrap();
        traps(wrong(&mut store, &other), TrapCode::TaskNotRunning);
        assert!(other.is_suspended(&store).unwrap());
        other.release(&mut store).unwrap();
        traps(wrong(&mut store, &other), TrapCode::TaskMoribund);
        let other: Task = get(&mut store, instance, "sum");
        let on_root =
            invoke::<Option<Task>, i32>(&mut store, instance, "on the root", Some(other.clone()));
        traps(on_root, TrapCode::TaskNotRunning);
        fails_with(invoke::<Option<Task>, i32>(&mut store, instance, "on the root", None), "null");
        other.release(&mut store).unwrap();
        check_live(&mut store, 0);
    }
}

#[test]
fn a_task_of_an_outer_activation_is_refused() {
    let text = r#"(module
        (type $t (task (param i32) (result i32)))
        (import "host" "again" (func $again (param (ref null $t) i32) (result i32)))
        (func (export "suspends") (param (ref null $t)) (param i32) (result i32)
          (call $again (local.get 0) (i32.const 0)))
        (func $body (param $me (ref null $t)) (param i32) (result i32)
          (call $again (local.get $me) (i32.const 1)))
        (func (export "new") (result (ref $t)) (task.new $t $body)))"#;
    for engine in traced_too() {
        let mut linker = Linker::new(&engine);
        linker.host(
            "again",
            |mut caller: Caller<'_, ()>, task: Option<Task>, depth: i32| -> Result<i32> {
                let task = task.unwrap();
                if depth == 0 {
                    return Err(Suspension::of_task(&task, &[Val::I32(1)]).into());
                }
                let suspends = caller.get_export("suspends").unwrap().into_func().unwrap();
                let suspends = suspends.typed::<(Option<Task>, i32), i32>(&caller)?;
                suspends.call(&mut caller, (Some(task), 0))
            },
        );
        let (mut store, instance) = link(&linker, (), text);
        let task: Task = get(&mut store, instance, "new");
        traps(task.resume(&mut store, &[Val::I32(0)]), TrapCode::TaskNotRunning);
        check_live(&mut store, 0);
    }
}

#[test]
fn values_of_other_types_are_refused() {
    let text = r#"(module
        (type $t (task (param i32) (result i32)))
        (import "host" "results" (func $results (param taskref (ref null $t)) (result i64)))
        (import "host" "values" (func $values (param (ref null $t)) (result i32)))
        (import "host" "unknown" (func $unknown (param taskref) (result i32)))
        (func $body (param $me (ref null $t)) (param $way i32) (result i32)
          (if (i32.eq (local.get $way) (i32.const 1))
            (then (drop (call $results (local.get $me) (local.get $me)))))
          (if (i32.eq (local.get $way) (i32.const 2))
            (then (return (call $values (local.get $me)))))
          (call $unknown (local.get $me)))
        (func (export "new") (result (ref $t)) (task.new $t $body)))"#;
    for engine in traced_too() {
        let mut linker = Linker::new(&engine);
        linker.host("results", |_: Option<Task>, task: Option<Task>| -> Result<i64> {
            Err(Suspension::of_task(&task.unwrap(), &[Val::I32(1)]).into())
        });
        linker.host("values", |task: Option<Task>| -> Result<i32> {
            Err(Suspension::of_task(&task.unwrap(), &[Val::I64(1)]).into())
        });
        linker.host("unknown", |task: Option<Task>| -> Result<i32> {
            Err(Suspension::of_task(&task.unwrap(), &[Val::I32(1)]).into())
        });
        let (mut store, instance) = link(&linker, (), text);
        for (way, part) in [
            (1, "cannot suspend with the task: the values that it is resumed with would be"),
            (2, "in the values of a suspension"),
            (3, "expected a continuation of a type with known parameters and results"),
        ] {
            let task: Task = get(&mut store, instance, "new");
            fails_because(task.resume(&mut store, &[Val::I32(way)]), part);
            assert!(task.is_moribund(&store).unwrap());
        }
        check_live(&mut store, 0);
    }
}

#[test]
fn a_task_that_has_grown_is_suspended_at_any_depth() {
    for (mut store, instance) in traced_too().iter().map(setup) {
        for depth in [10, 1000, 5000] {
            let task = make(&mut store, instance, "deep");
            assert_eq!(suspended(task.resume(&mut store, depth)), 0);
            disturb(&mut store);
            assert_eq!(finished(task.resume(&mut store, 7)), depth + 7);
        }
        check_live(&mut store, 0);
    }
}

#[test]
fn an_async_host_function_suspends_a_task_after_it_has_waited() {
    for engine in traced_too() {
        let mut linker = linker(&engine);
        linker.allow_shadowing(true);
        linker.host_async("suspend", |_: Caller<'_, ()>, (task, x): (Option<Task>, i32)| {
            Box::new(async move {
                After(2).await;
                Result::<i32>::Err(Suspension::of_task(&task.unwrap(), &[x.into()]).into())
            })
        });
        let (mut store, instance) = link(&linker, (), TASKS);
        for name in ["sum", "nested"] {
            let task = make(&mut store, instance, name);
            let first = suspended(block_on(task.resume_async(&mut store, 6)));
            assert_eq!(first, 6);
            disturb(&mut store);
            let second = suspended(block_on(task.resume_async(&mut store, 5)));
            assert_eq!(second, if name == "sum" { 11 } else { 5 });
            disturb(&mut store);
            let last = finished(block_on(task.resume_async(&mut store, 0)));
            assert_eq!(last, if name == "sum" { -11 } else { 50 });
        }
        check_live(&mut store, 0);
    }
}
