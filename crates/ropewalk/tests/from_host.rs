//! Tasks, fibers and stacks that the host continues.

mod common;
use common::*;
use ropewalk::*;
use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

fn all_engines() -> Vec<Engine> {
    let mut all = engines();
    all.push(engine(CHECK));
    all.extend(few_generations(0));
    all.extend(few_generations(1));
    all
}

fn i32s(values: &[Val]) -> Vec<i32> {
    values.iter().map(|value| value.i32().expect("an i32")).collect()
}

fn get<R: WasmResults>(store: &mut Store<()>, instance: Instance, name: &str) -> R {
    let func = instance.get_typed_func::<(), R>(&mut *store, name).unwrap();
    func.call(store, ()).unwrap()
}

fn tag(store: &mut Store<()>, instance: Instance, name: &str) -> Tag {
    instance.get_tag(store, name).expect("exported")
}

/// Nothing is left but what the instance has.
fn check_live(store: &mut Store<()>, live: usize) {
    store.gc();
    assert_eq!(store.stack_statistics().live, live);
}

/// Polls a future until it is ready; returns how often it was not.
fn wait<R>(future: impl Future<Output = R>) -> (R, usize) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for polled in 0..1000 {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return (result, polled);
        }
    }
    panic!("it is never ready");
}

/// Is ready when it is polled again.
struct Again(bool);

impl Future for Again {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match std::mem::replace(&mut self.0, true) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        }
    }
}

/// An instance whose host function waits once, and returns what it gets.
fn waiting(engine: &Engine, text: &str) -> (Store<()>, Instance) {
    let module = Module::new(engine, text).unwrap();
    let mut linker = Linker::new(engine);
    linker
        .func_wrap_async("host", "wait", |_: Caller<'_, ()>, (x,): (i32,)| {
            Box::new(async move {
                Again(false).await;
                x
            })
        })
        .unwrap();
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, &module).unwrap();
    (store, instance)
}

// ---- tasks

const TASKS: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (type $t (task (param i32) (result i32)))
    (type $s (struct (field i32)))
    (type $deep (func (param i32) (result i32)))
    (type $k (cont $deep))
    (tag $wrong (export "wrong") (param i32))
    (tag $ask)
    (elem declare func $deep)
    (global $task (mut (ref null $t)) (ref.null $t))

    ;; Gives the sum of what it was resumed with, which lies in an object, until that is
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
        (local.set $sum
          (struct.new $s (i32.add (struct.get $s 0 (local.get $sum)) (local.get $x))))
        (local.set $x
          (task.suspend $t (local.get $me) (struct.get $s 0 (local.get $sum))))
        (br $more))
      (unreachable))
    (func (export "new") (result (ref $t)) (global.set $task (task.new $t $body))
      (ref.as_non_null (global.get $task)))
    (func (export "forget") (global.set $task (ref.null $t)))
    (func (export "resume") (param i32) (result i32)
      (task.resume $t (global.get $task) (local.get 0)))
    (func (export "is it") (param taskref) (result i32)
      (task.eq (local.get 0) (global.get $task)))

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
    for engine in all_engines() {
        let (mut store, instance) = waiting(&engine, TASKS);
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
                // WebAssembly names the same task.
                let sum = number(&mut store, instance, "resume", &[0]).unwrap();
                assert_eq!(i32s(&values), [sum]);
            }
            let resumed = task.resume(&mut store, &[Val::I32(last)]).unwrap();
            let TaskResumed::Finished(values) = resumed else { panic!("it ends") };
            assert_eq!(i32s(&values), [expected]);
            assert!(task.is_moribund(&store).unwrap());
            let resumed = task.resume(&mut store, &[Val::I32(0)]);
            assert_eq!(code(resumed), TrapCode::TaskMoribund);
            check_live(&mut store, 0);
        }
    }
}

#[test]
fn a_task_that_fails_in_the_hands_of_the_host_is_moribund() {
    for engine in all_engines() {
        let (mut store, instance) = waiting(&engine, TASKS);
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
fn what_is_inside_of_a_task_goes_along() {
    for engine in all_engines() {
        let (mut store, instance) = waiting(&engine, TASKS);
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
    for engine in all_engines() {
        let (mut store, instance) = waiting(&engine, TASKS);
        let task: Task = get(&mut store, instance, "switching");
        let task = task.typed::<i32, i32>(&store).unwrap();
        assert_eq!(task.resume(&mut store, 1).unwrap(), TaskResumed::Suspended(1001));
        assert_eq!(task.resume(&mut store, 2).unwrap(), TaskResumed::Finished(2));
        check_live(&mut store, 0);
    }
}

#[test]
fn a_task_lasts_as_long_as_somebody_names_it() {
    for engine in all_engines() {
        let (mut store, instance) = waiting(&engine, TASKS);
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
        assert_eq!(code(task.release(&mut store)), TrapCode::TaskMoribund);
        // Dropped, it is garbage.
        drop(get::<Task>(&mut store, instance, "switching"));
        check_live(&mut store, 0);
    }
}

#[test]
fn a_task_waits_for_host_functions() {
    for engine in all_engines() {
        let (mut store, instance) = waiting(&engine, TASKS);
        let task: Task = get(&mut store, instance, "waiting");
        let (resumed, polled) = wait(task.resume_async(&mut store, &[Val::I32(4)]));
        let TaskResumed::Finished(values) = resumed.unwrap() else { panic!("it returns") };
        assert_eq!((i32s(&values), polled), (vec![5], 1));

        let task: Task = get(&mut store, instance, "waiting and suspending");
        let (resumed, _) = wait(task.resume_async(&mut store, &[Val::I32(4)]));
        let TaskResumed::Suspended(values) = resumed.unwrap() else { panic!("it suspends") };
        assert_eq!(i32s(&values), [4]);
        assert!(matches!(
            task.resume(&mut store, &[Val::I32(0)]).unwrap(),
            TaskResumed::Finished(_)
        ));

        // A call that is given up takes the task along.
        let task: Task = get(&mut store, instance, "waiting");
        {
            let arguments = [Val::I32(4)];
            let mut resuming = pin!(task.resume_async(&mut store, &arguments));
            let mut context = Context::from_waker(Waker::noop());
            assert!(resuming.as_mut().poll(&mut context).is_pending());
        }
        assert!(task.is_moribund(&store).unwrap());
        // Whoever cannot wait says so.
        let task: Task = get(&mut store, instance, "waiting");
        let refused = message(task.resume(&mut store, &[Val::I32(4)]));
        assert!(refused.contains("call_async"), "{refused}");
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
    // One of which nothing but that it is a task is known.
    let untyped = Module::new(
        store.engine(),
        r#"(module (func (export "pass") (param taskref) (result taskref) (local.get 0)))"#,
    );
    let untyped = Instance::new(&mut store, &untyped.unwrap(), &[]).unwrap();
    let pass = untyped.get_typed_func::<Task, Option<Task>>(&mut store, "pass").unwrap();
    let passed = pass.call(&mut store, task.clone()).unwrap().unwrap();
    assert!(message(passed.resume(&mut store, &[Val::I32(0)])).contains("what it takes"));
    passed.release(&mut store).unwrap();
    assert!(task.is_moribund(&store).unwrap());
}

#[test]
fn a_hundred_thousand_tasks_come_and_go_in_bounded_memory() {
    let (mut store, instance) = waiting(&Engine::default(), TASKS);
    let new = instance.get_typed_func::<(), Task>(&mut store, "waiting").unwrap();
    let before = memory("VmRSS:");
    for _ in 0..100_000 {
        new.call(&mut store, ()).unwrap();
    }
    assert!(memory("VmRSS:") < before + (128 << 10));
}

// ---- fibers

const FIBERS: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (tag $go (export "go") (param i32))
    (tag $stop (export "stop"))
    (tag $fail (export "fail"))
    (tag $cheap (export "cheap") (param i64))
    (tag $sum (export "sum") (param i32))
    (tag $end (export "end") (param i32 i32))
    (global $fiber (mut fiberref) (ref.null fiber))
    ;; Tries a cheap event before a general one.
    (func $run (param $me fiberref) (param $x i32) (result i32 i32) (local $all i32)
      (loop $more
        (local.set $all (i32.add (local.get $all) (call $wait (local.get $x))))
        (block $went (result i32)
          (block $stopped
            (block $failed
              (fiber.dismount $cheap (on $go $went) (on $stop $stopped) (on $fail $failed)
                (i64.extend_i32_s (local.get $all)) (local.get $me))
              (fiber.dismount $sum (on $go $went) (on $stop $stopped) (on $fail $failed)
                (local.get $all) (local.get $me))
              (unreachable))
            (throw $go (i32.const 77)))
          (return (local.get $all) (i32.const 1)))
        (local.set $x)
        (br $more))
      (unreachable))
    (func (export "new") (result fiberref)
      (global.set $fiber (fiber.new $end (on $go $run)))
      (global.get $fiber))
    (func (export "forget") (global.set $fiber (ref.null fiber)))
    ;; The fiber switches to another one, which dismounts in its place.
    (func $other (param $me fiberref) (param $x i32)
      (fiber.dismount $sum (i32.add (local.get $x) (i32.const 50)) (local.get $me)))
    (func $switches (param $me fiberref) (param $x i32)
      (fiber.switch $go (local.get $x) (local.get $me) (fiber.new (on $go $other))))
    (func (export "switching") (result fiberref) (fiber.new (on $go $switches))))"#;

/// The event that came back.
fn event(mounted: Result<Mounted>) -> (Tag, Vec<Val>) {
    match mounted.unwrap() {
        Mounted::Event { tag, values } => (tag, values),
        Mounted::NotHandled => panic!("it is handled"),
    }
}

#[test]
fn the_host_mounts_a_fiber_with_events() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, FIBERS);
        let [go, stop, cheap, sum, end] =
            ["go", "stop", "cheap", "sum", "end"].map(|name| tag(&mut store, instance, name));
        let fiber: Option<Fiber> = get(&mut store, instance, "new");
        let fiber = fiber.unwrap();
        let refused = fiber.mount(&mut store, stop, &[], &[sum]).unwrap();
        assert!(matches!(refused, Mounted::NotHandled));
        // The host expects both, or only the second.
        let (came, values) = event(fiber.mount(&mut store, go, &[Val::I32(3)], &[end, cheap, sum]));
        assert_eq!((came, values[0].i64()), (cheap, Some(3)));
        let (came, values) = event(fiber.mount(&mut store, go, &[Val::I32(4)], &[end, sum]));
        assert_eq!((came, i32s(&values)), (sum, vec![7]));
        store.gc();
        assert_eq!(frames(&fiber.backtrace(&store).unwrap()), ["run"]);
        let (came, values) = event(fiber.mount(&mut store, stop, &[], &[end]));
        assert_eq!((came, i32s(&values)), (end, vec![7, 1]));
        assert!(fiber.is_moribund(&store).unwrap());
        let moribund = fiber.mount(&mut store, go, &[Val::I32(0)], &[]);
        assert_eq!(code(moribund), TrapCode::FiberMoribund);
        check_live(&mut store, 0);
    }
}

/// As [`waiting`], but what it waits for is there.
fn with_ready(engine: &Engine, text: &str) -> (Store<()>, Instance) {
    let module = Module::new(engine, text).unwrap();
    let mut linker = Linker::new(engine);
    linker.func_wrap("host", "wait", |x: i32| x).unwrap();
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, &module).unwrap();
    (store, instance)
}

#[test]
fn a_fiber_that_fails_in_the_hands_of_the_host_is_moribund() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, FIBERS);
        let [go, stop, fail, sum] =
            ["go", "stop", "fail", "sum"].map(|name| tag(&mut store, instance, name));
        for (event, expected) in [(stop, Some(TrapCode::UnhandledReturn)), (fail, None)] {
            let fiber: Option<Fiber> = get(&mut store, instance, "new");
            let fiber = fiber.unwrap();
            fiber.mount(&mut store, go, &[Val::I32(3)], &[sum]).unwrap();
            let error = fiber.mount(&mut store, event, &[], &[sum]).unwrap_err();
            match expected {
                Some(code) => assert_eq!(trap(&error).code(), code),
                None => {
                    let exception = error.downcast_ref::<Exception>().expect("it was thrown");
                    assert_eq!(exception.tag(&mut store).unwrap(), go);
                }
            }
            assert!(fiber.is_moribund(&store).unwrap());
        }
        // Nothing that it may dismount with is expected, so it goes on.
        let fiber: Option<Fiber> = get(&mut store, instance, "new");
        let mounted = fiber.unwrap().mount(&mut store, go, &[Val::I32(3)], &[]);
        assert_eq!(code(mounted), TrapCode::Unreachable);
        call(&mut store, instance, "forget", &[]).unwrap();
        check_live(&mut store, 0);
    }
}

#[test]
fn a_fiber_that_takes_the_place_of_another_dismounts_to_the_host() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, FIBERS);
        let [go, sum] = ["go", "sum"].map(|name| tag(&mut store, instance, name));
        let fiber: Option<Fiber> = get(&mut store, instance, "switching");
        let fiber = fiber.unwrap();
        let (came, values) = event(fiber.mount(&mut store, go, &[Val::I32(3)], &[sum]));
        assert_eq!((came, i32s(&values)), (sum, vec![53]));
        assert!(fiber.is_suspended(&store).unwrap());
        fiber.release(&mut store).unwrap();
        check_live(&mut store, 0);
    }
}

#[test]
fn a_fiber_waits_for_host_functions() {
    for engine in all_engines() {
        let (mut store, instance) = waiting(&engine, FIBERS);
        let [go, sum] = ["go", "sum"].map(|name| tag(&mut store, instance, name));
        let fiber: Option<Fiber> = get(&mut store, instance, "new");
        let fiber = fiber.unwrap();
        for (x, all) in [(3, 3), (5, 8)] {
            let (mounted, polled) = wait(fiber.mount_async(&mut store, go, &[Val::I32(x)], &[sum]));
            let (came, values) = event(mounted);
            assert_eq!((came, i32s(&values), polled), (sum, vec![all], 1));
        }
    }
}

#[test]
fn an_event_of_the_wrong_shape_is_refused() {
    let (mut store, instance) = with_ready(&Engine::default(), FIBERS);
    let [go, sum] = ["go", "sum"].map(|name| tag(&mut store, instance, name));
    let fiber: Option<Fiber> = get(&mut store, instance, "new");
    let fiber = fiber.unwrap();
    assert!(fiber.mount(&mut store, go, &[], &[sum]).is_err());
    assert!(fiber.mount(&mut store, go, &[Val::F32(0)], &[sum]).is_err());
    let suspends = Tag::new(&mut store, TagType { ty: FuncType::new([], [ValType::I32]) }).unwrap();
    let refused = message(fiber.mount(&mut store, suspends, &[], &[sum]));
    assert!(refused.contains("the tag of an event has no results"), "{refused}");
    let mut other = Store::new(store.engine(), ());
    let foreign = Tag::with_params(&mut other, []).unwrap();
    assert!(fiber.mount(&mut store, foreign, &[], &[sum]).is_err());
    assert!(fiber.mount(&mut store, go, &[Val::I32(1)], &[foreign]).is_err());
    assert!(matches!(
        fiber.mount(&mut store, go, &[Val::I32(1)], &[sum]).unwrap(),
        Mounted::Event { .. }
    ));
}

// ---- bag of stacks

const BAG: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (rec
      (type $ping (stack (param i32) (param i32) (ref null $pong)))
      (type $pong (stack (param i64) (ref null $ping))))
    (type $bound (stack (param i32) (ref null $pong)))
    (type $s (struct (field i32)))
    (tag $thrown (export "thrown") (param i32 (ref null $ping)))
    (tag $there (param i32 (ref null $pong)))
    (global $kept (mut (ref null $pong)) (ref.null $pong))
    (global $other (mut (ref null $ping)) (ref.null $ping))

    ;; Sends the sum of its values and of an object; with -1 it retires, with -2 it throws
    ;; to whoever switched here, with -3 it traps, with -4 it returns.
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
        (local.set $back) (local.set $y) (local.set $x)
        (br $more)))
    (func (export "new") (result (ref $ping)) (stack.new $ping $body))
    (func (export "bound") (result (ref $bound))
      (stack.bind $ping $bound (i32.const 40) (stack.new $ping $body)))

    ;; The host's stack is kept, and another one switches there.
    (func $second (param i32) (param i32) (param (ref null $pong))
      (switch_retire $pong (i64.const 99) (global.get $kept)))
    (func $first (param $x i32) (param $y i32) (param $back (ref null $pong))
      (global.set $kept (local.get $back))
      (switch $ping (local.get $x) (local.get $y) (stack.new $ping $second))
      (unreachable))
    (func (export "by way of another") (result (ref $ping)) (stack.new $ping $first))
    ;; The host's stack is kept beyond the call of the host.
    (func $keeps (param $x i32) (param $y i32) (param $back (ref null $pong))
      (global.set $kept (local.get $back))
      (unreachable))
    (func (export "keeps") (result (ref $ping)) (stack.new $ping $keeps))
    (func (export "to the kept one")
      (switch $pong (i64.const 0) (global.get $kept))
      (drop) (drop) (drop)))"#;

/// What came back: the number, and the stack.
fn back(switched: Result<Switched>) -> (i64, Option<BagStack>) {
    let Switched { values, from } = switched.unwrap();
    assert_eq!(values.len(), 1);
    (values[0].i64().expect("an i64"), from)
}

#[test]
fn the_host_switches_to_a_stack_and_is_switched_to() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, BAG);
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
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, BAG);
        let stack: BagStack = get(&mut store, instance, "bound");
        let (came, from) = back(stack.switch(&mut store, &[Val::I32(2)]));
        assert_eq!(came, 42);
        from.unwrap().free(&mut store).unwrap();
        assert_eq!(store.stack_statistics().live, 0);
    }
}

#[test]
fn a_stack_may_throw_trap_and_return_in_the_hands_of_the_host() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, BAG);
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
fn whoever_has_the_hosts_stack_switches_there() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, BAG);
        let stack: BagStack = get(&mut store, instance, "by way of another");
        let (came, from) = back(stack.switch(&mut store, &[Val::I32(0), Val::I32(0)]));
        assert!(came == 99 && from.is_none());
        check_live(&mut store, 0);
        // After the call that reference is used up.
        let stack: BagStack = get(&mut store, instance, "keeps");
        let kept = stack.switch(&mut store, &[Val::I32(0), Val::I32(0)]);
        assert_eq!(code(kept), TrapCode::Unreachable);
        let late = call(&mut store, instance, "to the kept one", &[]);
        assert_eq!(code(late), TrapCode::StackUsed);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_stack_waits_for_host_functions() {
    for engine in all_engines() {
        let (mut store, instance) = waiting(&engine, BAG);
        let mut stack: BagStack = get(&mut store, instance, "new");
        for (x, all) in [(3, 3), (5, 8)] {
            let values = [Val::I32(x), Val::I32(0)];
            let (switched, polled) = wait(stack.switch_async(&mut store, &values));
            let (came, from) = back(switched);
            assert_eq!((came, polled), (all, 1));
            stack = from.unwrap();
        }
        drop(stack);
        assert_eq!(store.stack_statistics().live, 0);
        check_live(&mut store, 0);
    }
}

#[test]
fn a_stack_that_the_host_has_is_nobody_elses() {
    for engine in all_engines() {
        let (mut store, instance) = with_ready(&engine, BAG);
        let new = instance.get_typed_func::<(), ContRef>(&mut store, "new").unwrap();
        let reference = new.call(&mut store, ()).unwrap();
        let stack = BagStack::from_ref(&mut store, reference).unwrap();
        assert!(!reference.is_suspended(&store).unwrap());
        let second = BagStack::from_ref(&mut store, reference);
        assert_eq!(code(second), TrapCode::StackUsed);
        store.gc();
        let reference = stack.into_ref(&mut store).unwrap();
        assert!(reference.is_suspended(&store).unwrap());
        let stack = BagStack::from_ref(&mut store, reference).unwrap();
        assert!(stack.switch(&mut store, &[Val::I32(0)]).is_err());
        check_live(&mut store, 0);
        let reference = new.call(&mut store, ()).unwrap();
        let other = FirstClassStack::from_ref(&mut store, reference);
        assert_eq!(code(other), TrapCode::OtherDesign);
    }
}

// ---- first-class stacks

const FIRST_CLASS: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (import "host" "new_stack" (func $new-stack (result stackref)))
    (event $ask (export "ask") (param i32 stackref))
    (event $told (export "told") (param i32 stackref))
    (event $last (export "last") (param i32))
    (event $other (export "other") (param stackref))
    ;; Tells twice what it is asked; with -1 it sends its last word and is freed, with -2 it
    ;; traps, with -3 it runs a function on top of the host's stack, with -4 an exception is
    ;; thrown there.
    (func $on-top (param $x i32) (param $from stackref) (result i32 stackref)
      (i32.add (call $wait (local.get $x)) (i32.const 500)) (local.get_clear $from))
    (func $throws (param $x i32) (param $from stackref) (result i32 stackref)
      (throw $last (i32.const 600)))
    (rout $body (local $back stackref) (local $x i32)
      (block $asked (result i32 stackref)
        (try (stack.start) catch $ask $asked)
        (unreachable))
      (local.set_cleared $back)
      (local.set $x)
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
        (local.set_cleared $back)
        (local.set $x)
        (br $more)))
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
        // The function owned the sender, and was left.
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
        let trapped = stack.unwrap().switch(&mut store, ask, &[Val::I32(-2)]);
        assert_eq!(code(trapped), TrapCode::Unreachable);
        let stack: Option<FirstClassStack> = get(&mut store, instance, "new");
        let uncaught = stack.unwrap().switch(&mut store, other, &[]);
        assert_eq!(code(uncaught), TrapCode::UncaughtOnStack);
        let blank = FirstClassStack::new(&mut store, None).unwrap();
        let ground = blank.switch(&mut store, other, &[]);
        assert_eq!(code(ground), TrapCode::EventReachedGround);
        // An event without the host's stack is not one that it can send.
        let stack: Option<FirstClassStack> = get(&mut store, instance, "new");
        let refused = message(stack.unwrap().switch(&mut store, last, &[Val::I32(1)]));
        assert!(refused.contains("whose last value is a stack"), "{refused}");
        check_live(&mut store, 0);
    }
}

#[test]
fn a_first_class_stack_waits_for_host_functions() {
    for engine in all_engines() {
        let (mut store, instance) = waiting(&engine, FIRST_CLASS);
        let [ask, told] = ["ask", "told"].map(|name| tag(&mut store, instance, name));
        let stack: Option<FirstClassStack> = get(&mut store, instance, "new");
        let mut stack = stack.unwrap();
        for (x, expected) in [(1, 2), (-3, 505), (4, 8)] {
            let values = [Val::I32(x)];
            let (arrived, polled) = wait(stack.switch_async(&mut store, ask, &values));
            let arrived = arrived.unwrap();
            assert_eq!((arrived.tag, i32s(&arrived.values)), (told, vec![expected]));
            assert_eq!(polled, 1);
            stack = arrived.from.expect("the sender is suspended");
        }
        stack.free(&mut store).unwrap();
        assert_eq!(store.stack_statistics().live, 0);
    }
}

// ---- all of them

/// A stack of each design whose computation calls the host, which continues another one,
/// and so on: each is in an activation of its own.
#[test]
fn the_host_continues_stacks_of_all_designs_inside_of_each_other() {
    const NESTED: &str = r#"(module
        (import "host" "f" (func $host (param i32) (result i32)))
        (import "host" "new_stack" (func $new-stack (result stackref)))
        (type $t (task (param i32) (result i32)))
        (type $b (stack (param i32) (ref null $b)))
        (tag $go (export "go") (param i32))
        (tag $end (export "end") (param i32))
        (event $ask (export "ask") (param i32 stackref))
        (event $told (export "told") (param i32 stackref))
        (func $task (param (ref null $t)) (param $x i32) (result i32) (call $host (local.get $x)))
        (func (export "task") (result (ref $t)) (task.new $t $task))
        (func $fiber (param fiberref) (param $x i32) (result i32) (call $host (local.get $x)))
        (func (export "fiber") (result fiberref) (fiber.new $end (on $go $fiber)))
        (func $bag (param $x i32) (param $back (ref null $b))
          (switch_retire $b (call $host (local.get $x)) (local.get $back)))
        (func (export "bag") (result (ref $b)) (stack.new $b $bag))
        (rout $body (local $back stackref)
          (block $asked (result i32 stackref)
            (try (stack.start) catch $ask $asked)
            (unreachable))
          (local.set_cleared $back)
          (call $host)
          (stack.switch $told (local.get_clear $back)))
        (func (export "first-class") (result stackref)
          (stack.extend $body (call $new-stack))))"#;
    fn export<R: WasmResults>(caller: &mut Caller<'_, ()>, name: &str) -> R {
        let func = caller.get_export(name).and_then(Extern::into_func).unwrap();
        func.typed::<(), R>(&*caller).unwrap().call(caller, ()).unwrap()
    }
    fn event(caller: &mut Caller<'_, ()>, name: &str) -> Tag {
        caller.get_export(name).and_then(Extern::into_tag).unwrap()
    }
    for engine in all_engines() {
        let func = |mut caller: Caller<'_, ()>, x: i32| -> Result<i32> {
            let (deeper, caller) = ([Val::I32(x - 1)], &mut caller);
            let values = match x % 4 {
                _ if x == 0 => return Ok(1),
                0 => {
                    let task: Task = export(caller, "task");
                    match task.resume(&mut *caller, &deeper)? {
                        TaskResumed::Finished(values) => values,
                        other => panic!("{other:?}"),
                    }
                }
                1 => {
                    let fiber: Option<Fiber> = export(caller, "fiber");
                    let [go, end] = ["go", "end"].map(|name| event(caller, name));
                    match fiber.unwrap().mount(&mut *caller, go, &deeper, &[end])? {
                        Mounted::Event { values, .. } => values,
                        other => panic!("{other:?}"),
                    }
                }
                2 => export::<BagStack>(caller, "bag").switch(&mut *caller, &deeper)?.values,
                _ => {
                    let stack: Option<FirstClassStack> = export(caller, "first-class");
                    let ask = event(caller, "ask");
                    stack.unwrap().switch(&mut *caller, ask, &deeper)?.values
                }
            };
            Ok(values[0].i32().expect("an i32") + 1)
        };
        let (mut store, instance) = with_host(&engine, NESTED, func);
        let task: Task = get(&mut store, instance, "task");
        let resumed = task.resume(&mut store, &[Val::I32(20)]).unwrap();
        assert!(matches!(resumed, TaskResumed::Finished(values) if i32s(&values) == [21]));
        check_live(&mut store, 0);
    }
}
