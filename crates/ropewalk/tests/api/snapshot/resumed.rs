//! Continuations that the host resumed and that took the snapshot.

use super::*;
use std::sync::{Arc, Mutex};

/// The snapshots that `ask` took.
type Taken = Arc<Mutex<Vec<Snapshot>>>;

const ANSWER: i32 = 10;

fn linker(engine: &Engine, taken: &Taken) -> Linker<()> {
    let mut linker = Linker::new(engine);
    let list = taken.clone();
    linker.host("ask", move |mut caller: Caller<'_, ()>| -> Result<i32> {
        list.lock().unwrap().push(caller.snapshot(&SnapshotOptions::new())?);
        Ok(ANSWER)
    });
    let list = taken.clone();
    linker.host_async("later", move |mut caller: Caller<'_, ()>, (): ()| {
        let list = list.clone();
        Box::new(async move {
            tokio::task::yield_now().await;
            list.lock().unwrap().push(caller.snapshot(&SnapshotOptions::new())?);
            Ok::<i32, Error>(ANSWER)
        })
    });
    linker
}

/// Resumes a continuation until it returns. Returns the values of each suspension, then the
/// results.
fn to_its_end(
    store: &mut Store<()>,
    mut resumed: Resumed,
    on: &[&str],
    main: Instance,
) -> Vec<i32> {
    let numbers = |values: &[Val]| values.iter().map(|value| value.i32().unwrap()).collect();
    let mut came = Vec::new();
    loop {
        let rest = match resumed {
            Resumed::Returned(results) => {
                came.extend::<Vec<i32>>(numbers(&results));
                return came;
            }
            Resumed::Suspended { values, continuation, .. } => {
                came.extend::<Vec<i32>>(numbers(&values));
                continuation
            }
        };
        let arguments: Vec<Val> =
            rest.ty(&*store).unwrap().params().iter().map(|_| Val::I32(3)).collect();
        let tags: Vec<Tag> =
            on.iter().map(|name| main.get_tag(&mut *store, name).unwrap()).collect();
        resumed = match tags.is_empty() {
            true => rest.resume(&mut *store, &arguments).unwrap(),
            false => rest.resume_on(&mut *store, &tags, &arguments).unwrap(),
        };
    }
}

/// Runs `run` as a continuation of the host that takes a snapshot at each question. Each snapshot
/// must continue like the original.
fn continues_alike(source: &str, on: &[&str]) {
    let module = Module::new(&engine(), source).unwrap();
    let taken = Taken::default();
    let linker = linker(module.engine(), &taken);
    let (mut store, instance) = start_with(&linker, (), &module);
    let rest = continuation(&mut store, instance, "run");
    let tags: Vec<Tag> =
        on.iter().map(|name| instance.get_tag(&mut store, name).unwrap()).collect();
    let resumed = match tags.is_empty() {
        true => rest.resume(&mut store, &[]).unwrap(),
        false => rest.resume_on(&mut store, &tags, &[]).unwrap(),
    };
    let expected = to_its_end(&mut store, resumed, on, instance);
    let snapshots = std::mem::take(&mut *taken.lock().unwrap());
    assert!(snapshots.len() >= 2, "it asks");
    for snapshot in &snapshots {
        let modules = std::slice::from_ref(&module);
        let mut restored = through_bytes(snapshot).restore(&linker, modules, ()).unwrap();
        let call = restored.calls.pop().unwrap();
        assert!(call.is_continuation() && restored.calls.is_empty());
        // The store can be saved again before the call continues.
        let again = restored.store.snapshot(&SnapshotOptions::new()).unwrap();
        drop((call, restored));
        let mut restored = again.restore(&linker, modules, ()).unwrap();
        let call = restored.calls.pop().unwrap();
        assert_eq!(call.import(), Some(("host", "ask")));
        let store = &mut restored.store;
        let resumed = call.resume_until_suspended(&mut *store, &[Val::I32(ANSWER)]).unwrap();
        let main = linker.instantiate(&mut *store, &module).unwrap();
        let found = to_its_end(&mut *store, resumed, &[], main);
        assert!(expected.ends_with(&found), "{found:?} is no end of {expected:?}");
        assert!(!found.is_empty());
        check_live(store, 0);
    }
}

#[test]
fn a_continuation_of_the_host_continues_and_suspends_to_the_host() {
    let source = r#"(module
          (import "host" "ask" (func $ask (result i32)))
          (tag $yield (export "yield") (param i32) (result i32))
          (func $twice (result i32) (i32.add (call $ask) (suspend $yield (call $ask))))
          (func (export "run") (result i32 i32) (call $twice) (call $twice)))"#;
    continues_alike(source, &[]);
}

#[test]
fn the_clauses_of_the_host_are_those_that_it_had() {
    let source = r#"(module
          (import "host" "ask" (func $ask (result i32)))
          (tag $a (export "a") (param i32)) (tag $b (export "b") (param i32 i32))
          (tag $c (export "c"))
          (func (export "run") (result i32)
            (suspend $a (call $ask))
            (suspend $b (call $ask) (i32.const 7))
            (suspend $c)
            (call $ask)))"#;
    continues_alike(source, &["a", "b", "c"]);
    // With another tag it is unhandled.
    let source = r#"(module
      (import "host" "ask" (func $ask (result i32)))
      (tag $a (export "a")) (tag $b)
      (func (export "run") (drop (call $ask)) (suspend $b)))"#;
    let module = Module::new(&engine(), source).unwrap();
    let taken = Taken::default();
    let linker = linker(module.engine(), &taken);
    let (mut store, instance) = start_with(&linker, (), &module);
    let run = instance.get_func(&mut store, "run").unwrap();
    let a = instance.get_tag(&mut store, "a").unwrap();
    let rest = Continuation::new(&mut store, run).unwrap();
    traps(rest.resume_on(&mut store, &[a], &[]), TrapCode::UnhandledTag);
    let snapshot = taken.lock().unwrap().pop().unwrap();
    let mut restored = snapshot.restore(&linker, &[module], ()).unwrap();
    let call = restored.calls.pop().unwrap();
    traps(call.resume(&mut restored.store, &[Val::I32(1)]), TrapCode::UnhandledTag);
}

#[test]
fn stacks_that_the_continuation_resumed_and_switched_to_continue() {
    let source = r#"(module
          (import "host" "ask" (func $ask (result i32)))
          (type $f (func (result i32))) (type $c (cont $f))
          (tag $in (param i32)) (tag $out (param i32) (result i32))
          (rec (type $to-root (stack (param i32) (ref null $to-body)))
               (type $to-body (stack (ref null $to-root))))
          (elem declare func $inner)
          (func $inner (result i32)
            (suspend $in (call $ask))
            (i32.add (call $ask) (suspend $out (i32.const 77))))
          (func $on-bag (param $root (ref null $to-root))
            (switch_retire $to-root (call $ask) (local.get $root)))
          (func (export "run") (result i32) (local $c (ref null $c))
            (local.set $c (cont.new $c (ref.func $inner)))
            (loop $again
              (block $on (result i32 (ref $c))
                (return (i32.add (resume $c (on $in $on) (local.get $c))
                  (block (result i32) (switch $to-body (stack.new $to-body $on-bag)) (drop)))))
              (local.set $c) (drop) (br $again))
            (unreachable)))"#;
    continues_alike(source, &[]);
}

#[test]
fn a_call_that_waits_for_a_future_continues_in_another_store() {
    let source = r#"(module
      (import "host" "later" (func $later (result i32)))
      (tag $yield (export "yield") (param i32))
      (func (export "run") (result i32)
        (suspend $yield (call $later))
        (i32.mul (call $later) (i32.const 5))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let taken = Taken::default();
    let linker = linker(module.engine(), &taken);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut store = Store::new(module.engine(), ());
        let instance = linker.instantiate_async(&mut store, &module).await.unwrap();
        let rest = continuation(&mut store, instance, "run");
        let (.., continuation) = suspended(rest.resume_async(&mut store, &[]).await);
        continuation.resume_async(&mut store, &[]).await.unwrap();
        let taken = std::mem::take(&mut *taken.lock().unwrap());
        for (is_first, snapshot) in [true, false].into_iter().zip(taken) {
            let modules = std::slice::from_ref(&module);
            let mut restored = snapshot.restore(&linker, modules, ()).unwrap();
            let call = restored.calls.pop().unwrap();
            let store = &mut restored.store;
            let resumed = call.resume_until_suspended_async(&mut *store, &[Val::I32(4)]).await;
            match resumed.unwrap() {
                Resumed::Suspended { values, .. } => {
                    assert!(is_first && values[0].i32() == Some(4), "{values:?}");
                }
                Resumed::Returned(results) => {
                    assert!(!is_first && results[0].i32() == Some(20), "{results:?}");
                }
            }
        }
    });
}

/// A suspended stack still names its last resumer, and the next activation has the same root.
#[test]
fn another_continuation_with_the_same_root_is_not_taken_for_the_running_one() {
    let source = r#"(module
      (import "host" "ask" (func $ask (result i32)))
      (tag $yield (export "yield") (param i32))
      (func (export "asks") (result i32) (i32.add (call $ask) (i32.const 1)))
      (func (export "yields") (result i64 i64) (suspend $yield (i32.const 6))
        (i64.const 7) (i64.const 8)))"#;
    for asks_first in [true, false] {
        let module = Module::new(&engine(), source).unwrap();
        let mut linker = Linker::new(module.engine());
        type Data = (Option<Continuation>, Option<Snapshot>);
        linker.host("ask", |mut caller: Caller<'_, Data>| -> Result<i32> {
            let mut options = SnapshotOptions::new();
            options.name_continuation("other", caller.data().0.as_ref().unwrap());
            caller.data_mut().1 = Some(caller.snapshot(&options)?);
            Ok(ANSWER)
        });
        let (mut store, instance) = start_with(&linker, (None, None), &module);
        let mut made = |name| {
            let function = instance.get_func(&mut store, name).unwrap();
            Continuation::new(&mut store, function).unwrap()
        };
        let (asks, yields) = match asks_first {
            true => (made("asks"), made("yields")),
            false => {
                let yields = made("yields");
                (made("asks"), yields)
            }
        };
        let (.., continuation) = suspended(yields.resume(&mut store, &[]));
        store.data_mut().0 = Some(continuation);
        asks.resume(&mut store, &[]).unwrap();

        let snapshot = store.data_mut().1.take().unwrap();
        let mut restored = snapshot.restore(&linker, &[module], (None, None)).unwrap();
        let call = restored.calls.pop().unwrap();
        let found = call.resume(&mut restored.store, &[Val::I32(ANSWER)]).unwrap();
        assert_eq!(found[0].i32(), Some(ANSWER + 1));
        let other = restored.continuation("other").unwrap();
        let values = results(other.resume(&mut restored.store, &[]));
        assert_eq!((values[0].i64(), values[1].i64()), (Some(7), Some(8)));
    }
}
