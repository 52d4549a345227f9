//! Concurrent calls that wait for futures of the host, in every design.

use super::*;
use ropewalk::stress::*;
use std::future::{Future, pending, poll_fn};
use std::io::{Read, Write};
use std::pin::Pin;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::task::Poll;

/// Each function asks the host from a stack of another design, and computes with the result.
const SOURCE: &str = r#"
(module
  (import "host" "new_stack" (func $new (result stackref)))
  (import "host" "number" (func $number (param i32) (result i32)))
  (import "host" "long" (func $long (param i64 i32) (result i64)))
  (import "host" "float" (func $float (param f64) (result f64)))
  (import "host" "many" (func $many (param i32 i64 f32 f64 i32 i64) (result i64 f64 i32)))
  (import "host" "later" (func $later (param i32) (result i32)))

  ;; The number selects the question.
  (func $ask (param $n i32) (result i32) (local $w i32) (local $x f64)
    (local.set $w (i32.rem_u (local.get $n) (i32.const 5)))
    (if (i32.eq (local.get $w) (i32.const 0)) (then (return (call $number (local.get $n)))))
    (if (i32.eq (local.get $w) (i32.const 1))
      (then (return (i32.wrap_i64 (call $long (i64.extend_i32_s (local.get $n)) (i32.const 3))))))
    (if (i32.eq (local.get $w) (i32.const 2))
      (then (return (i32.trunc_f64_s (call $float (f64.convert_i32_s (local.get $n)))))))
    (if (i32.eq (local.get $w) (i32.const 3)) (then (return (call $later (local.get $n)))))
    (call $many (local.get $n) (i64.const 1) (f32.const 2) (f64.const 3) (i32.const 4)
      (i64.extend_i32_s (local.get $n)))
    (local.set $w) (local.set $x)
    (i32.add (i32.add (i32.wrap_i64) (i32.trunc_f64_s (local.get $x))) (local.get $w)))

  (func (export "plain") (param $n i32) (result i32)
    (i32.add (i32.mul (local.get $n) (i32.const 1000)) (call $ask (local.get $n))))

  (type $f (func (param i32) (result i32))) (type $c (cont $f)) (tag $more (param i32) (result i32))
  (elem declare func $body)
  (func $body (param $n i32) (result i32)
    (i32.add (call $ask (local.get $n)) (suspend $more (local.get $n))))
  (func (export "continuation") (param $n i32) (result i32) (local $c (ref null $c))
    (local.set $c (cont.new $c (ref.func $body)))
    (loop $again
      (block $on (result i32 (ref $c))
        (return (i32.add (i32.mul (local.get $n) (i32.const 1000))
          (resume $c (on $more $on) (local.get $n) (local.get $c)))))
      (local.set $c) (drop) (br $again))
    (unreachable))

  (rec (type $to-root (stack (param i32) (ref null $to-body)))
       (type $to-body (stack (param i32) (ref null $to-root))))
  (func $bag-body (param $n i32) (param $root (ref null $to-root))
    (switch_retire $to-root (call $ask (local.get $n)) (local.get $root)))
  (func (export "bag") (param $n i32) (result i32)
    (switch $to-body (local.get $n) (stack.new $to-body $bag-body)) (drop)
    (i32.add (i32.mul (local.get $n) (i32.const 1000))))

  (type $t (taskref (i32) (i32)))
  (func $task-body (param $me (ref null $t)) (param $n i32) (result i32)
    (i32.add (call $ask (local.get $n))
      (task.suspend $t (local.get $me) (i32.mul (local.get $n) (i32.const 500)))))
  (func (export "task") (param $n i32) (result i32) (local $t (ref null $t))
    (local.set $t (task.new $t $task-body))
    (i32.add (task.resume $t (local.get $t) (local.get $n))
      (task.resume $t (local.get $t) (i32.mul (local.get $n) (i32.const 500)))))

  (tag $go (param i32)) (tag $end (param i32)) (tag $return)
  (func $fiber-body (param $this fiberref) (param $n i32)
    (fiber.dismount $end (i32.add (call $ask (local.get $n)) (local.get $n)) (local.get $this))
    (unreachable))
  (func (export "fiber") (param $n i32) (result i32)
    (block $returned
      (block $ended (result i32)
        (fiber.mount $go (on $end $ended) (on $return $returned) (local.get $n)
          (fiber.new $return (on $go $fiber-body)))
        (unreachable))
      (return))
    (i32.const -1))

  (event $answer (param i32))
  (func $on (param $n i32) (param $back stackref)
    (stack.switch_drop $answer (call $ask (local.get $n)) (local.get_clear $back)))
  (func (export "first-class") (param $n i32) (result i32)
    (block $answer (result i32)
      (try (stack.switch_call $on (local.get $n) (call $new)) catch $answer $answer)
      (unreachable))))"#;

const DESIGNS: [&str; 6] = ["plain", "continuation", "bag", "task", "fiber", "first-class"];

/// Whether the host has replied.
#[derive(Clone, Default)]
struct Host {
    replies: Arc<Mutex<bool>>,
}

impl Host {
    /// Waits until the host replies.
    fn reply<R>(&self, value: R) -> Pin<Box<dyn Future<Output = R> + Send>>
    where
        R: Copy + Send + 'static,
    {
        let replies = self.replies.clone();
        Box::pin(poll_fn(move |_| match *replies.lock().unwrap() {
            true => Poll::Ready(value),
            false => Poll::Pending,
        }))
    }
}

fn linker(engine: &Engine, host: &Host) -> Linker<()> {
    let mut linker = Linker::new(engine);
    let it = host.clone();
    linker.host_concurrent("number", move |_: &Accessor<()>, (n,): (i32,)| it.reply(n + 1));
    let it = host.clone();
    linker.host_concurrent("long", move |_: &Accessor<()>, (n, m): (i64, i32)| {
        it.reply(n * i64::from(m))
    });
    let it = host.clone();
    linker.host_concurrent("float", move |_: &Accessor<()>, (x,): (f64,)| it.reply(x / 2.0));
    let it = host.clone();
    linker.host_concurrent(
        "many",
        move |_: &Accessor<()>, (a, b, c, d, e, f): (i32, i64, f32, f64, i32, i64)| {
            it.reply((b + f, f64::from(c) + d, a + e))
        },
    );
    let it = host.clone();
    linker.host("later", move |caller: Caller<'_, ()>, n: i32| -> Result<i32> {
        let rest = it.reply(n * 7);
        Err(caller.later(move |_| rest).into())
    });
    linker
}

/// The result of the host function that a call waits for.
fn reply_to(call: &RestoredCall) -> Vec<Val> {
    let arguments = call.arguments().expect("none is a reference");
    let i32_at = |at: usize| arguments[at].i32().unwrap();
    match call.import().unwrap() {
        ("host", "number") => vec![Val::I32(i32_at(0) + 1)],
        ("host", "long") => vec![Val::I64(arguments[0].i64().unwrap() * i64::from(i32_at(1)))],
        ("host", "float") => vec![Val::F64((arguments[0].f64().unwrap() / 2.0).to_bits())],
        ("host", "later") => vec![Val::I32(i32_at(0) * 7)],
        ("host", "many") => vec![
            Val::I64(arguments[1].i64().unwrap() + arguments[5].i64().unwrap()),
            Val::F64(5.0_f64.to_bits()),
            Val::I32(i32_at(0) + i32_at(4)),
        ],
        other => panic!("{other:?}"),
    }
}

const COUNT: i32 = 100;

/// Begins a hundred calls, takes a snapshot while all wait, and lets them end. Returns the snapshot
/// and the sorted results.
fn hundred_calls(module: &Module, between: impl FnOnce(&Accessor<()>)) -> (Snapshot, Vec<i32>) {
    let host = Host::default();
    let (mut store, instance) = start_with(&linker(module.engine(), &host), (), module);
    let functions =
        DESIGNS.map(|name| instance.get_typed_func::<i32, i32>(&mut store, name).unwrap());
    let ended = block_on(store.run_concurrent(async |accessor| {
        let mut calls: Vec<_> = (0..COUNT)
            .map(|n| Box::pin(functions[n as usize % 6].call_concurrent(accessor, n)))
            .collect();
        // One call is dropped.
        let mut lost = Box::pin(functions[1].call_concurrent(accessor, 1_000_000));
        assert!(poll_once(lost.as_mut()).is_pending());
        for call in &mut calls {
            assert!(poll_once(call.as_mut()).is_pending());
        }
        drop(lost);
        between(accessor);
        let snapshot = accessor.snapshot(&SnapshotOptions::new()).unwrap();
        *host.replies.lock().unwrap() = true;
        let mut results = Vec::new();
        for call in calls {
            results.push(call.await.unwrap());
        }
        results.sort_unstable();
        (snapshot, results)
    }));
    assert_eq!(store.stack_statistics().running, 0);
    ended
}

fn restore(snapshot: &Snapshot, module: &Module) -> Restored<()> {
    // The test itself resumes the calls with their results.
    let linker = linker(module.engine(), &Host::default());
    through_bytes(snapshot).restore(&linker, std::slice::from_ref(module), ()).unwrap()
}

fn one_by_one(snapshot: &Snapshot, module: &Module) -> Vec<i32> {
    let mut restored = restore(snapshot, module);
    let calls = std::mem::take(&mut restored.calls);
    assert_eq!(calls.len(), COUNT as usize);
    let mut results = Vec::new();
    // The calls end in another order than they began.
    for call in calls.into_iter().rev() {
        let given = reply_to(&call);
        results.push(call.resume(&mut restored.store, &given).unwrap()[0].i32().unwrap());
    }
    check_live(&mut restored.store, 0);
    results.sort_unstable();
    results
}

fn module() -> Module {
    Module::new(&engine(), SOURCE).unwrap()
}

#[test]
fn a_hundred_calls_that_wait_are_restored_and_end_alike_in_every_design() {
    for mode in [DEFAULT, COLLECT_AND_MOVE, CHECK, PARK, MINIMAL_STACKS, SINGLE_PASS] {
        let engine = Engine::new(mode.config().snapshots(true)).unwrap();
        let module = Module::new(&engine, SOURCE).unwrap();
        let (snapshot, expected) = hundred_calls(&module, |_| ());
        assert_eq!(one_by_one(&snapshot, &module), expected, "{}", mode.name);
    }
}

#[test]
fn a_hundred_waiting_calls_survive_repeated_snapshots() {
    let module = module();
    let (mut snapshot, expected) = hundred_calls(&module, |_| ());
    for _ in 0..3 {
        let mut restored = restore(&snapshot, &module);
        // The other calls are still there.
        snapshot = restored.store.snapshot(&SnapshotOptions::new()).unwrap();
    }
    assert_eq!(one_by_one(&snapshot, &module), expected);
}

#[test]
fn a_hundred_restored_calls_continue_beside_new_ones() {
    let module = module();
    let (snapshot, expected) =
        hundred_calls(&module, |accessor| accessor.with(|mut store| store.gc()));
    let host = Host::default();
    let linker = linker(module.engine(), &host);
    let modules = std::slice::from_ref(&module);
    let mut restored = snapshot.restore(&linker, modules, ()).unwrap();
    let calls = std::mem::take(&mut restored.calls);
    let instance = linker.instantiate(&mut restored.store, &module).unwrap();
    let run = instance.get_typed_func::<i32, i32>(&mut restored.store, "task").unwrap();
    let mut results = block_on(restored.store.run_concurrent(async |accessor| {
        let mut new = Box::pin(run.call_concurrent(accessor, 5));
        assert!(poll_once(new.as_mut()).is_pending());
        let mut results = Vec::new();
        for call in calls {
            let given = reply_to(&call);
            let ended = call.resume_concurrent(accessor, &given).await.unwrap();
            results.push(ended[0].i32().unwrap());
        }
        *host.replies.lock().unwrap() = true;
        assert_eq!(new.await.unwrap(), 5 * 1000 + 6);
        results
    }));
    results.sort_unstable();
    assert_eq!(results, expected);
}

#[test]
fn a_hundred_calls_continue_in_another_process() {
    let module = module();
    if told_by_parent().is_some() {
        let mut bytes = Vec::new();
        std::io::stdin().read_to_end(&mut bytes).unwrap();
        // SAFETY: the parent made the snapshot.
        let snapshot = unsafe { Snapshot::from_bytes(bytes) }.unwrap();
        println!("results: {:?}", one_by_one(&snapshot, &module));
        return;
    }
    let (snapshot, expected) = hundred_calls(&module, |_| ());
    let mut child = rerun("").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(snapshot.as_bytes()).unwrap();
    let printed = child.wait_with_output().unwrap().stdout;
    let printed = String::from_utf8_lossy(&printed);
    assert!(printed.contains(&format!("results: {expected:?}")), "{printed}");
}

#[test]
fn a_cancelled_restored_call_frees_its_stacks_and_other_calls_continue() {
    let module = module();
    let (snapshot, _) = hundred_calls(&module, |_| ());
    let mut restored = restore(&snapshot, &module);
    let mut calls = std::mem::take(&mut restored.calls);
    let mut other = restore(&snapshot, &module);
    let error = other.calls.pop().unwrap().cancel(&mut restored.store).unwrap_err();
    assert!(error.downcast_ref::<WrongStore>().is_some(), "{error}");
    let last = calls.pop().unwrap();
    for call in calls {
        call.cancel(&mut restored.store).unwrap();
    }
    let given = reply_to(&last);
    last.resume(&mut restored.store, &given).unwrap();
    check_live(&mut restored.store, 0);
}

/// A call waits in the host function of another call that waits.
#[test]
fn calls_within_each_other_that_wait_are_restored_each_by_itself() {
    let source = r#"
    (module
      (import "host" "outer" (func $outer (param i32) (result i32)))
      (import "host" "inner" (func $inner (param i32) (result i32)))
      (func (export "run") (result i32) (i32.add (i32.const 1) (call $outer (i32.const 20))))
      (func (export "nested") (param i32) (result i32)
        (i32.mul (i32.const 2) (call $inner (local.get 0)))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let taken: Arc<Mutex<Vec<Snapshot>>> = Arc::default();
    let mut linker: Linker<()> = Linker::new(module.engine());
    let list = taken.clone();
    linker.host_async("outer", move |mut caller: Caller<'_, ()>, (n,): (i32,)| {
        let list = list.clone();
        Box::new(async move {
            snapshot_twice(&mut caller, &list).await?;
            let nested = caller.get_export("nested").and_then(Extern::into_func).unwrap();
            let nested = nested.typed::<i32, i32>(&caller)?;
            nested.call_async(&mut caller, n).await
        })
    });
    let list = taken.clone();
    linker.host_async("inner", move |mut caller: Caller<'_, ()>, (n,): (i32,)| {
        let list = list.clone();
        Box::new(async move {
            snapshot_twice(&mut caller, &list).await?;
            Ok::<i32, Error>(n + 1)
        })
    });
    let (mut store, instance) = start_with(&linker, (), &module);
    let run = instance.get_typed_func::<(), i32>(&mut store, "run").unwrap();
    assert_eq!(block_on(run.call_async(&mut store, ())).unwrap(), 43);
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    let imports: Vec<Vec<String>> = taken
        .iter()
        .map(|snapshot| {
            let modules = std::slice::from_ref(&module);
            let mut restored = snapshot.restore(&linker, modules, ()).unwrap();
            let calls = std::mem::take(&mut restored.calls);
            let names = calls.iter().map(|call| call.import().unwrap().1.to_string()).collect();
            // From the inside out: the result of the inner call is the result of the outer
            // function.
            let mut result = Val::I32(21);
            let is_nested = calls.len() == 2;
            for call in calls.into_iter().rev() {
                let name = call.import().unwrap().1.to_string();
                let given = if !is_nested && name == "outer" { Val::I32(42) } else { result };
                let ended = call.resume(&mut restored.store, &[given]).unwrap();
                result = ended.into_iter().next().unwrap();
            }
            assert_eq!(result.i32(), Some(43));
            names
        })
        .collect();
    assert_eq!(
        imports,
        [vec!["outer"], vec!["outer"], vec!["outer", "inner"], vec!["outer", "inner"]]
    );
}

/// Takes a snapshot before the call of a host function waits, while the function runs, and another
/// one afterwards.
async fn snapshot_twice(caller: &mut Caller<'_, ()>, list: &Mutex<Vec<Snapshot>>) -> Result<()> {
    for waits in [true, false] {
        let snapshot = caller.snapshot(&SnapshotOptions::new())?;
        list.lock().unwrap().push(snapshot);
        if waits {
            yield_once().await;
        }
    }
    Ok(())
}

async fn yield_once() {
    let mut polled = false;
    poll_fn(|_| match std::mem::replace(&mut polled, true) {
        false => Poll::Pending,
        true => Poll::Ready(()),
    })
    .await
}

#[test]
fn a_function_with_an_accessor_takes_one_before_and_after_it_has_waited() {
    let source = r#"
    (module
      (import "host" "wait" (func $wait (param i32) (result i32)))
      (import "host" "save" (func $save (param i32) (result i32)))
      (func (export "wait") (param i32) (result i32) (call $wait (local.get 0)))
      (func (export "save") (param i32) (result i32) (call $save (local.get 0))))"#;
    let taken: Arc<Mutex<Vec<Snapshot>>> = Arc::default();
    let list = taken.clone();
    let module = Module::new(&engine(), source).unwrap();
    let mut linker: Linker<()> = Linker::new(module.engine());
    linker.host_concurrent("wait", |_: &Accessor<()>, (_,): (i32,)| Box::pin(pending::<i32>()));
    linker.host_concurrent("save", move |accessor: &Accessor<()>, (n,): (i32,)| {
        let list = list.clone();
        Box::pin(async move {
            list.lock().unwrap().push(accessor.snapshot(&SnapshotOptions::new())?);
            yield_once().await;
            list.lock().unwrap().push(accessor.snapshot(&SnapshotOptions::new())?);
            Ok::<i32, Error>(n)
        })
    });
    let (mut store, instance) = start_with(&linker, (), &module);
    let [wait, save] =
        ["wait", "save"].map(|name| instance.get_typed_func::<i32, i32>(&mut store, name).unwrap());
    block_on(store.run_concurrent(async |accessor| {
        let mut waits = Box::pin(wait.call_concurrent(accessor, 1));
        assert!(poll_once(waits.as_mut()).is_pending());
        assert_eq!(save.call_concurrent(accessor, 2).await.unwrap(), 2);
    }));
    // The same function in a call that borrows the store exclusively.
    assert_eq!(block_on(save.call_async(&mut store, 3)).unwrap(), 3);
    let taken = std::mem::take(&mut *taken.lock().unwrap());
    let calls: Vec<Vec<String>> = taken
        .iter()
        .map(|snapshot| {
            let modules = std::slice::from_ref(&module);
            let mut restored = snapshot.restore(&linker, modules, ()).unwrap();
            let calls = std::mem::take(&mut restored.calls);
            let names = calls.iter().map(|call| call.import().unwrap().1.to_string()).collect();
            for call in calls {
                let results = call.resume(&mut restored.store, &[Val::I32(77)]).unwrap();
                assert_eq!(results[0].i32(), Some(77));
            }
            names
        })
        .collect();
    assert_eq!(calls, [vec!["wait", "save"], vec!["wait", "save"], vec!["save"], vec!["save"]]);
}

#[test]
fn calls_that_have_passed_their_turn_are_restored_where_they_were() {
    let source = r#"
    (module
      (func (export "sum") (param $n i32) (result i64) (local $sum i64)
        (loop $next
          (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u (local.get $n))))
          (br_if $next (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
        (local.get $sum)))"#;
    let engine =
        Engine::new(Config::new().snapshots(true).interruption(true).consume_fuel(true)).unwrap();
    let module = Module::new(&engine, source).unwrap();
    let (mut store, instance) = start(&module);
    let sum = instance.get_typed_func::<i32, i64>(&mut store, "sum").unwrap();
    store.set_fuel(u64::MAX).unwrap();
    store.fuel_async_yield_interval(Some(100)).unwrap();
    let snapshot = block_on(store.run_concurrent(async |accessor| {
        let mut calls = [1000, 2000].map(|n| Box::pin(sum.call_concurrent(accessor, n)));
        for _ in 0..3 {
            for call in &mut calls {
                assert!(poll_once(call.as_mut()).is_pending());
            }
        }
        accessor.snapshot(&SnapshotOptions::new()).unwrap()
    }));
    let mut restored = snapshot.restore(&Linker::<()>::new(&engine), &[module], ()).unwrap();
    restored.store.set_fuel(u64::MAX).unwrap();
    let calls = std::mem::take(&mut restored.calls);
    let mut found = Vec::new();
    for call in calls {
        assert!(call.import().is_none() && call.arguments().is_none());
        found.push(call.resume(&mut restored.store, &[]).unwrap()[0].i64().unwrap());
    }
    found.sort_unstable();
    assert_eq!(found, [500_500, 2_001_000]);
}
