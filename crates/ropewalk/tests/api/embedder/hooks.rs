//! Hooks that run WebAssembly while a function is stopped. That WebAssembly stops too.

use super::{MODES, config};
use crate::common::*;
use ropewalk::*;
use std::sync::{Arc, Mutex};

/// Functions with many different values in registers.
fn text() -> String {
    let function = |name: &str, count: usize| {
        let locals = "(local i64)".repeat(count);
        let step = |i: usize| {
            format!("(local.set {} (i64.add (local.get {}) (i64.const {})))", i + 1, i + 1, i + 1)
        };
        let steps: String = (0..count).map(step).collect();
        let sum = (1..=count)
            .fold("(i64.const 0)".to_string(), |sum, i| format!("(i64.add {sum} (local.get {i}))"));
        format!(
            "(func (export {name:?}) (param $n i32) (result i64) {locals}
               (loop $more {steps}
                 (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
               {sum})"
        )
    };
    format!("(module {} {})", function("outer", 5), function("inner", 12))
}

/// What a function with this many values returns.
fn sum(count: i64, times: i64) -> i64 {
    (1..=count).sum::<i64>() * times
}

type Data = Option<TypedFunc<i32, i64>>;

fn program(engine: &Engine) -> (Store<Data>, TypedFunc<i32, i64>) {
    let module = Module::new(engine, text()).unwrap();
    let mut store = Store::new(engine, None);
    store.set_fuel(u64::MAX / 2).unwrap();
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    *store.data_mut() = Some(instance.get_typed_func(&mut store, "inner").unwrap());
    let outer = instance.get_typed_func(&mut store, "outer").unwrap();
    (store, outer)
}

#[test]
fn a_call_that_stops_inside_of_who_is_asked_for_fuel_leaves_registers_alone() {
    for mode in MODES {
        let (mut store, outer) = program(&Engine::new(&config(mode)).unwrap());
        let asked = Arc::new(Mutex::new(0));
        let times = asked.clone();
        store
            .on_out_of_fuel(move |mut store| {
                *times.lock().unwrap() += 1;
                let inner = store.data().clone().unwrap();
                // The call stops after each interval, and at the end for good.
                store.set_fuel(1 << 20)?;
                assert_eq!(inner.call(&mut store, 100)?, sum(12, 100));
                store.set_fuel(50)?;
                let error = inner.call(&mut store, 100).unwrap_err();
                assert_eq!(super::trap(&error).code(), TrapCode::OutOfFuel);
                Ok(OutOfFuel::Continue(1000))
            })
            .unwrap();
        store.fuel_async_yield_interval(Some(50)).unwrap();
        store.set_fuel(100).unwrap();
        assert_eq!(outer.call(&mut store, 1000).unwrap(), sum(5, 1000), "{}", mode.name);
        assert!(*asked.lock().unwrap() > 5);
    }
}

#[test]
fn a_call_that_stops_inside_of_who_takes_snapshots_leaves_registers_alone() {
    for mode in MODES {
        let engine = Engine::new(&config(mode)).unwrap();
        let (mut store, outer) = program(&engine);
        let handle = Arc::new(Mutex::new(None::<SnapshotHandle>));
        let again = handle.clone();
        let snapshots = Arc::new(Mutex::new(Vec::new()));
        let taken = snapshots.clone();
        let request = store
            .on_snapshot_request(SnapshotOptions::new(), move |mut store, snapshot| {
                taken.lock().unwrap().push(snapshot?);
                // The inner call stops too. Its snapshot is refused.
                store.set_fuel(1 << 40)?;
                let inner = store.data().clone().unwrap();
                again.lock().unwrap().as_ref().unwrap().request();
                assert_eq!(inner.call(&mut store, 100)?, sum(12, 100));
                Ok(())
            })
            .unwrap();
        *handle.lock().unwrap() = Some(request.clone());
        request.request();
        assert_eq!(outer.call(&mut store, 1000).unwrap(), sum(5, 1000), "{}", mode.name);
        let snapshots = std::mem::take(&mut *snapshots.lock().unwrap());
        assert_eq!(snapshots.len(), 1, "{}", mode.name);
        let module = Module::new(&engine, text()).unwrap();
        let linker: Linker<Data> = Linker::new(&engine);
        let mut restored = snapshots[0].restore(&linker, &[module], None).unwrap();
        let call = restored.calls.pop().unwrap();
        restored.store.set_fuel(1 << 40).unwrap();
        let results = call.resume(&mut restored.store, &[]).unwrap();
        assert_eq!(results[0].i64(), Some(sum(5, 1000)), "{}", mode.name);
    }
}

#[test]
fn a_store_that_was_exchanged_has_no_references_of_the_restored_one() {
    let engine = Engine::new(Config::new().snapshots(true)).unwrap();
    let text = "(module (type $s (struct (field (mut i64))))
      (func (export \"make\") (result (ref $s)) (struct.new $s (i64.const 5))))";
    let module = Module::new(&engine, text).unwrap();
    let (mut store, instance) = start(&module);
    let made = invoke::<(), Owned<StructRef>>(&mut store, instance, "make", ()).unwrap();
    let mut options = SnapshotOptions::new();
    options.name_reference("made", &made).name_instance("main", instance);
    let snapshot = store.snapshot(&options).unwrap();
    let linker = Linker::new(&engine);
    let mut one = snapshot.restore(&linker, std::slice::from_ref(&module), ()).unwrap();
    let mut other = snapshot.restore(&linker, &[module], ()).unwrap();
    std::mem::swap(&mut one.store, &mut other.store);
    for restored in [&mut one, &mut other] {
        let error = restored.reference::<StructRef>("made").unwrap_err();
        assert!(error.downcast_ref::<WrongStore>().is_some(), "{error:?}");
        let instance = restored.instance("main").unwrap();
        assert!(instance.get_typed_func::<(), ()>(&mut restored.store, "make").is_err());
    }
    one.store = Store::new(&engine, ());
    assert!(one.reference::<StructRef>("made").is_err());
    // The call finds its own store again.
    std::mem::swap(&mut one.store, &mut other.store);
    let made = one.reference::<StructRef>("made").unwrap().get(&mut one.store).unwrap();
    assert_eq!(made.field(&mut one.store, 0).unwrap().i64(), Some(5));
}
