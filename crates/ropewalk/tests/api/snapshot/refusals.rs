//! Snapshots and restorations that are refused, without a loss.

use super::*;
use std::sync::{Arc, Mutex};

fn refusal(error: &Error) -> &SnapshotError {
    error.downcast_ref().unwrap_or_else(|| panic!("another error: {error:#}"))
}

#[test]
fn an_engine_that_does_not_compile_for_it_says_so() {
    let mut store = Store::new(&Engine::default(), ());
    let error = store.snapshot(&SnapshotOptions::new()).unwrap_err();
    assert!(matches!(refusal(&error), SnapshotError::Disabled));
    assert!(error.to_string().contains("Config::snapshots"), "{error}");
}

#[test]
fn handles_without_a_name_are_not_lost() {
    let module = Module::new(&engine(), r#"(module (func (export "run")))"#).unwrap();
    let (mut store, instance) = start(&module);
    let held = continuation(&mut store, instance, "run");
    let error = store.snapshot(&SnapshotOptions::new()).unwrap_err();
    assert!(matches!(refusal(&error), SnapshotError::Unnamed(1)), "{error}");
    let error = Store::new(module.engine(), ())
        .snapshot(SnapshotOptions::new().name_continuation("it", &held))
        .unwrap_err();
    assert!(error.downcast_ref::<WrongStore>().is_some(), "{error}");
    held.resume(&mut store, &[]).unwrap();
    store.snapshot(&SnapshotOptions::new()).unwrap();
}

/// A module with functions of two types, and a place for continuations.
const NAMED: &str = r#"
(module
  (type $f (func (result i64))) (type $c (cont $f))
  (global $kept (mut (ref null $c)) (ref.null $c))
  (func (export "keep") (param (ref null $c)) (global.set $kept (local.get 0)))
  (func (export "long") (result i64) (i64.const 1))
  (func (export "float") (param f64) (result f64) (local.get 0)))"#;

#[test]
fn a_named_handle_that_is_gone_is_not_mistaken_for_its_successor() {
    /// What happens to a named continuation before the snapshot.
    type Away = fn(&mut Store<()>, Instance, Continuation);
    let ways: [Away; 4] = [
        |_, _, it| drop(it),
        |store, _, it| it.free(store).unwrap(),
        |store, _, it| drop(it.resume(store, &[]).unwrap()),
        |store, instance, it| {
            let mut scope = RootScope::new(&mut *store);
            let keep = instance.get_typed_func::<Option<ContRef>, ()>(&mut scope, "keep").unwrap();
            let it = it.into_ref(&mut scope).unwrap();
            keep.call(&mut scope, Some(it)).unwrap();
            keep.call(&mut scope, None).unwrap();
            drop(scope);
            store.gc();
        },
    ];
    for away in ways {
        let (mut store, instance) = instantiate_in(&engine(), NAMED);
        let mut options = SnapshotOptions::new();
        let long = instance.get_func(&mut store, "long").unwrap();
        let long = Continuation::new(&mut store, long).unwrap();
        options.name_continuation("it", &long);
        away(&mut store, instance, long);
        let float = instance.get_func(&mut store, "float").unwrap();
        let float = Continuation::new(&mut store, float).unwrap();
        let error = store.snapshot(&options).map(drop).unwrap_err();
        assert!(matches!(refusal(&error), SnapshotError::Gone { .. }), "{error}");
        assert!(error.to_string().contains("no longer holds the continuation named \"it\""));
        let mut options = SnapshotOptions::new();
        store.snapshot(options.name_continuation("it", &float)).unwrap();
    }
}

#[test]
fn an_owned_handle_has_one_name() {
    let (mut store, instance) = instantiate_in(&engine(), NAMED);
    let long = instance.get_func(&mut store, "long").unwrap();
    let long = Continuation::new(&mut store, long).unwrap();
    let mut options = SnapshotOptions::new();
    options.name_continuation("first", &long).name_continuation("second", &long);
    let error = store.snapshot(&options).unwrap_err();
    let SnapshotError::NamedTwice { name, before } = refusal(&error) else { panic!("{error}") };
    assert_eq!((name.as_str(), before.as_str()), ("second", "first"));
}

#[test]
fn host_values_need_a_function_that_writes_them() {
    let source = r#"(module (global (export "g") (mut externref) (ref.null extern)))"#;
    let (mut store, instance) = instantiate_in(&engine(), source);
    let value = ExternRef::new(&mut store, 5_u32).unwrap();
    let global = instance.get_global(&mut store, "g").unwrap();
    global.set(&mut store, Val::ExternRef(Some(value))).unwrap();
    let error = store.snapshot(&SnapshotOptions::new()).unwrap_err();
    assert!(matches!(refusal(&error), SnapshotError::HostValue(_)), "{error}");
    assert!(error.to_string().contains("write_host_values"), "{error}");
}

#[test]
fn a_host_function_as_a_value_is_refused() {
    let source = r#"(module (table (export "t") 1 funcref))"#;
    let (mut store, instance) = instantiate_in(&engine(), source);
    let func = Func::wrap(&mut store, || 1);
    let table = instance.get_table(&mut store, "t").unwrap();
    table.set(&mut store, 0, Val::FuncRef(Some(func))).unwrap();
    let error = store.snapshot(&SnapshotOptions::new()).unwrap_err();
    assert!(matches!(refusal(&error), SnapshotError::HostFunction), "{error}");
    table.set(&mut store, 0, Val::FuncRef(None)).unwrap();
    store.snapshot(&SnapshotOptions::new()).unwrap();
}

#[test]
fn a_host_function_outside_and_a_host_that_resumes_a_task_are_refused() {
    let source = r#"
    (module
      (import "host" "snap" (func $snap)) (import "host" "again" (func $again))
      (type $t (task))
      (func $body (param (ref null $t)) (call $snap))
      (func (export "task") (result (ref $t)) (task.new $t $body))
      (func (export "snap") (call $snap)) (func (export "again") (call $again)))"#;
    let module = Module::new(&engine(), source).unwrap();
    let mut linker = Linker::new(module.engine());
    let errors: Arc<Mutex<Vec<Error>>> = Arc::default();
    let list = errors.clone();
    linker.host("snap", move |mut caller: Caller<'_, ()>| {
        list.lock().unwrap().extend(caller.snapshot(&SnapshotOptions::new()).err());
    });
    linker.host("again", |mut caller: Caller<'_, ()>| -> Result<()> {
        call_export::<_, _, ()>(&mut caller, "snap", ())
    });
    let (mut store, instance) = start_with(&linker, (), &module);
    call::<()>(&mut store, instance, "snap");
    assert!(errors.lock().unwrap().is_empty());
    call::<()>(&mut store, instance, "again");
    let error = errors.lock().unwrap().pop().unwrap();
    assert!(matches!(refusal(&error), SnapshotError::Nested(Some(name)) if name == "again"));
    assert!(error.to_string().contains("an outer host function, called by \"again\","));
    let task = call::<Task>(&mut store, instance, "task");
    task.resume(&mut store, &[]).unwrap();
    let error = errors.lock().unwrap().pop().unwrap();
    assert!(matches!(refusal(&error), SnapshotError::Resumed("a task")), "{error}");
    call::<()>(&mut store, instance, "snap");
    assert!(errors.lock().unwrap().is_empty());
}

#[test]
fn a_function_that_has_waited_is_not_taken_for_one_outside_that_runs() {
    let source = r#"
    (module
      (import "host" "outer" (func $outer (result i64)))
      (import "host" "inner" (func $inner (param i32) (result i32)))
      (func (export "run") (result i64) (call $outer))
      (func (export "again") (param i32) (result i32) (call $inner (local.get 0))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let mut linker = Linker::new(module.engine());
    let taken: Arc<Mutex<Vec<Result<Snapshot>>>> = Arc::default();
    let list = taken.clone();
    linker.host_async("inner", move |mut caller: Caller<'_, ()>, (waits,): (i32,)| {
        let list = list.clone();
        Box::new(async move {
            for _ in 0..waits {
                tokio::task::yield_now().await;
            }
            list.lock().unwrap().push(caller.snapshot(&SnapshotOptions::new()));
            waits
        })
    });
    linker.host("outer", |mut caller: Caller<'_, ()>| -> Result<i64> {
        let again = caller.get_export("again").and_then(Extern::into_func).unwrap();
        let again = again.typed::<i32, i32>(&caller)?;
        for waits in [0, 1] {
            let runtime = tokio::runtime::Builder::new_current_thread().build()?;
            runtime.block_on(again.call_async(&mut caller, waits))?;
        }
        Ok(1)
    });
    let (mut store, instance) = start_with(&linker, (), &module);
    assert_eq!(call::<i64>(&mut store, instance, "run"), 1);
    for taken in taken.lock().unwrap().drain(..) {
        let error = taken.unwrap_err();
        assert!(matches!(refusal(&error), SnapshotError::Nested(Some(name)) if name == "run"));
    }
    // Without an outer call the call is saved, whether it waits or runs.
    let again = instance.get_typed_func::<i32, i32>(&mut store, "again").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    for waits in [0, 1] {
        runtime.block_on(again.call_async(&mut store, waits)).unwrap();
        let snapshot = taken.lock().unwrap().pop().unwrap().unwrap();
        let mut restored = snapshot.restore(&linker, std::slice::from_ref(&module), ()).unwrap();
        let call = restored.calls.pop().unwrap();
        assert_eq!(call.import(), Some(("host", "inner")));
        let results = call.resume(&mut restored.store, &[Val::I32(waits + 5)]).unwrap();
        assert_eq!(results[0].i32(), Some(waits + 5));
    }
}

#[test]
fn missing_or_different_items_are_named_when_a_snapshot_is_restored() {
    let source = r#"(module $m (import "host" "f" (func)) (func (export "run")))"#;
    let module = Module::new(&engine(), source).unwrap();
    let mut linker = Linker::new(module.engine());
    linker.host("f", || {});
    let mut store = Store::new(module.engine(), ());
    linker.instantiate(&mut store, &module).unwrap();
    let snapshot = store.snapshot(&SnapshotOptions::new()).unwrap();

    fails_with(snapshot.restore(&linker, &[], ()), "needs a module named \"m\"");
    let nothing = Linker::new(module.engine());
    fails_with(
        snapshot.restore(&nothing, std::slice::from_ref(&module), ()),
        "needs the host function \"host\" \"f\"",
    );
    let other = Engine::new(Config::new().snapshots(true).interruption(true)).unwrap();
    let error = snapshot.restore(&Linker::<()>::new(&other), &[], ()).unwrap_err();
    let expected =
        "the snapshot was taken with another setting: interruption was false, and is true";
    assert_eq!(error.to_string(), expected);
    // A module that differs in one function is another module.
    let changed =
        source.replace("(func (export", "(func (result i32) (i32.const 1)) (func (export");
    let changed = Module::new(module.engine(), changed).unwrap();
    let error = snapshot.restore(&linker, &[changed], ()).unwrap_err();
    assert!(matches!(refusal(&error), SnapshotError::MissingModule(_)), "{error}");

    // SAFETY: the bytes are refused, since their checksum differs.
    unsafe {
        let mut bytes = snapshot.as_bytes().to_vec();
        let middle = bytes.len() / 2;
        bytes[middle] ^= 1;
        let error = Snapshot::from_bytes(bytes).unwrap_err();
        assert!(matches!(refusal(&error), SnapshotError::Damaged(_)), "{error}");
        let error = Snapshot::from_bytes(&snapshot.as_bytes()[..middle]).unwrap_err();
        assert!(matches!(refusal(&error), SnapshotError::Damaged(_)), "{error}");
        let error = Snapshot::from_bytes(*b"something else").unwrap_err();
        assert!(matches!(refusal(&error), SnapshotError::Other), "{error}");
    }
}

#[test]
fn modules_of_another_engine_are_not_used() {
    let module = Module::new(&engine(), r#"(module $m (func (export "run")))"#).unwrap();
    let mut store = Store::new(module.engine(), ());
    Instance::new(&mut store, &module, &[]).unwrap();
    let snapshot = store.snapshot(&SnapshotOptions::new()).unwrap();
    let other = engine();
    let error = snapshot.restore(&Linker::<()>::new(&other), &[module], ()).unwrap_err();
    assert!(matches!(refusal(&error), SnapshotError::MissingModule(_)), "{error}");
}

#[test]
fn restored_memories_and_tables_count_toward_the_total() {
    const TEXT: &str = r#"(module
        (memory 1) (table 8 funcref)
        (func (export "memory") (result i32) (memory.grow (i32.const 1)))
        (func (export "table") (result i32) (table.grow (ref.null func) (i32.const 8192))))"#;
    const PAGE: u64 = 1 << 16;
    let limited = |bytes| {
        let engine = Engine::new(Config::new().snapshots(true).max_total_memory(bytes)).unwrap();
        Module::new(&engine, TEXT).unwrap()
    };
    let total = 3 * PAGE + 64;
    let module = limited(total);
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    let mut grow = |name| call::<i32>(&mut store, instance, name);
    assert_eq!((grow("memory"), grow("table"), grow("memory")), (1, 8, -1));
    let snapshot = snapshot(&mut store, instance);
    let restored = |module: Module| {
        snapshot.restore(&Linker::new(module.engine()), std::slice::from_ref(&module), ())
    };
    fails_with(restored(limited(total - 1)), "cannot restore a table of 8200 elements");
    for (bytes, memory) in [(total, -1), (total + PAGE, 2)] {
        let mut restored = restored(limited(bytes)).unwrap();
        let instance = restored.instance("main").unwrap();
        assert_eq!(call::<i32>(&mut restored.store, instance, "memory"), memory);
        assert_eq!(call::<i32>(&mut restored.store, instance, "table"), -1);
    }
}

#[test]
fn compiling_again_gives_the_same_code() {
    let functions: String = (0..300)
        .map(|i| {
            format!(
                "(func $f{i} (export \"f{i}\") (param i32 i64) (result i32) (local i32)
                   (local.set 2 (i32.add (local.get 0) (i32.const {i})))
                   (call $f{} (local.get 2) (i64.mul (local.get 1) (i64.const {i}))))",
                (i * 7 + 1) % 300
            )
        })
        .collect();
    let source = format!("(module {functions})");
    let modules = [engine(), engine()].map(|engine| Module::new(&engine, &source).unwrap());
    let [a, b] = modules.map(|module| module.serialize().unwrap());
    assert!(a == b, "the code differs");
}
