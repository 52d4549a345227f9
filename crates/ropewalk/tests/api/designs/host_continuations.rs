//! Continuations that the host owns: it creates, resumes, passes and drops them, and throws into
//! them.
//!
//! Also while stacks move, while every allocation collects, while records are checked, and with few
//! generations left.

use crate::common::*;
use ropewalk::*;

const MODULE: &str = r#"(module
    (import "host" "f" (func $host (param i32) (result i32)))
    (type $s (struct (field i32))) (type $f (func (param i32) (result i32))) (type $k (cont $f))
    (type $i (func (result i32))) (type $ki (cont $i))
    (rec (type $rf (func (param i32) (result i32))) (type $rk (cont $rf)))
    (tag $ask (export "ask") (param i32) (result i32))
    (tag $tell (export "tell") (param i32 i64 f32 f64 i32) (result i32 i64 f32 f64 i32))
    (tag $object (export "object") (param (ref $s)) (result (ref $s))) (tag $inner (result i32))
    (tag $error (export "error") (param i32)) (elem declare func $asks $inside $catches $two $host)
    (global $kept (mut (ref null $k)) (ref.null $k))

    ;; Asks until the reply is zero; returns the sum of the replies.
    (func $asks (export "asks") (param $x i32) (result i32) (local $sum i32)
      (loop $more
        (local.set $x (suspend $ask (local.get $x)))
        (local.set $sum (i32.add (local.get $sum) (local.get $x)))
        (br_if $more (local.get $x)))
      (local.get $sum))
    (func (export "tells") (param i32 i64 f32 f64 i32) (result i32 i64 f32 f64 i32)
      (suspend $tell (local.get 0) (local.get 1) (local.get 2) (local.get 3) (local.get 4)))
    (func (export "passes an object") (param i32) (result i32) (local $mine (ref null $s))
      (local.set $mine (struct.new $s (local.get 0)))
      (i32.add
        (struct.get $s 0 (suspend $object (struct.new $s (i32.const 5))))
        (struct.get $s 0 (local.get $mine))))
    ;; Asks from two continuations deep, with a handler for something else in between.
    (func $inside (param i32) (result i32)
      (block $h (result (ref $k))
        (return (resume $k (on $inner $h) (local.get 0) (cont.new $k (ref.func $asks)))))
      (unreachable))
    (func (export "nested") (param i32) (result i32)
      (i32.add (i32.const 1000) (resume $k (local.get 0) (cont.new $k (ref.func $inside)))))
    (func $catches (export "catches") (param i32) (result i32)
      (block $h (result i32)
        (try_table (result i32) (catch $error $h) (call $asks (local.get 0)))))
    (func (export "traps") (param i32) (result i32)
      (drop (suspend $ask (local.get 0))) (unreachable))
    (func (export "throws") (param i32) (result i32) (throw $error (suspend $ask (local.get 0))))
    (func (export "unhandled") (param i32) (result i32) (suspend $inner))
    (func (export "calls the host") (param i32) (result i32)
      (i32.add (call $host (local.get 0)) (suspend $ask (local.get 0))))
    (func (export "runs the host") (param i32) (result i32)
      (resume $k (local.get 0) (cont.new $k (ref.func $host))))

    ;; References that the host gets and gives.
    (func (export "new") (result (ref $k)) (cont.new $k (ref.func $asks)))
    (func $two (param i32 i32) (result i32)
      (i32.add (local.get 0) (i32.mul (i32.const 10) (suspend $ask (local.get 1)))))
    (type $f2 (func (param i32 i32) (result i32))) (type $k2 (cont $f2))
    (func (export "bound") (param i32) (result (ref $k))
      (cont.bind $k2 $k (local.get 0) (cont.new $k2 (ref.func $two))))
    (func (export "keep") (result (ref $k))
      (global.set $kept (cont.new $k (ref.func $asks)))
      (ref.as_non_null (global.get $kept)))
    (func (export "use the kept one") (result i32) (resume $k (i32.const 1) (global.get $kept)))
    (func (export "none") (result (ref null $k)) (ref.null $k))
    (func (export "as anything") (result contref) (cont.new $k (ref.func $asks)))
    (func (export "resume") (param (ref null $k) i32) (result i32)
      (block $h (result i32 (ref $k)) (return (resume $k (on $ask $h) (local.get 1) (local.get 0))))
      (drop))
    (func (export "resume in a group of types") (param (ref null $rk) i32) (result i32)
      (block $h (result i32 (ref $k))
        (return (resume $rk (on $ask $h) (local.get 1) (local.get 0))))
      (drop)))"#;

/// An instance with this host function.
fn with<R>(
    engine: &Engine,
    host: impl IntoFunc<(), (Caller<'static, ()>, i32), R>,
) -> (Store<()>, Instance) {
    with_host(engine, MODULE, host)
}

fn setup(engine: &Engine) -> (Store<()>, Instance) {
    with_host(engine, MODULE, |x: i32| x)
}

fn check_empty(mut store: Store<()>) {
    assert_eq!(store.stack_statistics().live, 0);
    check_live(&mut store, 0);
}

#[test]
fn the_host_resumes_a_continuation_until_it_returns() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        for name in ["asks", "catches"] {
            let mut rest = continuation(&mut store, instance, name);
            let mut next = 100;
            for reply in [7, 8, 9] {
                let (value, continuation) = asked(rest.resume(&mut store, &[Val::I32(next)]));
                assert_eq!(value, next);
                store.gc();
                (rest, next) = (continuation, reply);
            }
            let (_, rest) = asked(rest.resume(&mut store, &[Val::I32(next)]));
            assert_eq!(returned(rest.resume(&mut store, &[Val::I32(0)])), 24);
        }
        check_empty(store);
    }
}

#[test]
fn values_of_every_class_travel_in_both_directions() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        let values = [
            Val::I32(-1),
            Val::I64(-2),
            Val::F32(1.5f32.to_bits()),
            Val::F64(2.5f64.to_bits()),
            Val::I32(5),
        ];
        let replies = [Val::I32(1), Val::I64(2), Val::F32(3), Val::F64(4), Val::I32(5)];
        let rest = continuation(&mut store, instance, "tells");
        let (tag, found, continuation) = suspended(rest.resume(&mut store, &values));
        assert_eq!(Some(tag), instance.get_tag(&mut store, "tell"));
        assert_eq!(format!("{found:?}"), format!("{values:?}"));
        let ty = continuation.ty(&store).unwrap();
        assert_eq!(ty.to_string(), "[i32 i64 f32 f64 i32] -> [i32 i64 f32 f64 i32]");
        let found = results(continuation.resume(&mut store, &replies));
        assert_eq!(format!("{found:?}"), format!("{replies:?}"));
        check_empty(store);
    }
}

#[test]
fn objects_travel_and_those_of_a_held_continuation_live() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        let rest = continuation(&mut store, instance, "passes an object");
        let (_, values, continuation) = suspended(rest.resume(&mut store, &[Val::I32(30)]));
        store.gc();
        let Val::AnyRef(Some(object)) = values[0] else { panic!("an object") };
        let object = object.as_struct(&store).unwrap().unwrap();
        assert_eq!(object.field(&mut store, 0).unwrap().i32(), Some(5));
        assert_eq!(returned(continuation.resume(&mut store, &values)), 35);
        check_empty(store);
    }
}

#[test]
fn a_suspension_several_stacks_deep_resumes_there() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        let rest = continuation(&mut store, instance, "nested");
        let (value, mut rest) = asked(rest.resume(&mut store, &[Val::I32(4)]));
        assert_eq!(value, 4);
        assert_eq!(store.stack_statistics().live, 3);
        for i in 1..=5 {
            store.gc();
            let backtrace = rest.backtrace(&store).unwrap();
            assert_eq!(frames(&backtrace), ["asks", "inside", "nested"]);
            assert!(backtrace.to_string().contains("resumed by resume (on $inner)"), "{backtrace}");
            (_, rest) = asked(rest.resume(&mut store, &[Val::I32(i)]));
        }
        assert!(rest.bytes(&store).unwrap() > 100);
        assert_eq!(returned(rest.resume(&mut store, &[Val::I32(0)])), 1015);
        check_empty(store);
    }
}

#[test]
fn a_continuation_that_has_not_begun_has_no_backtrace() {
    let (mut store, instance) = setup(&Engine::default());
    let rest = continuation(&mut store, instance, "asks");
    assert!(rest.backtrace(&store).unwrap().frames().is_empty());
    assert!(rest.bytes(&store).unwrap() < 2048);
}

#[test]
fn the_host_throws_into_a_suspended_continuation() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        let error = instance.get_tag(&mut store, "error").unwrap();
        let exception = Exception::new(&mut store, error, &[Val::I32(12)]).unwrap();
        // The exception is caught inside.
        let rest = continuation(&mut store, instance, "catches");
        let (_, rest) = asked(rest.resume(&mut store, &[Val::I32(1)]));
        assert_eq!(returned(rest.resume_throw(&mut store, &exception)), 12);
        // The exception is not caught, on one stack and on several.
        for name in ["asks", "nested"] {
            let rest = continuation(&mut store, instance, name);
            let (_, rest) = asked(rest.resume(&mut store, &[Val::I32(1)]));
            let failed = rest.resume_throw(&mut store, &exception).unwrap_err();
            let failed = failed.downcast::<Exception>().unwrap();
            assert_eq!(failed.values(&mut store).unwrap()[0].i32(), Some(12));
        }
        // The continuation has not begun.
        let rest = continuation(&mut store, instance, "catches");
        let failed = rest.resume_throw(&mut store, &exception).unwrap_err();
        assert!(failed.downcast_ref::<Exception>().is_some());
        check_empty(store);
    }
}

#[test]
fn the_host_handles_only_the_tags_that_it_chooses() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        let [ask, tell] = ["ask", "tell"].map(|name| instance.get_tag(&mut store, name).unwrap());
        for tags in [&[ask][..], &[tell, ask]] {
            let rest = continuation(&mut store, instance, "asks");
            let (value, rest) = asked(rest.resume_on(&mut store, tags, &[Val::I32(4)]));
            assert_eq!(value, 4);
            assert_eq!(returned(rest.resume(&mut store, &[Val::I32(0)])), 0);
        }
        for tags in [&[tell][..], &[]] {
            for name in ["asks", "nested"] {
                let rest = continuation(&mut store, instance, name);
                traps(rest.resume_on(&mut store, tags, &[Val::I32(4)]), TrapCode::UnhandledTag);
            }
        }
        // Every tag is handled, even one without a name.
        let rest = continuation(&mut store, instance, "unhandled");
        let (_, values, continuation) = suspended(rest.resume(&mut store, &[Val::I32(0)]));
        assert!(values.is_empty());
        assert_eq!(returned(continuation.resume(&mut store, &[Val::I32(3)])), 3);
        check_empty(store);
    }
}

#[test]
fn typed_continuations_have_typed_suspensions() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        let ask = instance.get_tag(&mut store, "ask").unwrap().typed::<i32, i32>(&store).unwrap();
        let asks = instance.get_typed_func::<i32, i32>(&mut store, "asks").unwrap();
        let rest = TypedContinuation::new(&mut store, &asks).unwrap();
        let TypedResumed::Suspended { values: 9, continuation } =
            rest.resume_on(&mut store, &ask, 9).unwrap()
        else {
            panic!("it suspends")
        };
        let TypedResumed::Suspended { values: 5, continuation } =
            continuation.resume_on(&mut store, &ask, 5).unwrap()
        else {
            panic!("it suspends")
        };
        let TypedResumed::Returned(5) = continuation.resume_on(&mut store, &ask, 0).unwrap() else {
            panic!("it returns")
        };
        let rest = TypedContinuation::new(&mut store, &asks).unwrap();
        let (.., continuation) = suspended(rest.resume(&mut store, 9));
        let continuation = continuation.typed::<i32, i32>(&store).unwrap();
        assert_eq!(results(continuation.resume(&mut store, 0)), 0);
        check_empty(store);
    }
}

#[test]
fn types_that_do_not_fit_are_refused() {
    let (mut store, instance) = setup(&Engine::default());
    let rest = continuation(&mut store, instance, "asks");
    fails_as(
        rest.typed::<i64, i32>(&store),
        "expected a continuation of type [i64] -> [i32], found one of type [i32] -> [i32]",
    );
    let ask = instance.get_tag(&mut store, "ask").unwrap();
    fails_as(
        ask.typed::<i32, (i32, i32)>(&store),
        "expected a tag of type [i32] -> [i32 i32], found one of type [i32] -> [i32]",
    );
    let rest = continuation(&mut store, instance, "asks");
    fails_as(
        rest.resume(&mut store, &[Val::I64(0)]),
        "in argument 0: expected a value of type i32, found one of type i64",
    );
    let rest = continuation(&mut store, instance, "asks");
    fails_as(rest.resume(&mut store, &[]), "expected 1 argument, found 0");
    check_empty(store);
}

#[test]
fn a_continuation_belongs_to_its_store() {
    let (mut store, instance) = setup(&Engine::default());
    let (mut other, _) = setup(&Engine::default());
    let rest = continuation(&mut store, instance, "asks");
    assert!(rest.backtrace(&other).is_err() && rest.bytes(&other).is_err());
    let failed = rest.resume(&mut other, &[Val::I32(0)]).unwrap_err();
    assert!(failed.downcast_ref::<WrongStore>().is_some());
    for use_it in [
        |rest: Continuation, other: &mut Store<()>| rest.free(other).unwrap_err(),
        |rest: Continuation, other: &mut Store<()>| rest.into_ref(other).unwrap_err(),
        |rest: Continuation, other: &mut Store<()>| rest.typed::<i32, i32>(&*other).unwrap_err(),
    ] {
        let rest = continuation(&mut store, instance, "asks");
        assert!(use_it(rest, &mut other).downcast_ref::<WrongStore>().is_some());
    }
    check_empty(store);
    check_empty(other);
}

#[test]
fn traps_and_exceptions_end_it_and_leave_the_store_usable() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        for _ in 0..3 {
            let rest = continuation(&mut store, instance, "traps");
            let (_, rest) = asked(rest.resume(&mut store, &[Val::I32(1)]));
            let failed = rest.resume(&mut store, &[Val::I32(2)]).unwrap_err();
            assert_eq!(trap(&failed).code(), TrapCode::Unreachable);
            assert_eq!(names(&failed), ["traps"]);
            let rest = continuation(&mut store, instance, "throws");
            let (_, rest) = asked(rest.resume(&mut store, &[Val::I32(1)]));
            let failed = rest.resume(&mut store, &[Val::I32(2)]).unwrap_err();
            let failed = failed.downcast::<Exception>().unwrap();
            assert_eq!(failed.values(&mut store).unwrap()[0].i32(), Some(2));
        }
        check_empty(store);
    }
}

#[test]
fn a_host_function_inside_a_continuation_resumes_other_continuations() {
    for engine in all_engines() {
        let (mut store, instance) =
            with(&engine, |mut caller: Caller<'_, ()>, depth: i32| -> Result<i32> {
                if depth == 0 {
                    return Ok(0);
                }
                let name = if depth % 2 == 0 { "calls the host" } else { "runs the host" };
                let func = caller.get_export(name).and_then(Extern::into_func).unwrap();
                let mut rest = Continuation::new(&mut caller, func)?;
                let mut argument = depth - 1;
                loop {
                    match rest.resume(&mut caller, &[Val::I32(argument)])? {
                        Resumed::Returned(values) => return Ok(1 + values[0].i32().unwrap()),
                        Resumed::Suspended { continuation, .. } => {
                            (rest, argument) = (continuation, 100);
                        }
                    }
                }
            });
        let rest = continuation(&mut store, instance, "calls the host");
        let (value, rest) = asked(rest.resume(&mut store, &[Val::I32(6)]));
        assert_eq!(value, 6);
        // Six calls of the host. Three of them were suspended by the continuation they resumed.
        assert_eq!(returned(rest.resume(&mut store, &[Val::I32(1000)])), 1306);
        check_empty(store);
    }
}

#[test]
fn a_suspension_does_not_cross_the_frame_of_a_host_function() {
    for engine in all_engines() {
        let (mut store, instance) =
            with(&engine, |mut caller: Caller<'_, ()>, x: i32| call_back(&mut caller, "asks", x));
        let rest = continuation(&mut store, instance, "calls the host");
        traps(rest.resume(&mut store, &[Val::I32(1)]), TrapCode::UnhandledTag);
        check_empty(store);
    }
}

#[test]
fn errors_and_panics_of_host_functions_end_a_resume() {
    for engine in all_engines() {
        let (mut store, instance) = with(&engine, |_: Caller<'_, ()>, x: i32| -> Result<i32> {
            if x == 1 {
                std::panic::resume_unwind(Box::new("panic"));
            }
            anyhow::bail!("no")
        });
        for name in ["calls the host", "runs the host"] {
            let rest = continuation(&mut store, instance, name);
            let failed = rest.resume(&mut store, &[Val::I32(0)]).unwrap_err();
            assert_eq!(host_message(&failed), "no");
            let rest = continuation(&mut store, instance, name);
            let resume = std::panic::AssertUnwindSafe(|| rest.resume(&mut store, &[Val::I32(1)]));
            let panic = std::panic::catch_unwind(resume).unwrap_err();
            assert_eq!(panic.downcast_ref(), Some(&"panic"));
        }
        check_empty(store);
    }
}

#[test]
fn a_host_function_can_be_the_body() {
    for (mut store, _) in all_engines().iter().map(setup) {
        let double = Func::wrap(&mut store, |x: i32| x * 2);
        let rest = Continuation::new(&mut store, double).unwrap();
        assert_eq!(returned(rest.resume(&mut store, &[Val::I32(4)])), 8);
        check_empty(store);
    }
}

// ---- between the host and WebAssembly

#[test]
fn the_host_takes_references_that_webassembly_returns() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        let rest = invoke::<(), Continuation>(&mut store, instance, "new", ()).unwrap();
        store.gc();
        let (value, rest) = asked(rest.resume(&mut store, &[Val::I32(4)]));
        assert_eq!(value, 4);
        assert_eq!(returned(rest.resume(&mut store, &[Val::I32(0)])), 0);
        // Bound arguments come first.
        let bound = instance.get_typed_func::<i32, Continuation>(&mut store, "bound").unwrap();
        let rest = bound.call(&mut store, 3).unwrap();
        let (value, rest) = asked(rest.resume(&mut store, &[Val::I32(4)]));
        assert_eq!(value, 4);
        assert_eq!(returned(rest.resume(&mut store, &[Val::I32(2)])), 23);
        drop(bound.call(&mut store, 3).unwrap());
        assert!(
            invoke::<(), Option<Continuation>>(&mut store, instance, "none", ()).unwrap().is_none()
        );
        check_empty(store);
    }
}

#[test]
fn webassembly_cannot_use_a_continuation_that_the_host_took() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        let rest = invoke::<(), Continuation>(&mut store, instance, "keep", ()).unwrap();
        traps(call(&mut store, instance, "use the kept one", &[]), TrapCode::ContinuationConsumed);
        let (value, _) = asked(rest.resume(&mut store, &[Val::I32(4)]));
        assert_eq!(value, 4);
        check_empty(store);
    }
}

#[test]
fn webassembly_takes_references_of_the_host() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        for name in ["resume", "resume in a group of types"] {
            let mut scope = RootScope::new(&mut store);
            let asks = instance.get_func(&mut scope, "asks").unwrap();
            let resume = instance.get_func(&mut scope, name).unwrap();
            let rest = Continuation::new(&mut scope, asks).unwrap();
            let reference = rest.into_ref(&mut scope).unwrap();
            let arguments = [reference.into(), Val::I32(3)];
            let mut results = [Val::I32(0)];
            resume.call(&mut scope, &arguments, &mut results).unwrap();
            assert_eq!(results[0].i32(), Some(3));
            // The reference was used.
            let again = resume.call(&mut scope, &arguments, &mut results);
            traps(again, TrapCode::ContinuationConsumed);
            // A continuation of another type.
            let rest = continuation(&mut scope, instance, "tells");
            let reference = rest.into_ref(&mut scope).unwrap();
            assert!(
                resume.call(&mut scope, &[reference.into(), Val::I32(3)], &mut results).is_err()
            );
        }
        store.gc();
        check_empty(store);
    }
}

#[test]
fn references_to_continuations_are_typed_and_owned() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        let owned = {
            let mut scope = RootScope::new(&mut store);
            invoke::<(), ContRef>(&mut scope, instance, "new", ()).unwrap().own(&mut scope).unwrap()
        };
        store.gc();
        let mut scope = RootScope::new(&mut store);
        let reference = owned.get(&mut scope).unwrap();
        let rest = Continuation::from_ref(&mut scope, reference).unwrap();
        traps(Continuation::from_ref(&mut scope, reference), TrapCode::ContinuationConsumed);
        let (value, _) = asked(rest.resume(&mut scope, &[Val::I32(4)]));
        assert_eq!(value, 4);
        let reference = invoke::<(), Option<ContRef>>(&mut scope, instance, "as anything", ())
            .unwrap()
            .unwrap();
        fails_because(
            Continuation::from_ref(&mut scope, reference),
            "found one of type (ref cont)",
        );
        let rest = invoke::<(), Option<Continuation>>(&mut scope, instance, "as anything", ())
            .unwrap()
            .unwrap();
        assert!(rest.resume(&mut scope, &[Val::I32(1)]).is_err());
        drop(scope);
        store.gc();
        check_empty(store);
    }
}

#[test]
fn a_reference_that_was_used_is_no_continuation() {
    let (mut store, instance) = setup(&Engine::default());
    drop(invoke::<(), Continuation>(&mut store, instance, "keep", ()).unwrap());
    // The host took the continuation, so the reference that WebAssembly returns is stale.
    let text = r#"(module (type $f (func (param i32) (result i32))) (type $k (cont $f))
            (func $f (type $f) (local.get 0)) (elem declare func $f)
            (func (export "used") (result (ref $k)) (local $k (ref $k))
              (local.set $k (cont.new $k (ref.func $f)))
              (drop (resume $k (i32.const 1) (local.get $k)))
              (local.get $k)))"#;
    let module = Module::new(store.engine(), text).unwrap();
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    let used = instance.get_typed_func::<(), Continuation>(&mut store, "used").unwrap();
    let rest = used.call(&mut store, ()).unwrap();
    traps(rest.resume(&mut store, &[Val::I32(1)]), TrapCode::ContinuationConsumed);
    drop(used.call(&mut store, ()).unwrap());
    check_empty(store);
}

#[test]
fn a_stack_of_another_design_is_no_continuation() {
    let module = r#"(module
        (import "host" "f" (func $host (param i32) (result i32)))
        (type $t (task (param i32) (result i32)))
        (func $body (param $me (ref null $t)) (param i32) (result i32) (local.get 1))
        (func (export "task") (result (ref $t)) (task.new $t $body)))"#;
    let (mut store, instance) = with_host(&Engine::default(), module, |x: i32| x);
    let rest = invoke::<(), Continuation>(&mut store, instance, "task", ()).unwrap();
    traps(rest.resume(&mut store, &[Val::I32(1)]), TrapCode::OtherDesign);
}

// ---- dropping

#[test]
fn dropping_frees_every_stack_of_it() {
    for (mut store, instance) in all_engines().iter().map(setup) {
        for _ in 0..10 {
            drop(continuation(&mut store, instance, "asks"));
            let rest = continuation(&mut store, instance, "nested");
            let (_, rest) = asked(rest.resume(&mut store, &[Val::I32(4)]));
            assert_eq!(store.stack_statistics().live, 3);
            drop(rest);
            assert_eq!(store.stack_statistics().live, 0);
            let rest = continuation(&mut store, instance, "nested");
            let (_, rest) = asked(rest.resume(&mut store, &[Val::I32(4)]));
            rest.free(&mut store).unwrap();
            assert_eq!(store.stack_statistics().live, 0);
        }
        check_empty(store);
    }
}

#[test]
fn a_continuation_may_outlive_its_store_and_change_threads() {
    let (mut store, instance) = setup(&Engine::default());
    let rest = continuation(&mut store, instance, "asks");
    let (_, rest) = asked(rest.resume(&mut store, &[Val::I32(4)]));
    let kept = continuation(&mut store, instance, "asks");
    let value = std::thread::spawn(move || {
        let value = returned(rest.resume(&mut store, &[Val::I32(0)]));
        drop(store);
        value
    });
    assert_eq!(value.join().unwrap(), 0);
    drop(kept);
}

#[test]
fn stacks_dropped_on_another_thread_are_reused_before_new_stacks_are_made() {
    let (mut store, instance) = setup(&Engine::new(Config::new().max_stacks(4)).unwrap());
    for _ in 0..100 {
        let all: Vec<_> = (0..4).map(|_| continuation(&mut store, instance, "asks")).collect();
        let asks = instance.get_func(&mut store, "asks").unwrap();
        traps(Continuation::new(&mut store, asks), TrapCode::TooManyStacks);
        std::thread::spawn(move || drop(all)).join().unwrap();
        // WebAssembly itself needs a stack.
        assert_eq!(number(&mut store, instance, "runs the host", &[3]).unwrap(), 3);
    }
    check_empty(store);
}

#[test]
fn a_hundred_thousand_continuations_returned_at_top_level_take_little_memory() {
    let (mut store, instance) = setup(&Engine::default());
    let make = instance.get_typed_func::<(), Continuation>(&mut store, "new").unwrap();
    for _ in 0..100_000 {
        drop(make.call(&mut store, ()).unwrap());
    }
    // Free stacks are used before dropped ones are collected.
    assert!(store.stack_statistics().peak <= 17, "{:?}", store.stack_statistics());
    let asked = |store: &mut Store<()>| {
        let rest = make.call(&mut *store, ()).unwrap();
        asked(rest.resume(store, &[Val::I32(1)])).1
    };
    for _ in 0..100_000 {
        drop(asked(&mut store));
    }
    // Free stacks are used before dropped ones are collected.
    assert!(store.stack_statistics().peak <= 17, "{:?}", store.stack_statistics());
}

#[test]
fn many_can_be_held_and_resumed_in_any_order() {
    let (mut store, instance) = setup(&engine(COLLECT_AND_MOVE));
    let mut all: Vec<_> = (0..200)
        .map(|i| {
            let rest = continuation(&mut store, instance, "asks");
            asked(rest.resume(&mut store, &[Val::I32(i)])).1
        })
        .collect();
    for round in 0..5 {
        let order: Vec<_> = (0..200).map(|i| i * 7 % 200).collect();
        let mut next: Vec<_> = all.into_iter().map(Some).collect();
        for &i in &order {
            let rest = next[i].take().unwrap();
            let (value, rest) = asked(rest.resume(&mut store, &[Val::I32(1 + i as i32 + round)]));
            assert_eq!(value, 1 + i as i32 + round);
            next[i] = Some(rest);
        }
        all = next.into_iter().map(Option::unwrap).collect();
    }
    for (i, rest) in (0..).zip(all) {
        assert_eq!(returned(rest.resume(&mut store, &[Val::I32(0)])), 5 * i + 15);
    }
    check_empty(store);
}

const SWITCHES: &str = r#"(module
    (type $f (func (param i32) (result i32))) (type $k (cont $f))
    (type $g (func (param i32 (ref null $k)) (result i32))) (type $to (cont $g))
    (tag $swap (export "swap") (result i32)) (tag $other (export "other") (result i64))
    (tag $ask (export "ask") (param i32) (result i32)) (elem declare func $second)
    ;; Asks the host, then goes back to the first one.
    (func $second (param $x i32) (param $first (ref null $k)) (result i32)
      (local.set $x (suspend $ask (local.get $x)))
      (resume $k (local.get $x) (local.get $first)))
    (func (export "first") (param $x i32) (result i32)
      (i32.add (i32.const 1) (switch $to $swap (local.get $x) (cont.new $to (ref.func $second))))))"#;

#[test]
fn the_host_lets_continuations_switch() {
    for engine in all_engines() {
        let (mut store, instance) = instantiate_in(&engine, SWITCHES);
        let first = instance.get_func(&mut store, "first").unwrap();
        let [swap, ask, other] =
            ["swap", "ask", "other"].map(|name| instance.get_tag(&mut store, name).unwrap());
        for suspends in [Clause::On(ask), Clause::OnAny] {
            let rest = Continuation::new(&mut store, first).unwrap();
            let clauses = [Clause::OnSwitch(swap), suspends];
            let (tag, values, continuation) =
                suspended(rest.resume_with(&mut store, &clauses, &[Val::I32(5)]));
            assert_eq!((tag, values[0].i32()), (ask, Some(5)));
            store.gc();
            assert_eq!(returned(continuation.resume_with(&mut store, &clauses, &[Val::I32(7)])), 8);
        }
        // Without the clause the tag is unhandled. A clause of another type would be unsound.
        let rest = Continuation::new(&mut store, first).unwrap();
        let unhandled = rest.resume_with(&mut store, &[Clause::On(ask)], &[Val::I32(5)]);
        traps(unhandled, TrapCode::UnhandledTag);
        let rest = Continuation::new(&mut store, first).unwrap();
        traps(rest.resume(&mut store, &[Val::I32(5)]), TrapCode::UnhandledTag);
        for wrong in [other, ask] {
            let rest = Continuation::new(&mut store, first).unwrap();
            let refused = rest.resume_with(&mut store, &[Clause::OnSwitch(wrong)], &[Val::I32(5)]);
            fails_because(refused, "expected a tag of type [] -> [i32]");
        }
        check_live(&mut store, 0);
    }
}
