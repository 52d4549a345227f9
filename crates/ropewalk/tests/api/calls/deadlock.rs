//! Deadlocks: concurrent calls that wait for each other end with an error that lists who waits for
//! whom.

use crate::common::*;
use ropewalk::*;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

/// Mailboxes of three calls.
#[derive(Default)]
struct Mail([tokio::sync::Notify; 3]);

const LETTERS: &str = r#"(module $m
    (import "host" "receive" (func $receive (param i32)))
    (import "host" "send" (func $send (param i32)))
    (import "host" "sleep" (func $sleep))
    (type $f (func)) (type $c (cont $f)) (tag $never)
    (global $mine (mut i32) (i32.const 0))
    (elem declare func $body $suspended)
    ;; Receives a letter in a continuation, and then sends one.
    (func $body (call $receive (global.get $mine)))
    (func (export "receives") (param $mine i32) (param $other i32)
      (global.set $mine (local.get $mine))
      (resume $c (cont.new $c (ref.func $body)))
      (call $send (local.get $other)))
    (func (export "sends") (param i32 i32) (call $send (local.get 1)))
    (func (export "sleeps") (param i32 i32) (call $sleep) (call $send (local.get 1)))
    (global $kept (mut (ref null $c)) (ref.null $c))
    (func $suspended (suspend $never))
    (func (export "keeps") (param i32 i32)
      (block $on (result (ref $c))
        (resume $c (on $never $on) (cont.new $c (ref.func $suspended))) (unreachable))
      (global.set $kept)))"#;

/// Finds an exported function.
type Exports = Box<dyn Fn(&mut Store<Arc<Mail>>, &str) -> Letters>;
type Letters = TypedFunc<(i32, i32), ()>;

/// A store with the functions above. Some of them wait for the guest.
fn letters(engine: &Engine) -> (Store<Arc<Mail>>, Exports) {
    let mut linker = Linker::new(engine);
    linker.host_concurrent("receive", |accessor: &Accessor<Arc<Mail>>, (box_,): (i32,)| {
        Box::pin(async move {
            let mail = accessor.with(|store| store.data().clone());
            Ok::<(), Error>(accessor.wait_for_guest(mail.0[box_ as usize].notified()).await?)
        })
    });
    let send =
        |caller: Caller<'_, Arc<Mail>>, box_: i32| caller.data().0[box_ as usize].notify_one();
    linker.host("send", send);
    linker.host_concurrent("sleep", |_: &Accessor<Arc<Mail>>, (): ()| {
        Box::pin(tokio::time::sleep(Duration::from_millis(20)))
    });
    let (store, instance) = link(&linker, Arc::default(), LETTERS);
    let export = move |store: &mut Store<Arc<Mail>>, name: &str| {
        instance.get_typed_func::<(i32, i32), ()>(store, name).unwrap()
    };
    (store, Box::new(export))
}

fn run<R>(future: impl Future<Output = R>) -> R {
    tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(async {
        let within = Duration::from_secs(60);
        tokio::time::timeout(within, future).await.expect("it does not wait for ever")
    })
}

#[test]
fn calls_that_wait_for_each_other_end_with_who_waits_for_whom() {
    for (mut store, export) in engines().iter().map(letters) {
        let (receives, keeps) = (export(&mut store, "receives"), export(&mut store, "keeps"));
        let results = run(store.run_concurrent(async |accessor| {
            keeps.call_concurrent(accessor, (0, 0)).await.unwrap();
            // Each call sends only after it has received.
            tokio::join!(
                receives.call_concurrent(accessor, (0, 1)),
                receives.call_concurrent(accessor, (1, 2)),
                receives.call_concurrent(accessor, (2, 0)),
            )
        }));
        for result in [results.0, results.1, results.2] {
            let report = result.unwrap_err().root_cause().to_string();
            assert!(report.contains("deadlock: every call waits for another"), "{report}");
            let count = |part: &str| report.matches(part).count();
            assert_eq!(count("(continuation of m!body) is in a call of the host"), 3, "{report}");
            assert_eq!(count("(call $receive (global.get $mine))"), 3, "{report}");
            assert_eq!(count("(root of m!receives) waits for stack"), 3, "{report}");
            assert_eq!(count("(continuation of m!suspended) is suspended"), 1, "{report}");
        }
        // The store is still usable.
        let sends = export(&mut store, "sends");
        let results = run(store.run_concurrent(async |accessor| {
            tokio::join!(
                receives.call_concurrent(accessor, (0, 1)),
                sends.call_concurrent(accessor, (0, 0)),
            )
        }));
        results.0.and(results.1).unwrap();
    }
}

#[test]
fn calls_with_wakers_or_waiting_for_the_host_are_no_deadlock() {
    let (mut store, export) = letters(&Engine::default());
    let (receives, sends) = (export(&mut store, "receives"), export(&mut store, "sends"));
    // The third call releases the first, which releases the second, in any order.
    for order in [[0, 1, 2], [2, 1, 0], [1, 2, 0]] {
        let results = run(store.run_concurrent(async |accessor| {
            let call = async |number: i32| match number {
                0 => receives.call_concurrent(accessor, (0, 1)).await,
                1 => receives.call_concurrent(accessor, (1, 2)).await,
                _ => sends.call_concurrent(accessor, (2, 0)).await,
            };
            let [a, b, c] = order;
            tokio::join!(call(a), call(b), call(c))
        }));
        results.0.and(results.1).and(results.2).unwrap();
    }
    let sleeps = export(&mut store, "sleeps");
    let results = run(store.run_concurrent(async |accessor| {
        tokio::join!(
            receives.call_concurrent(accessor, (0, 1)),
            sleeps.call_concurrent(accessor, (1, 0)),
        )
    }));
    results.0.and(results.1).unwrap();
    // A single call waits for a sender that does not exist.
    let alone = run(
        store.run_concurrent(async |accessor| receives.call_concurrent(accessor, (0, 1)).await)
    );
    assert!(alone.unwrap_err().root_cause().downcast_ref::<Deadlock>().is_some());
}
