//! Host functions that are `async` functions of Rust, without a box.
//!
//! They are ready at once, later and never, fail, panic, nest, and have large futures.

use crate::common::*;
use ropewalk::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

const MODULE: &str = r#"(module
    (import "host" "f" (func $f (param i32 i32) (result i32)))
    (func (export "once") (param i32 i32) (result i32) (call $f (local.get 0) (local.get 1)))
    (func (export "thrice") (param $polls i32) (result i32)
      (i32.add
        (i32.add
          (call $f (local.get $polls) (i32.const 100)) (call $f (i32.const 0) (i32.const 20)))
        (call $f (local.get $polls) (i32.const 3)))))"#;

/// The data of a store. The tests count its owners.
type Shared = Arc<()>;

/// Waits for this many polls and returns a number.
async fn wait(caller: Caller<'_, Shared>, (polls, x): (i32, i32)) -> i32 {
    let _mine = caller.data().clone();
    After(polls as usize).await;
    x
}

/// The same, with a future that does not fit into the memory that the store reuses.
async fn wait_large(caller: Caller<'_, Shared>, (polls, x): (i32, i32)) -> i32 {
    let _mine = caller.data().clone();
    let bytes = [x as u8; 5000];
    After(polls as usize).await;
    i32::from(std::hint::black_box(&bytes)[4999])
}

/// Fails or panics after this many polls.
async fn fail(caller: Caller<'_, Shared>, (polls, how): (i32, i32)) -> Result<i32> {
    let _mine = caller.data().clone();
    After(polls as usize).await;
    match how {
        0 => Err(Error::msg("it failed")),
        _ => panic!("it panicked"),
    }
}

/// Calls the guest, which calls this function again, to this depth.
async fn nest(mut caller: Caller<'_, Shared>, (polls, depth): (i32, i32)) -> Result<i32> {
    let _mine = caller.data().clone();
    After(polls as usize).await;
    if depth == 0 {
        return Ok(1);
    }
    let once = caller.get_export("once").and_then(Extern::into_func).expect("exported");
    let once = once.typed::<(i32, i32), i32>(&caller)?;
    Ok(1 + once.call_async(&mut caller, (polls, depth - 1)).await?)
}

/// An instance that imports this host function.
fn with<F, R>(engine: &Engine, func: F) -> (Store<Shared>, Instance)
where
    F: for<'a> AsyncFunc<'a, Shared, (i32, i32), Output = R> + 'static,
    R: WasmRet<Values: 'static> + 'static,
{
    let mut linker = Linker::new(engine);
    linker.func_wrap_async_fn("host", "f", func).unwrap();
    link(&linker, Arc::new(()), MODULE)
}

/// Fails unless all futures of the store were dropped.
#[track_caller]
fn nothing_is_left(store: &Store<Shared>) {
    assert_eq!(Arc::strong_count(store.data()), 1);
}

#[test]
fn an_async_function_is_ready_at_once_or_waits() {
    for engine in engines() {
        for (mut store, instance) in [with(&engine, wait), with(&engine, wait_large)] {
            let thrice = instance.get_typed_func::<i32, i32>(&mut store, "thrice").unwrap();
            assert_eq!(thrice.call(&mut store, 0).unwrap(), 123);
            for polls in [0, 1, 3] {
                let (result, polled) = count_polls(thrice.call_async(&mut store, polls));
                assert_eq!((result.unwrap(), polled), (123, 1 + 2 * polls as usize));
            }
            nothing_is_left(&store);
        }
    }
}

#[test]
fn a_synchronous_call_of_a_waiting_function_fails() {
    let (mut store, instance) = with(&Engine::default(), wait);
    let thrice = instance.get_typed_func::<i32, i32>(&mut store, "thrice").unwrap();
    fails_with(thrice.call(&mut store, 1), "call_async");
    nothing_is_left(&store);
    assert_eq!(thrice.call(&mut store, 0).unwrap(), 123);
}

#[test]
fn a_call_that_is_dropped_drops_the_future_for_which_it_waits() {
    for engine in engines() {
        for (mut store, instance) in [with(&engine, wait), with(&engine, wait_large)] {
            let thrice = instance.get_typed_func::<i32, i32>(&mut store, "thrice").unwrap();
            for _ in 0..3 {
                let mut call = Box::pin(thrice.call_async(&mut store, 2));
                assert!(poll_once(call.as_mut()).is_pending());
                drop(call);
                nothing_is_left(&store);
            }
            assert_eq!(block_on(thrice.call_async(&mut store, 1)).unwrap(), 123);
        }
    }
}

#[test]
fn an_error_of_an_async_function_ends_the_call() {
    let (mut store, instance) = with(&Engine::default(), fail);
    let once = instance.get_typed_func::<(i32, i32), i32>(&mut store, "once").unwrap();
    for polls in [0, 2] {
        let error = block_on(once.call_async(&mut store, (polls, 0))).unwrap_err();
        assert!(error.to_string().starts_with("it failed"), "{error}");
        nothing_is_left(&store);
    }
}

#[test]
fn a_panic_of_an_async_function_continues_in_the_caller() {
    let (mut store, instance) = with(&Engine::default(), fail);
    let once = instance.get_typed_func::<(i32, i32), i32>(&mut store, "once").unwrap();
    for polls in [0, 2] {
        let call = AssertUnwindSafe(|| block_on(once.call_async(&mut store, (polls, 1))));
        assert_eq!(catch_unwind(call).unwrap_err().downcast_ref::<&str>(), Some(&"it panicked"));
        nothing_is_left(&store);
    }
}

#[test]
fn async_functions_inside_of_each_other_have_futures_of_their_own() {
    for (mut store, instance) in engines().iter().map(|engine| with(engine, nest)) {
        let once = instance.get_typed_func::<(i32, i32), i32>(&mut store, "once").unwrap();
        for polls in [0, 1] {
            let called = block_on(once.call_async(&mut store, (polls, 5)));
            assert_eq!(called.unwrap(), 6);
            nothing_is_left(&store);
        }
    }
}

#[test]
fn a_function_of_a_store_can_be_an_async_closure() {
    let mut store = Store::new(&Engine::default(), 40);
    let add = Func::wrap_async_fn(&mut store, async |caller: Caller<'_, i32>, (x,): (i32,)| {
        After(1).await;
        caller.data() + x
    });
    let add = add.typed::<i32, i32>(&store).unwrap();
    assert_eq!(block_on(add.call_async(&mut store, 2)).unwrap(), 42);
}
