//! Fuel: the cost of programs, which is the same in every mode, and the end of fuel.

use crate::common::endless::{ENDLESS, PROGRAMS};
use crate::common::*;
use ropewalk::*;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// An engine that counts fuel.
fn counting(mode: Mode) -> Engine {
    Engine::new(mode.config().consume_fuel(true)).unwrap()
}

const MUCH: u64 = 1 << 40;

/// The fuel that a call consumes.
fn cost(store: &mut Store<()>, call: impl FnOnce(&mut Store<()>)) -> u64 {
    store.set_fuel(MUCH).unwrap();
    call(store);
    MUCH - store.get_fuel().unwrap()
}

#[test]
fn every_instruction_costs_one_unit() {
    // Functions named after their cost.
    let text = "
      (memory 1) (table 100 funcref) (type $a (array (mut i8))) (tag $t)
      (type $f (func)) (type $k (cont $f)) (elem declare func $suspends)
      (func $nothing (export \"0: nothing\"))
      (func (export \"1: structure\") (nop) (block (nop)) (drop (i32.const 1)))
      (func (export \"2: calls\") (call $nothing) (call $nothing))
      (func (export \"3: numbers\") (drop (i32.add (i32.const 1) (i32.const 2))))
      (func (export \"6: then\")
        (if (i32.const 1)
          (then (drop (i32.add (i32.const 1) (i32.const 2))) (return))
          (else (drop (i32.const 7))))
        (drop (i32.const 1)))
      (func (export \"4: else\")
        (if (i32.const 0)
          (then (drop (i32.add (i32.const 1) (i32.const 2))) (return))
          (else (drop (i32.const 7))))
        (drop (i32.const 1)))
      (func $count (param i32)
        (loop (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))
      (func (export \"52: a loop of five, ten times\") (call $count (i32.const 10)))
      (func (export \"20: 1024 bytes\")
        (memory.fill (i32.const 0) (i32.const 1) (i32.const 1024)))
      (func (export \"16: 99 elements\")
        (table.fill (i32.const 0) (ref.null func) (i32.const 99)))
      (func (export \"15: a table that grows by 99 elements\")
        (drop (table.grow (ref.null func) (i32.const 99))))
      (func (export \"128: 1000 elements\") (drop (array.new $a (i32.const 1) (i32.const 1000))))
      (func (export \"2: a trap\") (drop (i32.const 0)) (unreachable))
      (func $traps (unreachable))
      (func (export \"4: two calls, the second does not return\")
        (call $nothing) (call $traps) (drop (i32.const 1)))
      (func $deep (param i32) (result i32)
        (if (result i32) (i32.eqz (local.get 0))
          (then (i32.const 1))
          (else (i32.add (call $deep (i32.sub (local.get 0) (i32.const 1))) (i32.const 1)))))
      (func (export \"34: a recursion, and what follows it\")
        (drop (call $deep (i32.const 3))) (drop (i32.const 1)))
      (func (export \"5: an if without else that is left out\")
        (if (i32.eqz (i32.const 1)) (then (call $nothing) (return)))
        (drop (i32.const 1)) (drop (i32.const 1)))
      (func (export \"6: an if after a call\")
        (call $nothing) (if (i32.const 1) (then (call $nothing)))
        (drop (i32.const 1)) (drop (i32.const 1)))
      (func (export \"4: an arm that ends in the middle\")
        (if (i32.const 1) (then (call $nothing) (return) (drop (i32.const 1))))
        (call $nothing) (drop (i32.const 1)))
      (func $throws (throw $t))
      (func (export \"5: an exception\") (local i32)
        (loop (block (try_table (catch $t 0) (call $throws) (drop (i32.const 1)))))
        (drop (i32.add (i32.const 1) (i32.const 2))))
      (func $suspends (suspend $t) (drop (i32.const 1)))
      (func (export \"6: a suspension\")
        (block (result (ref $k))
          (resume $k (on $t 0) (cont.new $k (ref.func $suspends)))
          (return))
        (resume $k))";
    for mode in [DEFAULT, NOT_OPTIMIZED, SINGLE_PASS, MOVE, COLLECT, CHECK, STOP] {
        let (mut store, instance) = instantiate_in(&counting(mode), text);
        for (name, _) in instance.exports(&mut store).unwrap() {
            let found = cost(&mut store, |store| drop(call(store, instance, &name, &[])));
            let (expected, _) = name.split_once(':').unwrap();
            assert_eq!(found.to_string(), expected, "{name}, {}", mode.name);
        }
    }
}

/// The module around instructions that move much data.
const LONG: &str = r#"
    (memory 2) (data (i32.const 65536) "1111111111") (data $d
      "2222222222222222222222222222222222"
      "2222222222222222222222222222222222"
      "2222222222222222222222222222222222")
    (table $t 100 funcref) (table $u 100 funcref)
    (elem $e func $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f $f)
    (elem declare func $f) (elem (table $u) (i32.const 0) func $f) (func $f)
    (type $bytes (array (mut i8))) (type $funcs (array (mut funcref)))
    (global $a (ref $bytes) (array.new_default $bytes (i32.const 100)))
    (global $b (ref $bytes) (array.new $bytes (i32.const 1) (i32.const 100)))
    (global $c (ref $funcs) (array.new_default $funcs (i32.const 100)))
    (global $new (mut anyref) (ref.null any))"#;

/// Instructions that move much data. Each line begins with the fuel that the length costs. The
/// expression in a line with `=>` is not zero after each of the following instructions.
const MOVING: &str = "
=> (i32.load8_u (i32.const 0))
16 (memory.fill (i32.const 0) (i32.const 1) (i32.const 1024))
1024 (memory.fill (i32.const 0) (i32.const 1) (i32.const 65536))
2 (memory.copy (i32.const 0) (i32.const 65536) (i32.const 128))
16 (memory.copy (i32.const 0) (i32.const 65536) (i32.const 1024))
1 (memory.init $d (i32.const 0) (i32.const 0) (i32.const 100))
=> (i32.eqz (ref.is_null (table.get $t (i32.const 0))))
12 (table.fill $t (i32.const 0) (ref.func $f) (i32.const 99))
12 (table.copy $t $u (i32.const 0) (i32.const 0) (i32.const 99))
2 (table.init $t $e (i32.const 0) (i32.const 0) (i32.const 20))
=> (i32.sub (table.size $t) (i32.const 100))
12 (drop (table.grow $t (ref.null func) (i32.const 99)))
=> (array.get_u $bytes (global.get $a) (i32.const 0))
12 (array.fill $bytes (global.get $a) (i32.const 0) (i32.const 1) (i32.const 99))
12 (array.copy $bytes $bytes (global.get $a) (i32.const 0) (global.get $b) (i32.const 0) (i32.const 99))
12 (array.init_data $bytes $d (global.get $a) (i32.const 0) (i32.const 0) (i32.const 99))
=> (i32.eqz (ref.is_null (array.get $funcs (global.get $c) (i32.const 0))))
2 (array.init_elem $funcs $e (global.get $c) (i32.const 0) (i32.const 0) (i32.const 20))
=> (i32.eqz (ref.is_null (global.get $new)))
12 (global.set $new (array.new $bytes (i32.const 1) (i32.const 99)))
12 (global.set $new (array.new_default $bytes (i32.const 99)))
12 (global.set $new (array.new_data $bytes $d (i32.const 0) (i32.const 99)))
2 (global.set $new (array.new_elem $funcs $e (i32.const 0) (i32.const 20)))
";

#[test]
fn instructions_that_move_much_are_paid_before_they_run() {
    for mode in [DEFAULT, NOT_OPTIMIZED, SINGLE_PASS, COLLECT_AND_MOVE, CHECK, SNAPSHOTS, STOP] {
        let engine = counting(mode);
        let mut after = "";
        for line in MOVING.lines().filter(|line| !line.is_empty()) {
            let (units, run) = line.split_once(' ').unwrap();
            if units == "=>" {
                after = run;
                continue;
            }
            let units: u64 = units.parse().unwrap();
            let text = format!(
                "(module {LONG} (func (export \"run\") {run})
                   (func (export \"after\") (result i32) {after}))"
            );
            let what = format!("{run}, {}", mode.name);
            let (mut store, instance) = instantiate_in(&engine, &text);
            let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
            let after = |store: &mut Store<()>| {
                store.set_fuel(MUCH).unwrap();
                call_i32(store, instance, "after")
            };
            store.set_fuel(units - 1).unwrap();
            assert_eq!(code(run.call(&mut store, ())), TrapCode::OutOfFuel, "{what}");
            assert_eq!(after(&mut store), 0, "{what}: it has run");
            // The call continues with more fuel, and costs the same.
            let asked = Arc::new(AtomicU64::new(0));
            let counter = asked.clone();
            store
                .on_out_of_fuel(move |_| {
                    counter.fetch_add(1, Ordering::Relaxed);
                    Ok(OutOfFuel::Continue(1000))
                })
                .unwrap();
            store.set_fuel(units - 1).unwrap();
            run.call(&mut store, ()).unwrap();
            let given = asked.load(Ordering::Relaxed);
            assert_eq!(given, 1, "{what}");
            let cost = units - 1 + 1000 * given - store.get_fuel().unwrap();
            assert!((units..units + 10).contains(&cost), "{what}: {cost}");
            assert_ne!(after(&mut store), 0, "{what}: it has not run");
        }
    }
}

/// What a function knows of its stack between two switches stays true when it yields for fuel in
/// between.
#[test]
fn switches_around_a_wait_for_fuel_find_their_stack() {
    let text = "(module (memory 2) (type $f (func (result i32))) (type $k (cont $f)) (tag $t)
        (func $twice (param $n i32) (result i32)
          (suspend $t)
          (memory.fill (i32.const 0) (local.get $n) (i32.const 65536))
          (suspend $t)
          (memory.copy (i32.const 65536) (i32.const 0) (i32.const 65536))
          (suspend $t)
          (i32.load8_u (i32.const 131071)))
        (func $f (result i32) (call $twice (i32.const 3)))
        (elem declare func $f)
        (func (export \"run\") (result i32) (local $k (ref null $k))
          (local.set $k (cont.new $k (ref.func $f)))
          (loop $more (result i32)
            (block $on (result (ref $k))
              (return (resume $k (on $t $on) (local.get $k))))
            (local.set $k)
            (br $more))))";
    for mode in [DEFAULT, MOVE, COLLECT_AND_MOVE, PARK, CHECK, SNAPSHOTS, STOP] {
        let (mut store, instance) = instantiate_in(&counting(mode), text);
        let run = instance.get_typed_func::<(), i32>(&mut store, "run").unwrap();
        let needed = cost(&mut store, |store| assert_eq!(run.call(store, ()).unwrap(), 3));
        assert!(needed > 2048, "{needed}, {}", mode.name);
        store.on_out_of_fuel(|_| Ok(OutOfFuel::Yield(300))).unwrap();
        store.set_fuel(0).unwrap();
        let (found, polls) = count_polls(run.call_async(&mut store, ()));
        assert_eq!(found.unwrap(), 3, "{}", mode.name);
        assert!(polls >= 3, "{polls}, {}", mode.name);
    }
}

#[test]
fn invalid_modules_are_refused_before_they_are_counted() {
    let engine = counting(DEFAULT);
    for body in [
        "memory.fill",
        "i32.const 0 i32.const 0 f64.const 0 memory.fill",
        "f32.const 0 table.grow 0",
        "v128.const i64x2 0 0 array.new_default 0",
    ] {
        let text = format!("(module (memory 1) (table 1 funcref) (type (array i8)) (func {body}))");
        let error = Module::new(&engine, &text).unwrap_err().to_string();
        assert!(error.contains("type mismatch"), "{body}: {error}");
    }
}

#[test]
fn a_program_costs_the_same_in_every_mode() {
    for (name, export, text, steps) in PROGRAMS {
        let mut costs = Vec::new();
        for mode in [DEFAULT, NOT_OPTIMIZED, SINGLE_PASS, COLLECT_AND_MOVE, CHECK, STOP] {
            let (mut store, instance) = instantiate_in(&counting(mode), text);
            let func = instance.get_typed_func::<i64, i64>(&mut store, export).unwrap();
            let mut result = 0;
            let once = cost(&mut store, |store| result = func.call(store, *steps).unwrap());
            let again = cost(&mut store, |store| {
                assert_eq!(block_on(func.call_async(store, *steps)).unwrap(), result);
            });
            assert_eq!(once, again, "{name} {export}, {}", mode.name);
            costs.push(once);
        }
        assert!(costs[0] > *steps as u64, "{name} {export}: {costs:?}");
        assert!(costs.iter().all(|cost| *cost == costs[0]), "{name} {export}: {costs:?}");
    }
}

#[test]
fn every_program_ends_when_its_fuel_is_used_up() {
    for mode in [DEFAULT, MOVE] {
        let engine = counting(mode);
        for (name, text) in ENDLESS {
            let (mut store, instance) = instantiate_in(&engine, format!("(module {text})"));
            let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
            // Without fuel nothing runs.
            assert_eq!(code(run.call(&mut store, ())), TrapCode::OutOfFuel, "{name}");
            store.set_fuel(10_000).unwrap();
            let error = run.call(&mut store, ()).unwrap_err();
            assert_eq!(trap(&error).code(), TrapCode::OutOfFuel, "{name}");
            assert!(error.to_string().starts_with("wasm trap: out of fuel"), "{error}");
            assert_eq!(store.get_fuel().unwrap(), 0, "{name}");
        }
    }
}

#[test]
fn a_call_needs_exactly_its_cost() {
    for (name, export, text, steps) in PROGRAMS {
        let (mut store, instance) = instantiate_in(&counting(DEFAULT), text);
        let func = instance.get_typed_func::<i64, i64>(&mut store, export).unwrap();
        let needed = cost(&mut store, |store| assert!(func.call(store, *steps).is_ok()));
        store.set_fuel(needed).unwrap();
        func.call(&mut store, *steps).unwrap();
        assert_eq!(store.get_fuel().unwrap(), 0, "{name} {export}");
        store.set_fuel(needed / 2).unwrap();
        assert_eq!(code(func.call(&mut store, *steps)), TrapCode::OutOfFuel, "{name} {export}");
    }
}

#[test]
fn a_host_function_sees_the_fuel_and_can_add_some() {
    let text = "(import \"host\" \"f\" (func $f))
        (func (export \"straight\") (drop (i32.const 1)) (call $f) (drop (i32.const 1)))
        (func (export \"loop\") (param i32)
          (loop (call $f) (br_if 0 (local.tee 0 (i32.sub (local.get 0) (i32.const 1))))))";
    for mode in [DEFAULT, COLLECT_AND_MOVE, STOP] {
        let engine = counting(mode);
        let (mut store, instance) =
            with_host_and_data(&engine, Vec::new(), text, |mut caller: Caller<'_, Vec<u64>>| {
                let left = caller.get_fuel().unwrap();
                caller.data_mut().push(left);
                caller.set_fuel(left + 10).unwrap();
            });
        store.set_fuel(100).unwrap();
        call(&mut store, instance, "straight", &[]).unwrap();
        assert_eq!((store.data().as_slice(), store.get_fuel().unwrap()), (&[98][..], 107));
        store.data_mut().clear();
        store.set_fuel(100).unwrap();
        call(&mut store, instance, "loop", &[Val::I32(3)]).unwrap();
        assert_eq!(
            (store.data().as_slice(), store.get_fuel().unwrap()),
            (&[99, 103, 107][..], 112)
        );
    }
}

#[test]
fn an_interval_yields_at_the_same_places() {
    for (name, export, text, steps) in PROGRAMS {
        let mut all = Vec::new();
        for mode in [DEFAULT, NOT_OPTIMIZED, COLLECT_AND_MOVE] {
            let (mut store, instance) = instantiate_in(&counting(mode), text);
            let func = instance.get_typed_func::<i64, i64>(&mut store, export).unwrap();
            let mut expected = 0;
            let needed = cost(&mut store, |store| expected = func.call(store, *steps).unwrap());
            store.set_fuel(MUCH).unwrap();
            store.fuel_async_yield_interval(Some(100)).unwrap();
            assert_eq!(store.get_fuel().unwrap(), MUCH);
            let (found, polls) = count_polls(func.call_async(&mut store, *steps));
            assert_eq!(found.unwrap(), expected, "{name} {export}, {}", mode.name);
            assert_eq!(MUCH - store.get_fuel().unwrap(), needed, "{name} {export}, {}", mode.name);
            assert!(
                polls > 1 && polls as u64 <= needed / 100 + 1,
                "{name} {export}: {polls} of {needed}"
            );
            // A synchronous call continues.
            assert_eq!(func.call(&mut store, *steps).unwrap(), expected, "{name} {export}");
            all.push(polls);
        }
        assert!(all.iter().all(|polls| *polls == all[0]), "{name} {export}: {all:?}");
    }
}

#[test]
fn an_interval_ends_with_the_fuel() {
    let (mut store, instance) = instantiate_in(&counting(DEFAULT), ENDLESS[0].1);
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
    store.set_fuel(1000).unwrap();
    store.fuel_async_yield_interval(Some(100)).unwrap();
    let (ended, polls) = count_polls(run.call_async(&mut store, ()));
    traps(ended, TrapCode::OutOfFuel);
    assert_eq!(polls, 10);
    store.set_fuel(u64::MAX).unwrap();
    store.fuel_async_yield_interval(None).unwrap();
    assert_eq!(store.get_fuel().unwrap(), u64::MAX);
}

#[test]
fn a_call_that_gets_more_fuel_continues() {
    for (name, export, text, steps) in PROGRAMS {
        for mode in [DEFAULT, NOT_OPTIMIZED, COLLECT_AND_MOVE, STOP] {
            let (mut store, instance) = instantiate_in(&counting(mode), text);
            let func = instance.get_typed_func::<i64, i64>(&mut store, export).unwrap();
            let mut expected = 0;
            let needed = cost(&mut store, |store| expected = func.call(store, *steps).unwrap());
            let given = Arc::new(AtomicU64::new(0));
            let counter = given.clone();
            store
                .on_out_of_fuel(move |_| {
                    counter.fetch_add(7, Ordering::Relaxed);
                    Ok(OutOfFuel::Continue(7))
                })
                .unwrap();
            store.set_fuel(0).unwrap();
            let what = format!("{name} {export}, {}", mode.name);
            assert_eq!(func.call(&mut store, *steps).unwrap(), expected, "{what}");
            let (given, left) = (given.load(Ordering::Relaxed), store.get_fuel().unwrap());
            // Fuel after the last safepoint is not requested.
            assert!(left < 7 && given - left <= needed, "{what}: {given}, {left} of {needed}");
            assert!(left == 0 || given - left == needed, "{what}: {given}, {left} of {needed}");
            assert!(given + 100 >= needed, "{what}: {given} of {needed}");
        }
    }
}

#[test]
fn a_call_that_yields_for_fuel_lets_other_calls_run() {
    let (mut store, instance) = instantiate_in(&counting(DEFAULT), ENDLESS[0].1);
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
    let mut portions = 10;
    store
        .on_out_of_fuel(move |_| {
            portions -= 1;
            Ok(if portions > 0 { OutOfFuel::Yield(100) } else { OutOfFuel::Trap })
        })
        .unwrap();
    let (ended, polls) = count_polls(run.call_async(&mut store, ()));
    assert_eq!((code(ended), polls), (TrapCode::OutOfFuel, 10));
    // A synchronous call continues.
    let mut portions = 10;
    store
        .on_out_of_fuel(move |_| {
            portions -= 1;
            Ok(OutOfFuel::Yield(if portions > 0 { 100 } else { 0 }))
        })
        .unwrap();
    traps(run.call(&mut store, ()), TrapCode::OutOfFuel);
}

#[test]
fn who_is_asked_for_fuel_uses_the_store() {
    for mode in [DEFAULT, COLLECT_AND_MOVE] {
        let text = "(global (export \"asked\") (mut i32) (i32.const 0))
            (func (export \"ask\")
              (global.set 0 (i32.add (global.get 0) (i32.const 1))))
            (func (export \"run\") (loop (br 0)))";
        let (mut store, instance) = instantiate_in(&counting(mode), text);
        store
            .on_out_of_fuel(move |mut store| {
                store.set_fuel(100)?;
                let ask = instance.get_typed_func::<(), ()>(&mut store, "ask")?;
                ask.call(&mut store, ())?;
                let asked = instance.get_global(&mut store, "asked").unwrap();
                let asked = asked.get(&mut store)?.unwrap_i32();
                Ok(if asked < 5 { OutOfFuel::Continue(50) } else { OutOfFuel::Trap })
            })
            .unwrap();
        let error = call(&mut store, instance, "run", &[]).unwrap_err();
        assert_eq!(trap(&error).code(), TrapCode::OutOfFuel);
        assert_eq!(trap(&error).backtrace().frames().len(), 1);
    }
}

#[test]
fn errors_and_panics_of_the_out_of_fuel_hook_end_the_call() {
    let (mut store, instance) = instantiate_in(&counting(DEFAULT), ENDLESS[0].1);
    let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
    store.on_out_of_fuel(|_| anyhow::bail!("the account is empty")).unwrap();
    let error = run.call(&mut store, ()).unwrap_err();
    assert!(error.to_string().starts_with("the account is empty"), "{error}");
    store.on_out_of_fuel(|_| panic!("the bank is closed")).unwrap();
    let panic = catch_unwind(AssertUnwindSafe(|| run.call(&mut store, ()))).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"the bank is closed"));
    store.on_out_of_fuel(|_| Ok(OutOfFuel::Trap)).unwrap();
    traps(run.call(&mut store, ()), TrapCode::OutOfFuel);
}

#[test]
fn fuel_is_refused_where_it_is_not_counted() {
    let mut store = Store::new(&Engine::default(), ());
    let expected = "this engine does not count fuel: set `Config::consume_fuel`";
    assert_eq!(store.get_fuel().unwrap_err().to_string(), expected);
    assert_eq!(store.set_fuel(1).unwrap_err().to_string(), expected);
    assert_eq!(store.fuel_async_yield_interval(None).unwrap_err().to_string(), expected);
    let asked = store.on_out_of_fuel(|_| Ok(OutOfFuel::Trap));
    assert_eq!(asked.unwrap_err().to_string(), expected);
    let mut store = Store::new(&counting(DEFAULT), ());
    let error = store.fuel_async_yield_interval(Some(0)).unwrap_err();
    assert_eq!(error.to_string(), "an interval must be at least one unit of fuel, found 0");
}
