//! Concurrent calls in one store: they interleave, and an error, a panic or the end of one call
//! does not affect the others.

use crate::common::*;
use ropewalk::*;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Waker};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// Gates that tests open by number.
#[derive(Default)]
struct Gates(Mutex<Vec<i32>>);

/// The store's data: the gates, and how many host functions wait.
struct Host {
    gates: Arc<Gates>,
    waiting: Arc<AtomicUsize>,
    most: Arc<AtomicUsize>,
}

/// A future that is ready when its gate is open.
struct Gate {
    number: i32,
    gates: Arc<Gates>,
    waiting: Arc<AtomicUsize>,
}

impl Gates {
    fn open(&self, number: i32) {
        self.0.lock().unwrap().push(number);
    }
}

impl Future for Gate {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        let mut gates = self.gates.0.lock().unwrap();
        match gates.iter().position(|number| *number == self.number) {
            Some(place) => {
                gates.remove(place);
                Poll::Ready(())
            }
            None => Poll::Pending,
        }
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        self.waiting.fetch_sub(1, Ordering::Relaxed);
    }
}

const MODULE: &str = r#"(module
    (import "host" "wait" (func $wait (param i32) (result i32)))
    (import "host" "has the store" (func $exclusive (param i32) (result i32)))
    (type $s (struct (field i32))) (type $f (func (param i32) (result i32))) (type $k (cont $f))
    (type $t (task (param i32) (result i32))) (elem declare func $work)
    (global $running (mut i32) (i32.const 0))
    ;; Waits twice for its number, on a continuation, with an object.
    (func $work (param $x i32) (result i32) (local $mine (ref null $s))
      (local.set $mine (struct.new $s (local.get $x)))
      (global.set $running (i32.add (global.get $running) (i32.const 1)))
      (drop (call $wait (local.get $x)))
      (drop (call $wait (local.get $x)))
      (global.set $running (i32.sub (global.get $running) (i32.const 1)))
      (i32.mul (struct.get $s 0 (local.get $mine)) (i32.const 2)))
    (func $in-task (param $me (ref null $t)) (param i32) (result i32) (call $work (local.get 1)))
    (func (export "run") (param $x i32) (result i32)
      (if (i32.and (local.get $x) (i32.const 1))
        (then (return (task.resume $t (task.new $t $in-task) (local.get $x)))))
      (resume $k (local.get $x) (cont.new $k (ref.func $work))))
    (func (export "fails") (param $x i32) (result i32)
      (drop (call $wait (local.get $x))) (unreachable))
    (func (export "waits once") (param i32) (result i32) (call $wait (local.get 0)))
    (func (export "has the store") (param i32) (result i32) (call $exclusive (local.get 0)))
    (func (export "running") (result i32) (global.get $running)))"#;

type Typed = TypedFunc<i32, i32>;

fn setup(engine: &Engine) -> (Store<Host>, Instance, Arc<Gates>) {
    let mut linker = Linker::new(engine);
    linker.host_concurrent("wait", |accessor: &Accessor<Host>, (x,): (i32,)| {
        Box::pin(async move {
            let gate = accessor.with(|store| {
                let host = store.data();
                let now = host.waiting.fetch_add(1, Ordering::Relaxed) + 1;
                host.most.fetch_max(now, Ordering::Relaxed);
                let (gates, waiting) = (host.gates.clone(), host.waiting.clone());
                Gate { number: x, gates, waiting }
            });
            gate.await;
            match x {
                -1 => anyhow::bail!("minus one"),
                -2 => std::panic::resume_unwind(Box::new("minus two")),
                x => Ok(x),
            }
        })
    });
    linker.host_async("has the store", |caller: Caller<'_, Host>, (x,): (i32,)| {
        Box::new(async move {
            if x > 0 {
                std::future::pending::<()>().await;
            }
            caller.data().most.load(Ordering::Relaxed) as i32
        })
    });
    let gates = Arc::<Gates>::default();
    let host = Host { gates: gates.clone(), waiting: Arc::default(), most: Arc::default() };
    let (store, instance) = link(&linker, host, MODULE);
    (store, instance, gates)
}

/// Runs a body that makes calls, and polls it until it is ready.
fn run<R>(store: &mut Store<Host>, body: impl AsyncFnOnce(&Accessor<Host>) -> R) -> R {
    let mut future = pin!(store.run_concurrent(body));
    let mut context = Context::from_waker(Waker::noop());
    for _ in 0..10_000 {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return result;
        }
    }
    panic!("it is never ready")
}

type Call<'a> = Pin<Box<dyn Future<Output = Result<i32>> + 'a>>;

/// Polls every call once, and replaces finished calls by their results.
async fn poll_all(calls: &mut [(Option<Call<'_>>, Option<Result<i32>>)]) {
    std::future::poll_fn(|context| {
        for (call, result) in calls.iter_mut() {
            if let Some(running) = call
                && let Poll::Ready(ready) = running.as_mut().poll(context)
            {
                (*call, *result) = (None, Some(ready));
            }
        }
        Poll::Ready(())
    })
    .await;
}

fn check_empty(mut store: Store<Host>) {
    check_live(&mut store, 0);
    assert_eq!(store.pending_calls(), 0);
    assert_eq!(store.data().waiting.load(Ordering::Relaxed), 0);
}

#[test]
fn calls_continue_in_any_order() {
    for (mut store, instance, gates) in all_engines().iter().map(setup) {
        let func: Typed = instance.get_typed_func(&mut store, "run").unwrap();
        const N: i32 = 30;
        let func = &func;
        let results = run(&mut store, async |accessor| {
            let call = |i| -> Call<'_> { Box::pin(func.call_concurrent(accessor, i)) };
            let mut calls: Vec<_> = (0..N).map(|i| (Some(call(i)), None)).collect();
            poll_all(&mut calls).await;
            let running = accessor.with(|mut store| {
                let running = instance.get_typed_func::<(), i32>(&mut store, "running")?;
                running.call(&mut store, ())
            });
            assert_eq!(running.unwrap(), N);
            for round in 0..2 {
                for i in 0..N {
                    let i = i * (7 + 4 * round) % N;
                    gates.open(i);
                    poll_all(&mut calls).await;
                    assert_eq!(calls[i as usize].1.is_some(), round == 1);
                }
            }
            calls.into_iter().map(|(_, result)| result.unwrap().unwrap()).collect::<Vec<_>>()
        });
        assert_eq!(results, (0..N).map(|i| 2 * i).collect::<Vec<_>>());
        assert_eq!(store.data().most.load(Ordering::Relaxed), N as usize);
        check_empty(store);
    }
}

#[test]
fn the_end_of_a_call_does_not_affect_the_others() {
    for (mut store, instance, gates) in all_engines().iter().map(setup) {
        let func: Typed = instance.get_typed_func(&mut store, "run").unwrap();
        let fails: Typed = instance.get_typed_func(&mut store, "fails").unwrap();
        let once: Typed = instance.get_typed_func(&mut store, "waits once").unwrap();
        let (func, fails, once) = (&func, &fails, &once);
        run(&mut store, async |accessor| {
            let mut calls: Vec<(Option<Call<'_>>, _)> = vec![
                (Some(Box::pin(func.call_concurrent(accessor, 10))), None),
                (Some(Box::pin(fails.call_concurrent(accessor, 11))), None),
                (Some(Box::pin(func.call_concurrent(accessor, 12))), None),
                (Some(Box::pin(once.call_concurrent(accessor, -1))), None),
                (Some(Box::pin(func.call_concurrent(accessor, 13))), None),
            ];
            poll_all(&mut calls).await;
            // One call traps, one fails, and one is dropped.
            gates.open(11);
            gates.open(-1);
            calls[2].0 = None;
            poll_all(&mut calls).await;
            traps(calls[1].1.take().unwrap(), TrapCode::Unreachable);
            assert_eq!(host_message(&calls[3].1.take().unwrap().unwrap_err()), "minus one");
            // One call panics.
            let mut panics = Box::pin(once.call_concurrent(accessor, -2));
            std::future::poll_fn(|context| {
                assert!(panics.as_mut().poll(context).is_pending());
                gates.open(-2);
                let poll = std::panic::AssertUnwindSafe(|| panics.as_mut().poll(context));
                let panic = std::panic::catch_unwind(poll).expect_err("a panic");
                assert_eq!(panic.downcast_ref(), Some(&"minus two"));
                Poll::Ready(())
            })
            .await;
            drop(panics);
            for _ in 0..2 {
                gates.open(10);
                gates.open(13);
                poll_all(&mut calls).await;
            }
            assert_eq!(calls[0].1.take().unwrap().unwrap(), 20);
            assert_eq!(calls[4].1.take().unwrap().unwrap(), 26);
        });
        check_empty(store);
    }
}

#[test]
fn calls_are_dropped_when_the_body_ends() {
    for engine in all_engines() {
        let (mut store, instance, _) = setup(&engine);
        let func: Typed = instance.get_typed_func(&mut store, "run").unwrap();
        let func = &func;
        run(&mut store, async |accessor| {
            let call = |i| -> Call<'_> { Box::pin(func.call_concurrent(accessor, i)) };
            let mut calls: Vec<_> = (0..10).map(|i| (Some(call(i)), None)).collect();
            poll_all(&mut calls).await;
            // Some calls are dropped while the store is in use.
            let rest = calls.split_off(5);
            accessor.with(|_| drop(rest));
        });
        check_empty(store);
        // The whole body is dropped.
        let (mut store, instance, _) = setup(&engine);
        let func: Typed = instance.get_typed_func(&mut store, "run").unwrap();
        {
            let func = &func;
            let body = async |accessor: &Accessor<Host>| {
                let all = (func.call_concurrent(accessor, 1), func.call_concurrent(accessor, 2));
                tokio::join!(all.0, all.1)
            };
            let mut future = Box::pin(store.run_concurrent(body));
            assert!(poll_once(future.as_mut()).is_pending());
        }
        check_empty(store);
    }
}

#[test]
fn a_limit_admits_calls_in_order() {
    for (mut store, instance, gates) in all_engines().iter().map(setup) {
        let once: Typed = instance.get_typed_func(&mut store, "waits once").unwrap();
        let once = &once;
        run(&mut store, async |accessor| {
            accessor.set_limit(3);
            let call = |i| -> Call<'_> { Box::pin(once.call_concurrent(accessor, i)) };
            let mut calls: Vec<_> = (0..10).map(|i| (Some(call(i)), None)).collect();
            let waiting = || accessor.with(|store| store.data().waiting.load(Ordering::Relaxed));
            poll_all(&mut calls).await;
            assert_eq!(waiting(), 3);
            // A call that waits for its turn is dropped.
            calls[4].0 = None;
            for i in [0, 1, 2, 3, 5, 6, 7, 8, 9] {
                gates.open(i);
                poll_all(&mut calls).await;
                poll_all(&mut calls).await;
                assert!(waiting() <= 3);
                assert_eq!(calls[i as usize].1.take().unwrap().unwrap(), i);
            }
        });
        assert_eq!(store.data().most.load(Ordering::Relaxed), 3);
        check_empty(store);
    }
}

#[test]
fn a_function_that_has_the_store_cannot_wait_while_others_run() {
    for (mut store, instance, _) in all_engines().iter().map(setup) {
        let func: Typed = instance.get_typed_func(&mut store, "has the store").unwrap();
        let func = &func;
        let (ready, failed) = run(&mut store, async |accessor| {
            let ready = func.call_concurrent(accessor, 0).await;
            (ready, func.call_concurrent(accessor, 1).await)
        });
        assert_eq!(ready.unwrap(), 0);
        fails_because(failed, "define it with `func_wrap_concurrent`");
        check_empty(store);
    }
}

#[test]
fn a_concurrent_function_works_in_other_calls_too() {
    for (mut store, instance, gates) in all_engines().iter().map(setup) {
        let once: Typed = instance.get_typed_func(&mut store, "waits once").unwrap();
        gates.open(4);
        assert_eq!(once.call(&mut store, 4).unwrap(), 4);
        fails_because(once.call(&mut store, 4), "the call cannot wait for it");
        {
            let mut future = pin!(once.call_async(&mut store, 5));
            assert!(poll_once(future.as_mut()).is_pending());
            gates.open(5);
            let Poll::Ready(result) = poll_once(future.as_mut()) else { panic!("it is ready") };
            assert_eq!(result.unwrap(), 5);
        }
        check_empty(store);
    }
}

#[test]
fn the_store_is_used_once_at_a_time() {
    let (mut store, _, _) = setup(&Engine::default());
    run(&mut store, async |accessor| {
        let inside = std::panic::AssertUnwindSafe(|| accessor.with(|_| accessor.with(|_| ())));
        let panic = std::panic::catch_unwind(inside).unwrap_err();
        let message = panic
            .downcast_ref::<String>()
            .map_or_else(|| panic.downcast_ref::<&str>().unwrap().to_string(), Clone::clone);
        assert!(message.contains("inside of itself"), "{message}");
        // The store is usable again.
        assert_eq!(accessor.with(|store| store.data().most.load(Ordering::Relaxed)), 0);
        // Others take turns.
        let count = AtomicUsize::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| {
                    for _ in 0..100 {
                        accessor.with(|_| {
                            let before = count.load(Ordering::Relaxed);
                            std::thread::yield_now();
                            count.store(before + 1, Ordering::Relaxed);
                        });
                    }
                });
            }
        });
        assert_eq!(count.into_inner(), 400);
    });
}

#[test]
fn references_end_with_the_access() {
    let (mut store, _, _) = setup(&Engine::default());
    run(&mut store, async |accessor| {
        let (value, owned) = accessor.with(|mut store| {
            let value = ExternRef::new(&mut store, 5).unwrap();
            (value, value.own(&mut store).unwrap())
        });
        accessor.with(|mut store| {
            assert!(value.data(&store).is_err());
            let value = owned.get(&mut store).unwrap();
            assert_eq!(value.data(&store).unwrap().downcast_ref(), Some(&5));
        });
    });
}

#[tokio::test]
async fn thousands_of_calls_wait_for_a_runtime() {
    const N: i32 = 3000;
    let engine = Engine::default();
    let text = r#"(module
            (import "host" "ask" (func $ask (param i32) (result i32)))
            (func (export "run") (param i32) (result i32)
              (i32.add (call $ask (local.get 0)) (call $ask (i32.const 1)))))"#;
    type Sender = UnboundedSender<(i32, tokio::sync::oneshot::Sender<i32>)>;
    let mut linker = Linker::new(&engine);
    linker.host_concurrent("ask", |accessor: &Accessor<Sender>, (x,): (i32,)| {
        Box::pin(async move {
            let (answer, answered) = tokio::sync::oneshot::channel();
            accessor.with(|store| store.data().send((x, answer)))?;
            Ok::<_, Error>(answered.await?)
        })
    });
    let (sender, mut asked): (Sender, UnboundedReceiver<_>) = unbounded_channel();
    // Replies in reverse order when all calls have asked.
    let answers = tokio::spawn(async move {
        for _ in 0..2 {
            let mut all = Vec::new();
            while all.len() < N as usize {
                all.push(asked.recv().await.unwrap());
            }
            all.into_iter().rev().for_each(|(x, answer)| answer.send(x * 3).unwrap());
        }
    });
    let (mut store, instance) = link(&linker, sender, text);
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run").unwrap();
    let results = store
        .run_concurrent(async |accessor| {
            // The calls borrow the accessor, so this task polls them together.
            let mut all: Vec<_> =
                (0..N).map(|i| Box::pin(run.call_concurrent(accessor, i))).map(Some).collect();
            let mut results = vec![None; N as usize];
            std::future::poll_fn(|context| {
                let mut left = 0;
                for (call, result) in all.iter_mut().zip(&mut results) {
                    if let Some(running) = call {
                        match running.as_mut().poll(context) {
                            Poll::Ready(ready) => {
                                *result = Some(ready.unwrap());
                                *call = None;
                            }
                            Poll::Pending => left += 1,
                        }
                    }
                }
                if left == 0 { Poll::Ready(()) } else { Poll::Pending }
            })
            .await;
            results
        })
        .await;
    answers.await.unwrap();
    assert!(results.into_iter().zip(0..).all(|(result, i)| result == Some(3 * i + 3)));
    assert_eq!(store.pending_calls(), 0);
}

#[test]
fn references_are_arguments_of_functions_that_wait_while_others_run() {
    const SOURCE: &str = r#"(module
        (import "host" "wait" (func $wait (param structref externref) (result structref)))
        (type $s (struct (field i32)))
        (func (export "run") (param $x i32) (param externref) (result i32)
          (struct.get $s 0
            (ref.cast (ref $s) (call $wait (struct.new $s (local.get $x)) (local.get 1))))))"#;
    for mut linker in all_engines().iter().map(Linker::new) {
        linker.host_concurrent(
            "wait",
            |accessor: &Accessor<()>,
             (mine, told): (Option<Owned<StructRef>>, Option<Owned<ExternRef>>)| {
                Box::pin(async move {
                    for _ in 0..3 {
                        // Others run, and the objects move.
                        let mut is_again = false;
                        std::future::poll_fn(|_| match std::mem::replace(&mut is_again, true) {
                            true => Poll::Ready(()),
                            false => Poll::Pending,
                        })
                        .await;
                    }
                    accessor.with(|mut store| -> Result<_> {
                        let told = told.unwrap().get(&mut store)?;
                        let told = *told.data(&store)?.downcast_ref::<i32>().unwrap();
                        let number = mine.as_ref().unwrap().get(&mut store)?;
                        let number = number.field(&mut store, 0)?;
                        assert_eq!(number.i32(), Some(told));
                        Ok(mine)
                    })
                })
            },
        );
        let (mut store, instance) = link(&linker, (), SOURCE);
        let run: TypedFunc<(i32, Option<Owned<ExternRef>>), i32> =
            instance.get_typed_func(&mut store, "run").unwrap();
        let run = &run;
        let mut calls = Box::pin(store.run_concurrent(async |accessor| {
            let call = async |x: i32| {
                let told = accessor.with(|mut store| {
                    let told = ExternRef::new(&mut store, x)?;
                    told.own(&mut store)
                })?;
                run.call_concurrent(accessor, (x, Some(told))).await
            };
            tokio::join!(call(1), call(2), call(3))
        }));
        let mut context = Context::from_waker(Waker::noop());
        let results = loop {
            if let Poll::Ready(results) = calls.as_mut().poll(&mut context) {
                break results;
            }
        };
        drop(calls);
        assert_eq!((results.0.unwrap(), results.1.unwrap(), results.2.unwrap()), (1, 2, 3));
    }
}

#[test]
fn the_memory_of_a_burst_of_waiting_calls_is_given_back() {
    alone(burst_of_calls);
}

fn burst_of_calls() {
    const COUNT: i32 = 3000;
    let (mut store, instance, gates) = setup(&Engine::default());
    let once: Typed = instance.get_typed_func(&mut store, "waits once").unwrap();
    let once = &once;
    let burst = |store: &mut Store<Host>| {
        run(store, async |accessor| {
            let call = |i| -> Call<'_> { Box::pin(once.call_concurrent(accessor, i)) };
            let mut calls: Vec<_> = (0..COUNT).map(|_| (Some(call(1)), None)).collect();
            poll_all(&mut calls).await;
            let waiting = accessor.with(|store| store.data().waiting.load(Ordering::Relaxed));
            assert_eq!(waiting, COUNT as usize);
            let most = memory("VmRSS:");
            (0..COUNT).for_each(|_| gates.open(1));
            poll_all(&mut calls).await;
            assert!(calls.iter().all(|(_, result)| matches!(result, Some(Ok(1)))));
            most
        })
    };
    let before = memory("VmRSS:");
    let most = burst(&mut store);
    let after = memory("VmRSS:");
    // Each call had at least a page.
    assert!(most > before + COUNT as usize * 4);
    assert!(after < before + (most - before) / 2, "{before} kB, {most} kB, {after} kB");
    burst(&mut store);
    check_empty(store);
}

#[test]
fn a_function_that_has_waited_alone_in_its_store_still_has_its_accessor() {
    for engine in all_engines() {
        let text = r#"(module
            (import "host" "count" (func $count (param i32) (result i32)))
            (func (export "run") (result i32)
              (i32.add (call $count (i32.const 1)) (call $count (i32.const 20)))))"#;
        let mut linker = Linker::new(&engine);
        linker.host_concurrent("count", |accessor: &Accessor<i32>, (n,): (i32,)| {
            Box::pin(async move {
                tokio::task::yield_now().await;
                accessor.with(|mut store| {
                    *store.data_mut() += n;
                    *store.data_mut()
                })
            })
        });
        let (mut store, instance) = link(&linker, 100, text);
        let run = instance.get_typed_func::<(), i32>(&mut store, "run").unwrap();
        let mut call = pin!(run.call_async(&mut store, ()));
        let mut context = Context::from_waker(Waker::noop());
        let mut others = vec![];
        let result = loop {
            if let Poll::Ready(result) = call.as_mut().poll(&mut context) {
                break result.unwrap();
            }
            // New allocations must not reuse memory that the call still needs.
            others.extend((1..100).map(|words| vec![u64::MAX / 3; words]));
        };
        assert_eq!(result, 222);
        drop(others);
    }
}

/// The next user of the store frees the stacks of calls that were dropped while the store was in
/// use.
#[test]
fn results_are_taken_before_anybody_else_uses_the_store() {
    const SOURCE: &str = r#"(module
        (import "host" "new_stack" (func $new (result stackref)))
        (import "host" "never" (func $never (result i32)))
        (import "host" "forget" (func $forget (param i32) (result i32)))
        (type $pair (struct (field i32) (field i32)))
        (table $kept 1 stackref)
        (event $answer (param i32))
        (rout $idle (stack.start) (unreachable))
        (func (export "keep")
          (table.set_cleared $kept (i32.const 0) (stack.extend $idle (call $new))))
        (func $on (param $back stackref)
          (stack.switch_drop $answer (call $never) (local.get_clear $back)))
        (func (export "lost") (result i32)
          (block $answer (result i32)
            (try (stack.switch_call $on (call $new)) catch $answer $answer) (unreachable)))
        (func (export "pair") (param $waits i32) (result (ref $pair))
          (struct.new $pair (call $forget (local.get $waits)) (i32.const 4))))"#;
    type Lost = Arc<Mutex<Option<Pin<Box<dyn Future<Output = ()> + Send>>>>>;
    let engine = Engine::new(
        Config::new()
            .stress(|stress| stress.collect_always = true)
            .stress(|stress| stress.check_stacks = true),
    )
    .unwrap();
    let mut linker = Linker::new(&engine);
    linker.host_concurrent("never", |_: &Accessor<Lost>, (): ()| {
        Box::pin(std::future::pending::<i32>())
    });
    linker.host_concurrent("forget", |accessor: &Accessor<Lost>, (waits,): (i32,)| {
        Box::pin(async move {
            After(waits as usize).await;
            accessor.with(|store| drop(store.data().lock().unwrap().take()));
            3
        })
    });
    for (waits, is_typed) in [(0, true), (1, true), (0, false), (1, false)] {
        let (mut store, instance) = link(&linker, Lost::default(), SOURCE);
        instance
            .get_typed_func::<(), ()>(&mut store, "keep")
            .unwrap()
            .call(&mut store, ())
            .unwrap();
        let lost = instance.get_typed_func::<(), i32>(&mut store, "lost").unwrap();
        let pair = instance.get_func(&mut store, "pair").unwrap();
        let place = store.data().clone();
        let field = block_on(store.run_concurrent(async |accessor| {
            // SAFETY: the reference is dropped before the accessor.
            let accessor: &'static Accessor<Lost> = unsafe { &*std::ptr::from_ref(accessor) };
            let mut call = Box::pin(async move { drop(lost.call_concurrent(accessor, ()).await) });
            assert!(poll_once(call.as_mut()).is_pending());
            *place.lock().unwrap() = Some(call);
            let pair = match is_typed {
                true => {
                    let pair = accessor.with(|store| pair.typed::<i32, StructRef>(&store)).unwrap();
                    pair.call_concurrent(accessor, waits).await.unwrap()
                }
                false => {
                    let mut results = [Val::I32(0)];
                    pair.call_concurrent(accessor, &[Val::I32(waits)], &mut results).await.unwrap();
                    match &results[0] {
                        Val::AnyRef(Some(pair)) => accessor
                            .with(|store| pair.as_struct(&store))
                            .unwrap()
                            .expect("a struct"),
                        other => panic!("{other:?}"),
                    }
                }
            };
            accessor.with(|mut store| pair.field(&mut store, 0).unwrap().i32())
        }));
        assert_eq!(field, Some(3));
    }
}
