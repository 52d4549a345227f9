//! Calls that wait for the host function that took the snapshot.

use super::*;
use std::sync::Arc;
use std::sync::Mutex;

/// The snapshots that host functions took.
type Taken = Arc<Mutex<Vec<Snapshot>>>;

/// A linker with functions that take snapshots and return something.
fn linker(engine: &Engine, taken: &Taken) -> Linker<()> {
    let mut linker = Linker::new(engine);
    let list = taken.clone();
    linker.host("wait", move |mut caller: Caller<'_, ()>, n: i32| -> Result<i32> {
        list.lock().unwrap().push(caller.snapshot(&SnapshotOptions::new())?);
        Ok(n + 1)
    });
    let list = taken.clone();
    linker.host(
        "many",
        move |mut caller: Caller<'_, ()>,
              a: i64,
              b: f64,
              c: i32,
              d: f32,
              e: i64|
              -> Result<(i64, f64, i32)> {
            list.lock().unwrap().push(caller.snapshot(&SnapshotOptions::new())?);
            Ok((a + e, b + f64::from(d), c))
        },
    );
    linker
}

/// Runs a function that takes snapshots. Restores each in a new store, resumes it with the host
/// function's result, and compares the results.
fn continues_alike(source: &str, results: usize) {
    let module = Module::new(&engine(), source).unwrap();
    let taken = Taken::default();
    let linker = linker(module.engine(), &taken);
    let (mut store, instance) = start_with(&linker, (), &module);
    let run = instance.get_func(&mut store, "run").unwrap();
    let mut expected = vec![Val::I32(0); results];
    run.call(&mut store, &[], &mut expected).unwrap();
    let snapshots = std::mem::take(&mut *taken.lock().unwrap());
    assert!(snapshots.len() >= 2, "it calls the host");
    let again: Vec<Vec<Val>> = snapshots
        .iter()
        .map(|snapshot| {
            let modules = std::slice::from_ref(&module);
            let mut restored = through_bytes(snapshot).restore(&linker, modules, ()).unwrap();
            let call = restored.calls.pop().unwrap();
            assert!(restored.calls.is_empty());
            let given: Vec<Val> = match call.import().unwrap() {
                ("host", "wait") => vec![Val::I32(11)],
                ("host", "many") => vec![Val::I64(6), Val::F64(2.5_f64.to_bits()), Val::I32(3)],
                other => panic!("{other:?}"),
            };
            call.resume(&mut restored.store, &given).unwrap()
        })
        .collect();
    for found in again {
        assert_eq!(format!("{found:?}"), format!("{expected:?}"));
    }
}

#[test]
fn a_plain_call_continues() {
    let source = r#"(module
          (import "host" "wait" (func $wait (param i32) (result i32)))
          (func $twice (param i32) (result i32)
            (i32.mul (call $wait (local.get 0)) (call $wait (i32.const 10))))
          (func (export "run") (result i32) (local $kept i64)
            (local.set $kept (i64.const 1000))
            (i32.add (i32.wrap_i64 (local.get $kept)) (call $twice (i32.const 10)))))"#;
    continues_alike(source, 1);
}

#[test]
fn a_call_with_values_in_arrays_continues() {
    let source = r#"(module
          (import "host" "many" (func $many (param i64 f64 i32 f32 i64) (result i64 f64 i32)))
          (func $again (result i64 f64 i32)
            (call $many (i64.const 1) (f64.const 1) (i32.const 3) (f32.const 1.5) (i64.const 5)))
          (func (export "run") (result i64 f64 i32 i32)
            (call $again) (drop) (drop) (drop)
            (call $again) (i32.const 9)))"#;
    continues_alike(source, 4);
}

#[test]
fn a_call_that_returns_a_float_continues() {
    let source = r#"(module
          (import "host" "wait" (func $wait (param i32) (result i32)))
          (func (export "run") (result f64)
            (f64.add (f64.convert_i32_s (call $wait (i32.const 10)))
              (f64.convert_i32_s (call $wait (i32.const 10))))))"#;
    continues_alike(source, 1);
}

#[test]
fn a_call_from_a_continuation_continues_and_suspends_to_its_handler() {
    let source = r#"(module
          (import "host" "wait" (func $wait (param i32) (result i32)))
          (type $f (func (result i32))) (type $c (cont $f))
          (type $g (func (param i32) (result i32))) (type $d (cont $g))
          (tag $ask (param i32) (result i32)) (elem declare func $body)
          (func $body (result i32)
            (i32.add (call $wait (i32.const 10))
              (i32.add (suspend $ask (i32.const 5)) (call $wait (i32.const 10)))))
          (func (export "run") (result i32) (local $asked i32) (local $d (ref null $d))
            (block $on (result i32 (ref $d))
              (return (resume $c (on $ask $on) (cont.new $c (ref.func $body)))))
            (local.set $d) (local.set $asked)
            (i32.add (i32.const 1)
              (resume $d (i32.mul (local.get $asked) (i32.const 100)) (local.get $d)))))"#;
    continues_alike(source, 1);
}

#[test]
fn a_call_from_a_stack_of_the_bag_continues() {
    let source = r#"(module
          (import "host" "wait" (func $wait (param i32) (result i32)))
          (rec (type $to-root (stack (param i32) (ref null $to-body)))
               (type $to-body (stack (ref null $to-root))))
          (func $body (param $root (ref null $to-root))
            (switch_retire $to-root (i32.add (call $wait (i32.const 10)) (call $wait (i32.const 10)))
              (local.get $root)))
          (func (export "run") (result i32) (switch $to-body (stack.new $to-body $body)) (drop)))"#;
    continues_alike(source, 1);
}

#[test]
fn a_restored_call_traps_and_throws_and_the_store_stays_usable() {
    let source = r#"
    (module
      (import "host" "wait" (func $wait (param i32) (result i32)))
      (func (export "seven") (result i32) (i32.const 7))
      (func (export "run") (result i32) (i32.div_s (i32.const 5) (call $wait (i32.const 1)))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let taken = Taken::default();
    let linker = linker(module.engine(), &taken);
    let (mut store, instance) = start_with(&linker, (), &module);
    assert_eq!(invoke::<(), i32>(&mut store, instance, "run", ()).unwrap(), 2);
    let snapshot = taken.lock().unwrap().pop().unwrap();
    let mut restored = snapshot.restore(&linker, &[module], ()).unwrap();
    let call = restored.calls.pop().unwrap();
    let error = call.resume(&mut restored.store, &[Val::I32(0)]).unwrap_err();
    let trap = error.downcast_ref::<Trap>().unwrap();
    assert_eq!(trap.code(), TrapCode::IntegerDivideByZero);
    assert_eq!(trap.backtrace().frames()[0].function_name(), Some("run"));
}

#[test]
fn a_call_is_continued_in_a_future() {
    let source = r#"
    (module
      (import "host" "wait" (func $wait (param i32) (result i32)))
      (import "host" "later" (func $later (result i32)))
      (func (export "run") (result i32) (i32.add (call $wait (i32.const 1)) (call $later))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let taken = Taken::default();
    let mut linker = linker(module.engine(), &taken);
    linker.host_async("later", |_: Caller<'_, ()>, (): ()| {
        Box::new(async {
            After(1).await;
            40
        })
    });
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(async {
        let mut store = Store::new(module.engine(), ());
        let instance = linker.instantiate_async(&mut store, &module).await.unwrap();
        let run = instance.get_typed_func::<(), i32>(&mut store, "run").unwrap();
        assert_eq!(run.call_async(&mut store, ()).await.unwrap(), 42);
        let snapshot = taken.lock().unwrap().pop().unwrap();
        let mut restored = snapshot.restore(&linker, std::slice::from_ref(&module), ()).unwrap();
        let call = restored.calls.pop().unwrap();
        let results = call.resume_async(&mut restored.store, &[Val::I32(60)]).await.unwrap();
        assert_eq!(results[0].i32(), Some(100));
    });
}
