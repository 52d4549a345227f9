//! Async host functions that return boxed futures, and the calls that await them.
//!
//! Futures are ready at once, later or never. They end with errors, panics, traps and exceptions.
//! Calls are dropped in every state and nested, on stacks of every design.

use crate::common::*;
use ropewalk::*;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Waker};

/// Polls a future once, when it is not ready, and drops it.
#[track_caller]
fn poll_and_drop<R>(future: impl Future<Output = R>) {
    let mut future = Box::pin(future);
    assert!(poll_once(future.as_mut()).is_pending());
}

const MODULE: &str = r#"(module
    (import "host" "wait" (func $wait (param i32 i32) (result i32)))
    (import "host" "wait many" (func $many
      (param i32 i64 f32 f64 i32 v128) (result i32 i64 f32 f64 i32 v128)))
    (import "host" "new_stack" (func $new-stack (result stackref)))
    (type $s (struct (field i32))) (type $f (func (param i32) (result i32))) (type $k (cont $f))
    (type $t (task (param i32) (result i32))) (type $end (stack (ref null $end)))
    (type $back (stack (param i32) (ref null $end))) (type $c (stack (param i32) (ref null $back)))
    (tag $go (param i32)) (tag $done (param i32)) (tag $yield (export "yield") (result i32))
    (tag $error (export "error") (param i32)) (event $answer (param i32)) (elem declare func $work)

    ;; Waits twice, with an object in a local.
    (func $work (export "on the root") (param $n i32) (result i32) (local $mine (ref null $s))
      (local.set $mine (struct.new $s (i32.const 1)))
      (i32.add
        (i32.add (call $wait (local.get $n) (i32.const 10)) (call $wait (local.get $n) (i32.const 20)))
        (struct.get $s 0 (local.get $mine))))
    (func (export "on a continuation") (param i32) (result i32)
      (resume $k (local.get 0) (cont.new $k (ref.func $work))))
    (func $in-task (param $me (ref null $t)) (param i32) (result i32) (call $work (local.get 1)))
    (func (export "on a task") (param i32) (result i32)
      (task.resume $t (task.new $t $in-task) (local.get 0)))
    (func $in-fiber (param $me fiberref) (param i32) (result i32) (call $work (local.get 1)))
    (func (export "on a fiber") (param i32) (result i32)
      (block $done (result i32)
        (fiber.mount $go (on $done $done) (local.get 0) (fiber.new $done (on $go $in-fiber)))
        (unreachable)))
    (func $in-coroutine (param i32) (param $back (ref null $back))
      (switch_retire $back (call $work (local.get 0)) (local.get $back)))
    (func (export "on a coroutine") (param i32) (result i32)
      (switch $c (local.get 0) (stack.new $c $in-coroutine)) (drop))
    (func $in-stack (param $i i32) (param $back stackref)
      (stack.switch_drop $answer (call $work (local.get $i)) (local.get_clear $back)))
    (func (export "on a first-class stack") (param i32) (result i32)
      (block $h (result i32)
        (try (stack.switch_call $in-stack (local.get 0) (call $new-stack)) catch $answer $h)
        (unreachable)))

    (func (export "many") (param i32 i64 f32 f64 i32 v128) (result i32 i64 f32 f64 i32 v128)
      (call $many (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4)
        (local.get 5)))
    (func (export "catches") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $error $h) (call $work (local.get 0)))))
    (func (export "waits and traps") (param i32) (result i32)
      (drop (call $wait (local.get 0) (i32.const 1))) (unreachable))
    (func (export "waits and suspends") (param i32) (result i32)
      (i32.add (suspend $yield) (call $wait (local.get 0) (i32.const 1))))
    (func (export "seven") (result i32) (i32.const 7)))"#;

const STACKS: [&str; 6] = [
    "on the root",
    "on a continuation",
    "on a task",
    "on a fiber",
    "on a coroutine",
    "on a first-class stack",
];

/// What `wait` does at its end.
type Then = fn(Caller<'_, ()>, i32) -> Result<i32>;

fn setup(engine: &Engine, then: Then) -> (Store<()>, Instance) {
    use ValType::*;
    let mut linker = Linker::new(engine);
    linker.host_async("wait", move |caller: Caller<'_, ()>, (n, x): (i32, i32)| {
        Box::new(async move {
            After(n as usize).await;
            then(caller, x)
        })
    });
    let all = [I32, I64, F32, F64, I32, V128];
    let ty = FuncType::new(all, all);
    let many =
        linker.func_new_async("host", "wait many", ty, |_: Caller<'_, ()>, values, results| {
            Box::new(async move {
                After(3).await;
                results.copy_from_slice(values);
                Ok(())
            })
        });
    many.unwrap();
    link(&linker, (), MODULE)
}

fn typed(store: &mut Store<()>, instance: Instance, name: &str) -> TypedFunc<i32, i32> {
    instance.get_typed_func(store, name).unwrap()
}

fn check_empty(mut store: Store<()>) {
    check_live(&mut store, 0);
    assert_eq!(store.pending_calls(), 0);
}

#[test]
fn a_call_waits_for_its_host_functions_on_stacks_of_every_design() {
    for engine in all_engines() {
        for on in STACKS {
            let (mut store, instance) = setup(&engine, |_, x| Ok(x));
            let func = typed(&mut store, instance, on);
            for n in [0, 1, 2, 5] {
                let (result, polls) = count_polls(func.call_async(&mut store, n));
                assert_eq!(result.unwrap(), 31, "{on}");
                assert_eq!(polls, 2 * n as usize + 1, "{on}");
                let (result, _) = count_polls(async {
                    let func = instance.get_func(&mut store, on).unwrap();
                    let mut results = [Val::I32(0)];
                    func.call_async(&mut store, &[Val::I32(n)], &mut results).await?;
                    Ok::<_, Error>(results[0].i32())
                });
                assert_eq!(result.unwrap(), Some(31));
            }
            check_empty(store);
        }
    }
}

#[test]
fn values_of_every_class_are_waited_for() {
    for (mut store, instance) in all_engines().iter().map(|engine| setup(engine, |_, x| Ok(x))) {
        let many = instance.get_func(&mut store, "many").unwrap();
        let values = [
            Val::I32(-1),
            Val::I64(-2),
            Val::F32(3),
            Val::F64(4),
            Val::I32(5),
            Val::V128(u128::MAX - 7),
        ];
        let mut results = values.map(|value| Val::default_for(value.ty()));
        block_on(many.call_async(&mut store, &values, &mut results)).unwrap();
        assert_eq!(format!("{results:?}"), format!("{values:?}"));
        check_empty(store);
    }
}

#[test]
fn the_store_can_be_used_by_a_function_that_waits() {
    for engine in all_engines() {
        let (mut store, instance) = setup(&engine, |mut caller, x| {
            Ok(x + call_export::<_, (), i32>(&mut caller, "seven", ())?)
        });
        for on in STACKS {
            let func = typed(&mut store, instance, on);
            assert_eq!(block_on(func.call_async(&mut store, 2)).unwrap(), 45, "{on}");
        }
        check_empty(store);
    }
}

#[test]
fn a_synchronous_call_cannot_wait() {
    for (mut store, instance) in all_engines().iter().map(|engine| setup(engine, |_, x| Ok(x))) {
        for on in STACKS {
            let func = typed(&mut store, instance, on);
            // A future that is ready at once gives the same.
            assert_eq!(func.call(&mut store, 0).unwrap(), 31);
            let error = format!("{:#}", func.call(&mut store, 1).unwrap_err());
            let expected = "a host function is not ready, and the call cannot wait for it: \
                            use `call_async`";
            assert!(error.contains(expected), "{error}");
            assert_eq!(func.call(&mut store, 0).unwrap(), 31);
        }
        check_empty(store);
    }
}

#[test]
fn errors_panics_and_exceptions_arrive_where_the_call_was_made() {
    for engine in all_engines() {
        for n in [0, 1, 3] {
            for on in STACKS {
                let (mut store, instance) = setup(&engine, |_, _| anyhow::bail!("no"));
                let func = typed(&mut store, instance, on);
                let error = block_on(func.call_async(&mut store, n)).unwrap_err();
                assert_eq!(host_message(&error), "no");
                assert_eq!(names(&error)[0], "work");
                check_empty(store);

                let panic: Then = |_, _| std::panic::resume_unwind(Box::new("panic"));
                let (mut store, instance) = setup(&engine, panic);
                let func = typed(&mut store, instance, on);
                let call = AssertUnwindSafe(|| block_on(func.call_async(&mut store, n)));
                let panic = catch_unwind(call).expect_err("a panic");
                assert_eq!(panic.downcast_ref(), Some(&"panic"));
                check_empty(store);
            }
            let throw: Then = |mut caller, x| {
                let error = caller.get_export("error").and_then(Extern::into_tag).unwrap();
                Err(Exception::new(&mut caller, error, &[Val::I32(x)])?.into())
            };
            let (mut store, instance) = setup(&engine, throw);
            let func = typed(&mut store, instance, "catches");
            assert_eq!(block_on(func.call_async(&mut store, n)).unwrap(), 10);
            let func = typed(&mut store, instance, "on a continuation");
            let error = block_on(func.call_async(&mut store, n)).unwrap_err();
            assert!(error.downcast_ref::<Exception>().is_some());
            check_empty(store);
        }
    }
}

#[test]
fn a_trap_after_waiting_ends_the_call() {
    for (mut store, instance) in all_engines().iter().map(|engine| setup(engine, |_, x| Ok(x))) {
        let func = typed(&mut store, instance, "waits and traps");
        for n in [0, 2, 0, 1] {
            let error = block_on(func.call_async(&mut store, n)).unwrap_err();
            assert_eq!(trap(&error).code(), TrapCode::Unreachable);
            assert_eq!(names(&error), ["waits and traps"]);
        }
        check_empty(store);
    }
}

#[test]
fn dropping_a_call_that_waits_frees_its_stacks() {
    for engine in all_engines() {
        for on in STACKS {
            let (mut store, instance) = setup(&engine, |_, x| Ok(x));
            let func = typed(&mut store, instance, on);
            for _ in 0..3 {
                poll_and_drop(func.call_async(&mut store, 1));
                drop(func.call_async(&mut store, 1));
                assert_eq!(store.pending_calls(), 0);
                assert_eq!(func.call(&mut store, 0).unwrap(), 31, "{on}");
                // A task lives as long as references to it.
                store.gc();
                assert_eq!(store.stack_statistics().live, 0, "{on}");
            }
            check_empty(store);
        }
    }
}

#[test]
fn futures_can_be_sent_with_their_store() {
    fn is_send<F: Future + Send>(future: F) -> F {
        future
    }
    let (mut store, instance) = setup(&Engine::default(), |_, x| Ok(x));
    let func = typed(&mut store, instance, "on a continuation");
    let result = std::thread::scope(|scope| {
        let mut future = Box::pin(is_send(func.call_async(&mut store, 2)));
        // The call begins on this thread and continues on others.
        assert!(poll_once(future.as_mut()).is_pending());
        let other = scope.spawn(move || {
            assert!(poll_once(future.as_mut()).is_pending());
            future
        });
        block_on(other.join().unwrap())
    });
    assert_eq!(result.unwrap(), 31);
    let mut results = [Val::I32(0)];
    let untyped = func.func();
    drop(is_send(untyped.call_async(&mut store, &[Val::I32(0)], &mut results)));
    let rest = Continuation::new(&mut store, *untyped).unwrap();
    drop(is_send(rest.resume_async(&mut store, &[Val::I32(0)])));
    check_empty(store);
}

/// The host function awaits, calls another export, and awaits again.
fn nested(engine: &Engine, dropped: Arc<AtomicUsize>) -> (Store<()>, Instance) {
    let text = r#"(module
            (import "host" "next" (func $next (param i32) (result i32)))
            (type $f (func (param i32) (result i32))) (type $k (cont $f)) (elem declare func $next)
            (func (export "go") (param i32) (result i32)
              (i32.add (i32.const 1) (resume $k (local.get 0) (cont.new $k (ref.func $next))))))"#;
    let mut linker = Linker::new(engine);
    linker.host_async("next", move |mut caller: Caller<'_, ()>, (n,): (i32,)| {
        let counts = CountsDrop(dropped.clone());
        Box::new(async move {
            let _counts = counts;
            After(1).await;
            match n {
                0 => return Ok(0),
                100 => anyhow::bail!("a hundred"),
                200 => std::panic::resume_unwind(Box::new("two hundred")),
                _ => {}
            }
            let go = caller.get_export("go").and_then(Extern::into_func).unwrap();
            let go = go.typed::<i32, i32>(&caller)?;
            let result = go.call_async(&mut caller, n - 1).await?;
            After(1).await;
            Ok::<_, Error>(result)
        })
    });
    link(&linker, (), text)
}

#[test]
fn calls_that_wait_nest() {
    for engine in all_engines() {
        let dropped = Arc::default();
        let (mut store, instance) = nested(&engine, Arc::clone(&dropped));
        let go = typed(&mut store, instance, "go");
        assert_eq!(block_on(go.call_async(&mut store, 5)).unwrap(), 6);
        assert_eq!(dropped.swap(0, Ordering::Relaxed), 6);
        for (n, what) in [(103, "a hundred"), (203, "two hundred")] {
            let call = AssertUnwindSafe(|| block_on(go.call_async(&mut store, n)));
            match catch_unwind(call) {
                Ok(result) => {
                    assert_eq!(host_message(&result.unwrap_err()), what);
                }
                Err(panic) => assert_eq!(panic.downcast_ref(), Some(&what)),
            }
            assert_eq!(dropped.swap(0, Ordering::Relaxed), 4);
            assert_eq!(store.pending_calls(), 0);
        }
        check_empty(store);
    }
}

#[test]
fn nested_calls_are_given_up_together_however_far_they_are() {
    for engine in all_engines() {
        let dropped = Arc::default();
        let (mut store, instance) = nested(&engine, Arc::clone(&dropped));
        let go = typed(&mut store, instance, "go");
        for polls in 1..12 {
            {
                let mut future = Box::pin(go.call_async(&mut store, 4));
                let mut context = Context::from_waker(Waker::noop());
                for _ in 0..polls {
                    if future.as_mut().poll(&mut context).is_ready() {
                        break;
                    }
                }
            }
            assert!(dropped.swap(0, Ordering::Relaxed) > 0);
            assert_eq!(store.pending_calls(), 0);
            check_live(&mut store, 0);
        }
        assert_eq!(block_on(go.call_async(&mut store, 2)).unwrap(), 3);
        check_empty(store);
    }
}

#[test]
fn a_continuation_that_the_host_resumes_may_wait() {
    for (mut store, instance) in all_engines().iter().map(|engine| setup(engine, |_, x| Ok(x))) {
        let rest = continuation(&mut store, instance, "waits and suspends");
        let (.., continuation) = suspended(block_on(rest.resume_async(&mut store, &[Val::I32(3)])));
        let (resumed, polls) = count_polls(continuation.resume_async(&mut store, &[Val::I32(5)]));
        assert_eq!(polls, 4);
        assert_eq!(returned(resumed), 6);
        // A call that is dropped while it waits.
        let func = instance.get_func(&mut store, "on a continuation").unwrap();
        let rest = Continuation::new(&mut store, func).unwrap();
        poll_and_drop(rest.resume_async(&mut store, &[Val::I32(3)]));
        // A synchronous call cannot wait.
        let rest = Continuation::new(&mut store, func).unwrap();
        fails_because(rest.resume(&mut store, &[Val::I32(3)]), "the call cannot wait for it");
        check_empty(store);
    }
}

#[test]
fn a_function_that_has_waited_may_suspend() {
    for engine in all_engines() {
        let suspend: Then = |mut caller, _| {
            let tag = caller.get_export("yield").and_then(Extern::into_tag).unwrap();
            Err(Suspension::new(tag, &[]).into())
        };
        let (mut store, instance) = setup(&engine, suspend);
        let func = instance.get_func(&mut store, "on a continuation").unwrap();
        for n in [0, 2] {
            let mut rest = Continuation::new(&mut store, func).unwrap();
            let mut argument = n;
            for answer in [100, 200] {
                let resumed = block_on(rest.resume_async(&mut store, &[Val::I32(argument)]));
                let (.., continuation) = suspended(resumed);
                (rest, argument) = (continuation, answer);
            }
            let resumed = block_on(rest.resume_async(&mut store, &[Val::I32(argument)]));
            assert_eq!(returned(resumed), 301);
        }
        check_empty(store);
    }
}

#[test]
fn a_start_function_may_wait() {
    let engine = Engine::default();
    let text = r#"(module (import "host" "wait" (func $wait))
            (global $done (mut i32) (i32.const 0)) (start $start)
            (func $start (call $wait) (global.set $done (i32.const 1)))
            (func (export "done") (result i32) (global.get $done)))"#;
    let module = Module::new(&engine, text).unwrap();
    let mut linker = Linker::new(&engine);
    linker.host_async("wait", |_: Caller<'_, ()>, (): ()| Box::new(After(2)));
    let mut store = Store::new(&engine, ());
    assert!(linker.instantiate(&mut store, &module).is_err());
    let (instance, polls) = count_polls(linker.instantiate_async(&mut store, &module));
    assert_eq!(polls, 3);
    assert_eq!(number(&mut store, instance.unwrap(), "done", &[]).unwrap(), 1);
}

#[test]
fn references_of_a_function_that_waits_last_until_it_returns() {
    for engine in all_engines() {
        let text = r#"(module
                (import "host" "wait" (func $wait (param externref) (result externref)))
                (func (export "run") (param externref) (result externref)
                  (call $wait (call $wait (local.get 0)))))"#;
        let mut linker = Linker::new(&engine);
        type Value = Option<ExternRef>;
        linker.host_async("wait", |mut caller: Caller<'_, ()>, (value,): (Value,)| {
            Box::new(async move {
                After(2).await;
                let number = *value.unwrap().data(&caller)?.downcast_ref::<i32>().unwrap();
                ExternRef::new(&mut caller, number + 1).map(Some)
            })
        });
        let (mut store, instance) = link(&linker, (), text);
        let run = instance.get_typed_func::<Value, Value>(&mut store, "run").unwrap();
        for _ in 0..3 {
            let mut scope = RootScope::new(&mut store);
            let value = ExternRef::new(&mut scope, 5).unwrap();
            let result = block_on(run.call_async(&mut scope, Some(value))).unwrap();
            let data = result.unwrap();
            assert_eq!(data.data(&scope).unwrap().downcast_ref(), Some(&7));
        }
    }
}

#[tokio::test]
async fn a_runtime_drives_calls_of_several_stores() {
    let engine = Engine::default();
    let text = r#"(module (import "host" "sleep" (func $sleep (param i32)))
            (func (export "run") (param i32) (result i32)
              (call $sleep (local.get 0)) (call $sleep (local.get 0)) (local.get 0)))"#;
    let module = Module::new(&engine, text).unwrap();
    let mut linker = Linker::new(&engine);
    linker.host_async("sleep", |_: Caller<'_, ()>, (time,): (i32,)| {
        Box::new(tokio::time::sleep(std::time::Duration::from_millis(time as u64)))
    });
    let calls = (0..20).map(|i| {
        let (linker, module, engine) = (linker.clone(), module.clone(), engine.clone());
        tokio::spawn(async move {
            let mut store = Store::new(&engine, ());
            let instance = linker.instantiate_async(&mut store, &module).await?;
            let run = instance.get_typed_func::<i32, i32>(&mut store, "run")?;
            run.call_async(&mut store, i % 7).await
        })
    });
    for (i, call) in calls.collect::<Vec<_>>().into_iter().enumerate() {
        assert_eq!(call.await.unwrap().unwrap(), i as i32 % 7);
    }
}
