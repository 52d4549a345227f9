//! Host functions: values in both directions, errors, panics, reentry.

use crate::common::*;
use ropewalk::*;
use std::sync::Arc;
use std::sync::atomic::Ordering;

#[test]
fn values_of_every_type_travel_both_ways() {
    let text = r#"(module
        (import "host" "f" (func $f
          (param i32 i64 f32 f64 v128 funcref externref)
          (result externref funcref v128 f64 f32 i64 i32)))
        (export "f" (func $f))
        (func (export "g")
          (param i32 i64 f32 f64 v128 funcref externref)
          (result externref funcref v128 f64 f32 i64 i32)
          (call $f (local.get 0) (local.get 1) (local.get 2) (local.get 3)
            (local.get 4) (local.get 5) (local.get 6))))"#;
    type Func7 = (i32, i64, f32, f64, u128, Option<Func>, Option<ExternRef>);
    type Results = (Option<ExternRef>, Option<Func>, u128, f64, f32, i64, i32);
    let host = |a: i32, b: i64, c: f32, d: f64, e: u128, f: Option<Func>, g: Option<ExternRef>| {
        (g, f, e, d, c, b, a)
    };
    for (mut store, instance) in instances_with_host(text, host) {
        let value = ExternRef::new(&mut store, "hello").unwrap();
        for name in ["f", "g"] {
            let func = instance.get_func(&mut store, name).unwrap();
            let typed = func.typed::<Func7, Results>(&store).unwrap();
            let arguments = (-1, i64::MIN, 1.5, -0.0, u128::MAX - 7, Some(func), Some(value));
            let (g, f, e, d, c, b, a) = typed.call(&mut store, arguments).unwrap();
            assert_eq!((a, b, c, e), (-1, i64::MIN, 1.5, u128::MAX - 7));
            assert!(d == 0.0 && d.is_sign_negative());
            assert!(f.is_some());
            let data = g.unwrap();
            assert_eq!(data.data(&store).unwrap().downcast_ref::<&str>(), Some(&"hello"));
        }
    }
}

#[test]
fn sixteen_parameters_arrive_in_order() {
    let params = "i64 ".repeat(16);
    let gets: String = (0..16).map(|i| format!("(local.get {i})")).collect();
    let text = format!(
        "(module (import \"host\" \"f\" (func $f (param {params}) (result i64)))
           (func (export \"g\") (param {params}) (result i64) (call $f {gets})))"
    );
    #[allow(clippy::too_many_arguments)]
    #[rustfmt::skip]
    fn sum(a: i64, b: i64, c: i64, d: i64, e: i64, f: i64, g: i64, h: i64,
           i: i64, j: i64, k: i64, l: i64, m: i64, n: i64, o: i64, p: i64) -> i64 {
        [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p].iter().fold(0, |sum, x| sum * 3 + x)
    }
    for (mut store, instance) in instances_with_host(&text, sum) {
        let arguments: Vec<Val> = (1..=16).map(Val::I64).collect();
        let found = call(&mut store, instance, "g", &arguments).unwrap();
        assert_eq!(found[0].i64(), Some((1..=16).fold(0, |sum, x| sum * 3 + x)));
    }
}

#[test]
fn functions_of_any_type_can_be_made_at_run_time() {
    let params: Vec<ValType> = [ValType::I32, ValType::F64, ValType::V128].repeat(30);
    let ty = FuncType::new(params.clone(), params.iter().rev().copied());
    for mut store in engines().iter().map(|engine| Store::new(engine, ())) {
        let reverse = Func::new(&mut store, ty.clone(), |_, arguments, results| {
            results.copy_from_slice(arguments);
            results.reverse();
            Ok(())
        })
        .unwrap();
        let arguments: Vec<Val> = (0..30)
            .flat_map(|i| [Val::I32(i), Val::F64(i as u64), Val::V128(i as u128 * 7)])
            .collect();
        let mut results = vec![Val::I32(0); 90];
        reverse.call(&mut store, &arguments, &mut results).unwrap();
        for (i, (argument, result)) in arguments.iter().zip(results.iter().rev()).enumerate() {
            assert_eq!(format!("{argument:?}"), format!("{result:?}"), "value {i}");
        }
    }
}

#[test]
fn a_dynamic_function_that_answers_a_wrong_type_fails() {
    let mut store = Store::new(&Engine::default(), ());
    let ty = FuncType::new([], [ValType::I32]);
    let func = Func::new(&mut store, ty, |_, _, results| {
        results[0] = Val::I64(1);
        Ok(())
    })
    .unwrap();
    let error = func.call(&mut store, &[], &mut [Val::I32(0)]).unwrap_err();
    let shown = format!("{error:#}");
    assert!(shown.contains("in result 0"), "{shown}");
    assert!(shown.contains("expected a value of type i32, found one of type i64"), "{shown}");
}

const CALLS: &str = r#"(module
    (import "host" "f" (func $f (param i32) (result i32)))
    (memory (export "memory") 1)
    (func $inner (param i32) (result i32) (call $f (local.get 0)))
    (func (export "run") (param i32) (result i32)
      (i32.add (call $inner (local.get 0)) (i32.const 1))))"#;

#[test]
fn the_caller_gives_data_and_exports() {
    for engine in engines() {
        let (mut store, instance) = with_host_and_data(
            &engine,
            10,
            CALLS,
            |mut caller: Caller<'_, i32>, x: i32| -> Result<i32> {
                *caller.data_mut() += x;
                let memory = caller.get_export("memory").and_then(Extern::into_memory).unwrap();
                memory.write(&mut caller, 8, b"seen")?;
                Ok(*caller.data())
            },
        );
        assert_eq!(invoke::<i32, i32>(&mut store, instance, "run", 5).unwrap(), 16);
        assert_eq!(*store.data(), 15);
        let memory = instance.get_memory(&mut store, "memory").unwrap();
        assert_eq!(&memory.data(&store).unwrap()[8..12], b"seen");
    }
}

#[derive(Debug, thiserror::Error)]
#[error("the host's own error {0}")]
struct OwnError(i32);

#[test]
fn an_error_of_a_host_function_reaches_the_caller_as_itself() {
    for (mut store, instance) in instances_with_host(CALLS, |x: i32| Err::<i32, _>(OwnError(x))) {
        let error = call(&mut store, instance, "run", &[Val::I32(7)]).unwrap_err();
        assert_eq!(error.downcast_ref::<OwnError>().unwrap().0, 7);
        let host_error = error.downcast_ref::<HostError>().unwrap();
        assert_eq!(host_error.message(), "the host's own error 7");
        let names: Vec<_> =
            host_error.backtrace().frames().iter().map(|f| f.function_name()).collect();
        assert_eq!(names, [Some("inner"), Some("run")]);
        assert_eq!(host_message(&error), "the host's own error 7");
    }
}

#[test]
fn an_error_of_a_host_function_is_its_message_and_then_a_backtrace() {
    for engine in engines() {
        let (mut store, instance) =
            with_host(&engine, CALLS, |_: i32| Err::<i32, _>(anyhow::anyhow!("the disk is full")));
        let error = call(&mut store, instance, "run", &[Val::I32(7)]).unwrap_err();
        let expected = "the disk is full\nwasm backtrace:\n   0: <text>:4:44: <module>!inner\n   \
                        1: <text>:6:17: <module>!run";
        assert_eq!(format!("{error}"), expected);
        assert_eq!(format!("{error:#}"), expected);

        // An error with a type keeps it.
        let (mut store, instance) = with_host(&engine, CALLS, |x: i32| {
            Err::<i32, _>(anyhow::Error::new(OwnError(x)).context("while reading"))
        });
        let error = call(&mut store, instance, "run", &[Val::I32(7)]).unwrap_err();
        let words = "while reading: the host's own error 7\nwasm backtrace:\n   0: <text>:4:44";
        assert!(format!("{error}").starts_with(words), "{error}");
        assert!(format!("{error:#}").starts_with(words), "{error:#}");
        assert_eq!(error.downcast_ref::<OwnError>().unwrap().0, 7);
    }
}

#[test]
fn a_host_function_can_see_where_it_was_called() {
    for engine in engines() {
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let noted = seen.clone();
        let (mut store, instance) =
            with_host(&engine, CALLS, move |caller: Caller<'_, ()>, x: i32| {
                noted.lock().unwrap().push(caller.backtrace().to_string());
                x
            });
        assert_eq!(number(&mut store, instance, "run", &[7]).unwrap(), 8);
        let expected =
            "wasm backtrace:\n   0: <text>:4:44: <module>!inner\n   1: <text>:6:17: <module>!run";
        assert_eq!(*seen.lock().unwrap(), [expected]);

        // No WebAssembly runs when the host calls its own function.
        let func = Func::wrap(&mut store, |caller: Caller<'_, ()>| {
            caller.backtrace().frames().len() as i32
        });
        assert_eq!(func.typed::<(), i32>(&store).unwrap().call(&mut store, ()).unwrap(), 0);
    }
}

#[test]
fn a_host_function_can_trap() {
    let host = |_: i32| -> Result<i32> { Err(Trap::from_code(TrapCode::IntegerOverflow).into()) };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        let error = call(&mut store, instance, "run", &[Val::I32(7)]).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::IntegerOverflow);
        assert_eq!(trap(&error).backtrace().frames().len(), 2);
    }
}

#[test]
fn a_panic_of_a_host_function_reaches_the_caller_as_that_panic() {
    let host = |x: i32| -> i32 {
        if x == 0 {
            std::panic::panic_any(String::from("from the host"))
        }
        x
    };
    for (mut store, instance) in instances_with_host(CALLS, host) {
        for _ in 0..100 {
            let panic = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
                let _ = call(&mut store, instance, "run", &[Val::I32(0)]);
            }));
            assert_eq!(panic.unwrap_err().downcast_ref::<String>().unwrap(), "from the host");
            assert_eq!(number(&mut store, instance, "run", &[1]).unwrap(), 2);
        }
    }
}

#[test]
fn nothing_leaks_when_a_host_function_fails_or_panics() {
    let live = Arc::default();
    let captured = Counted::new(&live);
    let counter = live.clone();
    let (mut store, instance) =
        with_host(&Engine::default(), CALLS, move |x: i32| -> Result<i32> {
            let _captured = &captured;
            let _local = Counted::new(&counter);
            assert!(x != 0, "zero");
            anyhow::ensure!(x != 1, "one");
            Ok(x)
        });
    for x in [0, 1, 2] {
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            let _ = call(&mut store, instance, "run", &[Val::I32(x)]);
        }));
        assert_eq!(live.load(Ordering::Relaxed), 1, "only the closure's own is left");
    }
    drop(store);
    assert_eq!(live.load(Ordering::Relaxed), 0);
}

#[test]
fn calls_nest_through_the_host_and_continue() {
    let text = r#"(module
        (import "host" "f" (func $f (param i32) (result i32)))
        (func $sum (export "sum") (param i32) (result i32) (local $big v128)
          (local.set $big (i32x4.splat (local.get 0)))
          (if (i32.eqz (local.get 0)) (then (return (i32.const 0))))
          (i32.add
            (call $f (i32.sub (local.get 0) (i32.const 1)))
            (i32x4.extract_lane 3 (local.get $big)))))"#;
    let host =
        |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> { call_back(&mut caller, "sum", n) };
    for (mut store, instance) in instances_with_host(text, host) {
        assert_eq!(number(&mut store, instance, "sum", &[100]).unwrap(), 5050);
    }
}

#[test]
fn nesting_without_end_is_exhaustion_and_not_a_crash() {
    let text = r#"(module
        (import "host" "f" (func $f))
        (func (export "run") (call $f)))"#;
    let engine = Engine::default();
    let (mut store, instance) =
        with_host(&engine, text, |mut caller: Caller<'_, ()>| -> Result<()> {
            call_export::<_, _, ()>(&mut caller, "run", ())
        });
    for _ in 0..2 {
        traps(call(&mut store, instance, "run", &[]), TrapCode::CallStackExhausted);
    }
}

#[test]
fn a_host_function_may_grow_memories_of_its_caller() {
    let text = r#"(module
        (import "host" "f" (func $f))
        (memory (export "memory") 1) (table (export "table") 1 funcref)
        (func (export "run") (result i32 i32 i32)
          (call $f)
          (i32.store (i32.const 65536) (i32.const 7))
          (memory.size) (table.size) (i32.load (i32.const 65536))))"#;
    let host = |mut caller: Caller<'_, ()>| -> Result<()> {
        let memory = caller.get_export("memory").and_then(Extern::into_memory).unwrap();
        memory.grow(&mut caller, 1)?;
        let table = caller.get_export("table").and_then(Extern::into_table).unwrap();
        table.grow(&mut caller, 5, Val::FuncRef(None))?;
        Ok(())
    };
    for (mut store, instance) in instances_with_host(text, host) {
        assert_eq!(
            invoke::<(), (i32, i32, i32)>(&mut store, instance, "run", ()).unwrap(),
            (2, 6, 7)
        );
    }
}

#[test]
fn a_wrapped_function_knows_who_imported_it() {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let has_memory = Func::wrap(&mut store, |mut caller: Caller<'_, ()>| {
        i32::from(caller.get_export("memory").is_some())
    });
    let text = r#"(module
        (import "" "" (func $f (result i32)))
        (memory (export "memory") 1) (table 1 funcref) (elem (i32.const 0) $f)
        (func (export "direct") (result i32) (call $f))
        (func (export "indirect") (result i32) (call_indirect (result i32) (i32.const 0))))"#;
    let module = Module::new(&engine, text).unwrap();
    let instance = Instance::new(&mut store, &module, &[has_memory.into()]).unwrap();
    for name in ["direct", "indirect"] {
        assert_eq!(call(&mut store, instance, name, &[]).unwrap()[0].i32(), Some(1), "{name}");
    }
    let mut alone = [Val::I32(9)];
    has_memory.call(&mut store, &[], &mut alone).unwrap();
    assert_eq!(alone[0].i32(), Some(0));
}

#[test]
fn a_function_is_the_same_however_it_is_reached() {
    let engine = Engine::default();
    let mut store = Store::new(&engine, ());
    let adding = |store: &mut Store<()>, number: i32| Func::wrap(store, move |x: i32| x + number);
    let (two, three) = (adding(&mut store, 2), adding(&mut store, 3));
    let text = r#"(module
        (import "" "" (func $f (param i32) (result i32)))
        (table (export "table") 2 funcref) (elem (i32.const 0) $f $g)
        (export "f" (func $f))
        (func $g (export "g")))"#;
    let module = Module::new(&engine, text).unwrap();
    let a = Instance::new(&mut store, &module, &[two.into()]).unwrap();
    let again = a.get_func(&mut store, "f").unwrap();
    let b = Instance::new(&mut store, &module, &[again.into()]).unwrap();
    let mut exported = |instance: Instance, name| {
        let func = instance.get_func(&mut store, name).unwrap();
        func.id(&store).unwrap()
    };
    let (f_of_a, f_of_b) = (exported(a, "f"), exported(b, "f"));
    let (g_of_a, g_of_b) = (exported(a, "g"), exported(b, "g"));
    assert_eq!(f_of_a, two.id(&store).unwrap());
    assert_eq!(f_of_a, f_of_b);
    assert_ne!(f_of_a, three.id(&store).unwrap());
    assert_ne!(g_of_a, g_of_b);
    let table = b.get_table(&mut store, "table").unwrap();
    for (index, id) in [(0, f_of_a), (1, g_of_b)] {
        let element = table.get(&mut store, index).unwrap().func_ref().unwrap();
        assert_eq!(element.id(&store).unwrap(), id);
    }
    let mut other = Store::new(&engine, ());
    assert!(two.id(&other).unwrap_err().is::<WrongStore>());
    assert_ne!(adding(&mut other, 2).id(&other).unwrap(), two.id(&store).unwrap());
}

#[test]
fn an_error_whose_display_fails_is_an_error_of_the_call() {
    let text = r#"(module (import "host" "f" (func $f)) (func (export "run") (call $f)))"#;
    let (mut store, instance) = with_host(&Engine::default(), text, || Err::<(), _>(Unprintable));
    let error = call(&mut store, instance, "run", &[]).unwrap_err();
    assert_eq!(host_message(&error), "the first half");
    assert!(error.downcast_ref::<Unprintable>().is_some());
}
