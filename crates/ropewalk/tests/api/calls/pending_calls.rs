//! Host functions that return a pending host call: they wait without a future.
//!
//! They wait in polled calls on stacks of every design, end with errors, panics and exceptions, are
//! dropped and misused.

use crate::common::*;
use ropewalk::*;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Waker};

const MODULE: &str = r#"(module
    (import "host" "wait" (func $wait (param i32 i32) (result i32)))
    (import "host" "none" (func $none (param i32)))
    (import "host" "wide" (func $wide (result v128)))
    (type $s (struct (field i32))) (type $f (func (param i32) (result i32))) (type $k (cont $f))
    (type $t (task (param i32) (result i32))) (tag $error (export "error") (param i32))
    (elem declare func $work)
    ;; Waits twice, with an object in between.
    (func $work (param $n i32) (result i32) (local $mine (ref null $s))
      (local.set $mine (struct.new $s (call $wait (local.get $n) (i32.const 10))))
      (i32.add (call $wait (local.get $n) (i32.const 20)) (struct.get $s 0 (local.get $mine))))
    (func (export "on the root") (param i32) (result i32) (call $work (local.get 0)))
    (func (export "on a continuation") (param i32) (result i32)
      (resume $k (local.get 0) (cont.new $k (ref.func $work))))
    (func (export "on a task") (param i32) (result i32)
      (task.resume $t (task.new $t $in-task) (local.get 0)))
    (func $in-task (param $me (ref null $t)) (param i32) (result i32) (call $work (local.get 1)))
    (func (export "catches") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $error $h) (call $work (local.get 0)))))
    (func (export "none") (param i32) (call $none (local.get 0)))
    (func (export "wide") (result v128) (call $wide))
    (func (export "seven") (result i32) (i32.const 7)))"#;

const STACKS: [&str; 3] = ["on the root", "on a continuation", "on a task"];

/// What the pending call of `wait` does at its end.
type Then = fn(StoreContextMut<'_, i32>, Tag, i32) -> Result<i32>;

fn setup(engine: &Engine, then: Then) -> (Store<i32>, Instance) {
    let mut linker = Linker::new(engine);
    let wait = move |mut caller: Caller<'_, i32>, n: i32, x: i32| -> Result<i32> {
        *caller.data_mut() += 1;
        if n == 0 {
            return Ok(x);
        }
        let seven = caller.get_export("seven").and_then(Extern::into_func).unwrap();
        let error = caller.get_export("error").and_then(Extern::into_tag).unwrap();
        let rest = caller.later(move |accessor| {
            Box::pin(async move {
                After(n as usize - 1).await;
                accessor.with(|mut store| {
                    let x = x + seven.typed::<(), i32>(&store)?.call(&mut store, ())?;
                    then(store, error, x)
                })
            })
        });
        Err(rest.into())
    };
    linker.host("wait", wait);
    linker.host("none", |caller: Caller<'_, i32>, n: i32| -> Result<()> {
        Err(caller.later(move |_| Box::pin(After(n as usize))).into())
    });
    linker.host("wide", |caller: Caller<'_, i32>| -> Result<u128> {
        Err(caller.later(|_| Box::pin(async { 7u128 << 99 })).into())
    });
    link(&linker, 0, MODULE)
}

fn typed(store: &mut Store<i32>, instance: Instance, name: &str) -> TypedFunc<i32, i32> {
    instance.get_typed_func(store, name).unwrap()
}

fn check_empty(mut store: Store<i32>) {
    check_live(&mut store, 0);
    assert_eq!(store.pending_calls(), 0);
}

#[test]
fn the_rest_of_a_function_is_waited_for() {
    for (mut store, instance) in all_engines().iter().map(|engine| setup(engine, |_, _, x| Ok(x))) {
        for on in STACKS {
            let func = typed(&mut store, instance, on);
            assert_eq!(block_on(func.call_async(&mut store, 0)).unwrap(), 30, "{on}");
            for n in [1, 2, 5] {
                assert_eq!(block_on(func.call_async(&mut store, n)).unwrap(), 44, "{on}");
            }
        }
        let none = instance.get_typed_func::<i32, ()>(&mut store, "none").unwrap();
        let wide = instance.get_typed_func::<(), u128>(&mut store, "wide").unwrap();
        block_on(none.call_async(&mut store, 3)).unwrap();
        assert_eq!(block_on(wide.call_async(&mut store, ())).unwrap(), 7 << 99);
        check_empty(store);
    }
}

#[test]
fn the_waker_of_the_call_is_woken_by_the_pending_call() {
    struct Count(std::sync::atomic::AtomicUsize);
    impl std::task::Wake for Count {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        }
    }
    let (mut store, instance) = setup(&Engine::default(), |_, _, x| Ok(x));
    let none = instance.get_typed_func::<i32, ()>(&mut store, "none").unwrap();
    let count = Arc::new(Count(0.into()));
    let waker = Waker::from(count.clone());
    let mut context = Context::from_waker(&waker);
    let mut call = pin!(none.call_async(&mut store, 0));
    assert!(call.as_mut().poll(&mut context).is_pending());
    assert_eq!(count.0.load(std::sync::atomic::Ordering::Relaxed), 1);
    assert!(call.as_mut().poll(&mut context).is_ready());
}

#[test]
fn many_calls_of_one_store_wait_for_rests() {
    for (mut store, instance) in all_engines().iter().map(|engine| setup(engine, |_, _, x| Ok(x))) {
        let funcs = STACKS.map(|on| typed(&mut store, instance, on));
        let results = block_on(store.run_concurrent(async |accessor| {
            let [a, b, c] = &funcs;
            tokio::join!(
                a.call_concurrent(accessor, 4),
                b.call_concurrent(accessor, 1),
                c.call_concurrent(accessor, 0),
            )
        }));
        assert_eq!((results.0.unwrap(), results.1.unwrap(), results.2.unwrap()), (44, 44, 30));
        assert_eq!(*store.data(), 6);
        check_empty(store);
    }
}

#[test]
fn a_call_that_cannot_wait_gets_an_error() {
    for (mut store, instance) in all_engines().iter().map(|engine| setup(engine, |_, _, x| Ok(x))) {
        for on in STACKS {
            let func = typed(&mut store, instance, on);
            assert_eq!(func.call(&mut store, 0).unwrap(), 30);
            fails_because(
                func.call(&mut store, 1),
                "the call cannot wait for it: use `call_async`",
            );
        }
        check_empty(store);
    }
}

#[test]
fn a_function_knows_whether_it_may_wait() {
    let engine = Engine::default();
    let module = r#"(module (import "host" "f" (func $f (param i32) (result i32)))
        (func (export "f") (param i32) (result i32) (call $f (local.get 0))))"#;
    let mut linker = Linker::new(&engine);
    // The guest calls itself through the host, which then waits.
    let f = |mut caller: Caller<'_, ()>, again: i32| -> Result<i32> {
        if again == 0 {
            return Ok(caller.can_wait().into());
        }
        call_back(&mut caller, "f", 0)
    };
    linker.host("f", f);
    let (mut store, instance) = link(&linker, (), module);
    let f = instance.get_typed_func::<i32, i32>(&mut store, "f").unwrap();
    assert_eq!(f.call(&mut store, 0).unwrap(), 0);
    assert_eq!(block_on(f.call_async(&mut store, 0)).unwrap(), 1);
    assert_eq!(block_on(f.call_async(&mut store, 1)).unwrap(), 0);
    let both = store.run_concurrent(async |accessor| {
        let polled = f.call_concurrent(accessor, 0).await?;
        Ok::<_, Error>((polled, accessor.with(|store| f.call(store, 0))?))
    });
    assert_eq!(block_on(both).unwrap(), (1, 0));
}

#[test]
fn errors_panics_and_exceptions_of_a_rest_arrive_where_the_call_was_made() {
    for engine in all_engines() {
        for on in STACKS {
            let (mut store, instance) = setup(&engine, |_, _, _| anyhow::bail!("no"));
            let func = typed(&mut store, instance, on);
            let error = block_on(func.call_async(&mut store, 2)).unwrap_err();
            assert_eq!(error.downcast_ref::<HostError>().unwrap().message(), "no");
            assert_eq!(names(&error)[0], "work");
            check_empty(store);

            let panic: Then = |_, _, _| std::panic::resume_unwind(Box::new("panic"));
            let (mut store, instance) = setup(&engine, panic);
            let func = typed(&mut store, instance, on);
            let call = AssertUnwindSafe(|| block_on(func.call_async(&mut store, 2)));
            let panic = catch_unwind(call).expect_err("a panic");
            assert_eq!(panic.downcast_ref(), Some(&"panic"));
            check_empty(store);
        }
        let throw: Then =
            |mut store, error, x| Err(Exception::new(&mut store, error, &[Val::I32(x)])?.into());
        let (mut store, instance) = setup(&engine, throw);
        let func = typed(&mut store, instance, "catches");
        assert_eq!(block_on(func.call_async(&mut store, 2)).unwrap(), 17);
        check_empty(store);
    }
}

#[test]
fn a_call_that_waits_for_a_rest_can_be_given_up() {
    for engine in all_engines() {
        for polls in [1, 2, 3] {
            let (mut store, instance) = setup(&engine, |_, _, x| Ok(x));
            for on in STACKS {
                let func = typed(&mut store, instance, on);
                let mut call = Box::pin(func.call_async(&mut store, 9));
                for _ in 0..polls {
                    assert!(poll_once(call.as_mut()).is_pending());
                }
                drop(call);
                assert_eq!(func.call(&mut store, 0).unwrap(), 30);
            }
            check_empty(store);
        }
    }
}

/// The message of a host function that fails.
fn refused(wrap: impl FnOnce(&mut Linker<()>)) -> String {
    let engine = Engine::default();
    let module = r#"(module (import "host" "f" (func $f (result i32)))
        (func (export "f") (result i32) (call $f)))"#;
    let mut linker = Linker::new(&engine);
    wrap(&mut linker);
    let (mut store, instance) = link(&linker, (), module);
    let f = instance.get_typed_func::<(), i32>(&mut store, "f").unwrap();
    format!("{:#}", block_on(f.call_async(&mut store, ())).unwrap_err())
}

#[test]
fn a_rest_that_does_not_fit_is_refused() {
    let error = refused(|linker| {
        let f = |caller: Caller<'_, ()>| -> Result<i32> {
            Err(caller.later(|_| Box::pin(async { 1i64 })).into())
        };
        linker.host("f", f);
    });
    assert!(error.contains("whose future has results of other types"), "{error}");

    // A pending call of another store, whose data may have another type.
    let error = refused(|linker| {
        let rest = std::sync::Mutex::new(Some(rest_of_another_store()));
        let f = move || -> Result<i32> { Err(rest.lock().unwrap().take().unwrap()) };
        linker.host("f", f);
    });
    let expected = "a pending host call was used with a store that it does not belong to";
    assert!(error.contains(expected), "{error}");

    // A function that has already waited.
    let error = refused(|linker| {
        linker.host_async("f", |caller: Caller<'_, ()>, (): ()| {
            Box::new(async move {
                After(1).await;
                Err::<i32, Error>(caller.later(|_| Box::pin(async { 1i32 })).into())
            })
        });
    });
    assert!(error.contains("only a host function that is not `async` can return"), "{error}");
}

fn rest_of_another_store() -> Error {
    let engine = Engine::default();
    let kept = Arc::new(std::sync::Mutex::new(None));
    let keep = kept.clone();
    let mut store = Store::new(&engine, String::new());
    let f = Func::wrap(&mut store, move |caller: Caller<'_, String>| {
        let rest = caller.later(|_| Box::pin(async { 1i32 }));
        *keep.lock().unwrap() = Some(rest.into());
    });
    f.call(&mut store, &[], &mut []).unwrap();
    kept.lock().unwrap().take().unwrap()
}

/// The pending call of the import `make` returns the result of this export of the importer.
fn made_by(engine: &Engine, export: &'static str) -> Result<i32> {
    let text = r#"(module
            (type $s (struct (field i32))) (type $other (struct (field i64)))
            (import "host" "make" (func $make (param i32) (result (ref $s))))
            (func (export "new") (param i32) (result (ref $s)) (struct.new $s (local.get 0)))
            (func (export "new other") (param i32) (result (ref $other))
              (struct.new $other (i64.extend_i32_u (local.get 0))))
            (func (export "run") (result i32)
              (i32.add
                (struct.get $s 0 (call $make (i32.const 30)))
                (struct.get $s 0 (call $make (i32.const 4))))))"#;
    let module = Module::new(engine, text)?;
    let mut linker = Linker::new(engine);
    let make = move |mut caller: Caller<'_, ()>, n: i32| -> Result<Owned<StructRef>> {
        let new = caller.get_export(export).and_then(Extern::into_func).unwrap();
        let rest = caller.later(move |accessor| {
            Box::pin(async move {
                After(2).await;
                accessor.with(|mut store| {
                    let made = new.typed::<i32, Owned<StructRef>>(&store)?.call(&mut store, n)?;
                    store.gc();
                    Ok::<_, Error>(made)
                })
            })
        });
        Err(rest.into())
    };
    linker.func_wrap("host", "make", make)?;
    let mut store = Store::new(engine, ());
    let instance = linker.instantiate(&mut store, &module)?;
    let run = instance.get_typed_func::<(), i32>(&mut store, "run")?;
    block_on(run.call_async(&mut store, ()))
}

#[test]
fn a_rest_gives_objects_of_defined_types() {
    for engine in all_engines() {
        assert_eq!(made_by(&engine, "new").unwrap(), 34);
    }
}

#[test]
fn a_rest_that_gives_an_object_of_another_type_is_refused() {
    for engine in all_engines() {
        fails_because(made_by(&engine, "new other"), "in result 0");
    }
}
