//! Threads that share an accessor.

use super::{CHECK, DEFAULT, engine};
use crate::common::*;
use ropewalk::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

const MODULE: &str = r#"(module
  (import "host" "a" (func $a (param i32) (result i32)))
  (import "host" "b" (func $b (param i32) (result i32)))
  (func (export "a") (param i32) (result i32) (local i64)
    (local.set 1 (i64.const 0x1111))
    (i32.add (call $a (local.get 0)) (i32.wrap_i64 (local.get 1))))
  (func (export "b") (param i32) (result i32) (local i64)
    (local.set 1 (i64.const 0x2222))
    (i32.add (call $b (local.get 0)) (i32.wrap_i64 (local.get 1)))))"#;

/// A thread that wants the store waits while another thread runs a host function.
#[test]
fn host_functions_of_two_threads_end_in_the_opposite_order_in_which_they_began() {
    for mode in [DEFAULT, CHECK] {
        let mut linker: Linker<()> = Linker::new(&engine(mode));
        let inside = Arc::new(AtomicUsize::new(0));
        let (in_a, in_b) = (inside.clone(), inside.clone());
        linker.host_concurrent("a", move |_: &Accessor<()>, (x,): (i32,)| {
            let inside = in_a.clone();
            Box::pin(async move {
                inside.fetch_add(1, Ordering::SeqCst);
                // The other thread tries to begin now.
                std::thread::sleep(std::time::Duration::from_millis(20));
                assert_eq!(inside.fetch_sub(1, Ordering::SeqCst), 1, "two callers were inside");
                x + 1
            })
        });
        linker.host_concurrent("b", move |_: &Accessor<()>, (x,): (i32,)| {
            let inside = in_b.clone();
            Box::pin(async move {
                assert_eq!(inside.fetch_add(1, Ordering::SeqCst), 0, "the other has ended");
                inside.fetch_sub(1, Ordering::SeqCst);
                x + 2
            })
        });
        let (mut store, instance) = link(&linker, (), MODULE);
        let a = instance.get_typed_func::<i32, i32>(&mut store, "a").unwrap();
        let b = instance.get_typed_func::<i32, i32>(&mut store, "b").unwrap();
        block_on(store.run_concurrent(async |accessor| {
            std::thread::scope(|scope| {
                let first = scope.spawn(|| block_on(a.call_concurrent(accessor, 10)));
                let second = scope.spawn(|| {
                    while inside.load(Ordering::SeqCst) == 0 {
                        std::thread::yield_now();
                    }
                    block_on(b.call_concurrent(accessor, 20))
                });
                assert_eq!(first.join().unwrap().unwrap(), 11 + 0x1111);
                assert_eq!(second.join().unwrap().unwrap(), 22 + 0x2222);
            });
        }));
    }
}

/// A host function with an accessor may use the store, also for other calls.
#[test]
fn a_host_function_calls_again_by_its_accessor_in_its_own_thread() {
    let mut linker: Linker<Option<TypedFunc<i32, i32>>> = Linker::new(&engine(CHECK));
    type Data = Option<TypedFunc<i32, i32>>;
    linker.host_concurrent("a", |accessor: &Accessor<Data>, (x,): (i32,)| {
        Box::pin(async move {
            let b = accessor.with(|store| store.data().clone()).expect("it was put there");
            // Once through the store, and once as a concurrent call.
            let first = accessor.with(|mut store| b.call(&mut store, x))?;
            Ok::<i32, Error>(first + block_on(b.call_concurrent(accessor, x))?)
        })
    });
    linker.host("b", |x: i32| x);
    let (mut store, instance) = link(&linker, None, MODULE);
    let a = instance.get_typed_func::<i32, i32>(&mut store, "a").unwrap();
    let b = instance.get_typed_func::<i32, i32>(&mut store, "b").unwrap();
    *store.data_mut() = Some(b);
    let expected = 0x1111 + 2 * (5 + 0x2222);
    let many =
        block_on(store.run_concurrent(async |accessor| a.call_concurrent(accessor, 5).await));
    assert_eq!(many.unwrap(), expected);
    assert_eq!(block_on(a.call_async(&mut store, 5)).unwrap(), expected);
    assert_eq!(a.call(&mut store, 5).unwrap(), expected);
}

/// Threads that begin calls at the same time. Each call waits several times.
#[test]
fn calls_of_many_threads_have_their_own_results() {
    const THREADS: i32 = 4;
    const CALLS: i32 = 100;
    let mut linker: Linker<()> = Linker::new(&engine(CHECK));
    for name in ["a", "b"] {
        linker.host_concurrent(name, |accessor: &Accessor<()>, (x,): (i32,)| {
            Box::pin(async move {
                After(x as usize % 3).await;
                accessor.with(|_| x)
            })
        });
    }
    let (mut store, instance) = link(&linker, (), MODULE);
    let a = instance.get_typed_func::<i32, i32>(&mut store, "a").unwrap();
    let b = instance.get_typed_func::<i32, i32>(&mut store, "b").unwrap();
    block_on(store.run_concurrent(async |accessor| {
        std::thread::scope(|scope| {
            for thread in 0..THREADS {
                let (a, b) = (&a, &b);
                scope.spawn(move || {
                    for x in thread * CALLS..(thread + 1) * CALLS {
                        let both = async {
                            let both = tokio::join!(
                                a.call_concurrent(accessor, x),
                                b.call_concurrent(accessor, x + 1)
                            );
                            (both.0.unwrap(), both.1.unwrap())
                        };
                        assert_eq!(block_on(both), (x + 0x1111, x + 1 + 0x2222));
                    }
                });
            }
        });
    }));
    assert_eq!(store.pending_calls(), 0);
}
