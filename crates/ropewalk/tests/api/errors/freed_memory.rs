//! The engine neither writes to freed memory nor reads it.
//!
//! The [allocator](crate::allocator) keeps the freed blocks, fills them with a pattern and checks
//! it at the end.

use crate::allocator::check_freed_memory;
use crate::common::*;
use ropewalk::*;

const CALLS: &str = r#"(module
    (import "host" "f" (func $f (param i32) (result i32)))
    (func (export "run") (param i32) (result i32)
      (i32.add (call $f (local.get 0)) (call $f (i32.const 0)))))"#;

/// A store with a function that waits for a number of polls and has an accessor.
fn with_accessor(engine: &Engine) -> (Store<i32>, TypedFunc<i32, i32>) {
    let mut linker = Linker::new(engine);
    linker.host_concurrent("f", |accessor: &Accessor<i32>, (polls,): (i32,)| {
        Box::pin(async move {
            After(polls as usize).await;
            accessor.with(|mut store| {
                *store.data_mut() += 1;
                *store.data()
            })
        })
    });
    let (mut store, instance) = link(&linker, 0, CALLS);
    let run = instance.get_typed_func(&mut store, "run").unwrap();
    (store, run)
}

#[test]
fn a_function_with_an_accessor_of_its_own_writes_to_nothing_that_was_freed() {
    for (mut store, run) in engines().iter().map(with_accessor) {
        check_freed_memory(|| {
            // Ready at once, in a synchronous call and an async one. Waits in a synchronous call.
            // Waits and is dropped.
            assert_eq!(run.call(&mut store, 0).unwrap(), 3);
            assert_eq!(block_on(run.call_async(&mut store, 0)).unwrap(), 7);
            assert!(run.call(&mut store, 1).is_err());
            assert_eq!(block_on(run.call_async(&mut store, 2)).unwrap(), 11);
            let mut context = std::task::Context::from_waker(std::task::Waker::noop());
            let mut given_up = Box::pin(run.call_async(&mut store, 2));
            assert!(given_up.as_mut().poll(&mut context).is_pending());
        });
    }
}

#[test]
fn a_restored_call_that_never_continues_keeps_its_references() {
    let source = r#"(module
      (import "host" "f" (func $f (result i32)))
      (tag $yield (export "yield") (param i32)) (tag $other (export "other"))
      (func (export "continuation") (result i32) (suspend $yield (call $f)) (i32.const 5))
      (func (export "call") (result i32 i32 i32) (call $f) (call $f) (call $f)))"#;
    let engine =
        Engine::new(Config::new().snapshots(true).stress(|stress| stress.check_stacks = true))
            .unwrap();
    let module = Module::new(&engine, source).unwrap();
    let mut linker = Linker::new(&engine);
    linker.host("f", |mut caller: Caller<'_, Option<Snapshot>>| -> Result<i32> {
        *caller.data_mut() = Some(caller.snapshot(&SnapshotOptions::new())?);
        Ok(1)
    });
    let (mut store, instance) = start_with(&linker, None, &module);
    let tags = ["yield", "other"].map(|name| instance.get_tag(&mut store, name).unwrap());
    let run = instance.get_func(&mut store, "continuation").unwrap();
    let run = Continuation::new(&mut store, run).unwrap();
    drop(run.resume_on(&mut store, &tags, &[]).unwrap());
    let continuation = store.data_mut().take().unwrap();
    crate::common::call(&mut store, instance, "call", &[]).unwrap();
    let call = store.data_mut().take().unwrap();

    // The call is dropped, or resumed with values that it does not wait for.
    type Lose = fn(&mut Store<Option<Snapshot>>, RestoredCall);
    let ways: [Lose; 3] = [
        |_, call| drop(call),
        |store, call| drop(call.resume_until_suspended(store, &[Val::I64(0)]).unwrap_err()),
        |store, call| {
            let resumed = store.run_concurrent(async |accessor| {
                call.resume_concurrent(accessor, &[Val::I32(0), Val::I32(0)]).await
            });
            drop(block_on(resumed).unwrap_err());
        },
    ];
    let modules = std::slice::from_ref(&module);
    for (snapshot, lose) in [&continuation, &call].into_iter().flat_map(|s| ways.map(|l| (s, l))) {
        check_freed_memory(|| {
            let mut restored = snapshot.restore(&linker, modules, None).unwrap();
            let lost = restored.calls.pop().unwrap();
            lose(&mut restored.store, lost);
            restored.store.gc();
            restored.store.stacks().unwrap();
            // Another snapshot of it can be continued.
            let again = restored.store.snapshot(&SnapshotOptions::new()).unwrap();
            let mut restored = again.restore(&linker, modules, None).unwrap();
            let call = restored.calls.pop().unwrap();
            let resumed = call.resume_until_suspended(&mut restored.store, &[Val::I32(7)]).unwrap();
            match resumed {
                Resumed::Suspended { values, .. } => assert_eq!(values[0].i32(), Some(7)),
                Resumed::Returned(results) => assert_eq!(results[2].i32(), Some(7)),
            }
        });
    }
}
