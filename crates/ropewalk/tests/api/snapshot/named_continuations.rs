//! Continuations of the host in snapshots, by name.

use super::*;

const SOURCE: &str = r#"
(module
  (import "host" "ask" (func $ask (param i32) (result i32)))
  (tag $yield (export "yield") (param i32) (result i32))
  (func (export "run") (param $n i32) (result i32)
    (loop $next
      (local.set $n (i32.add (local.get $n) (suspend $yield (local.get $n))))
      (br_if $next (i32.lt_s (local.get $n) (i32.const 100))))
    (i32.add (local.get $n) (call $ask (local.get $n)))))"#;

fn linker(engine: &Engine) -> Linker<()> {
    let mut linker = Linker::new(engine);
    linker.host("ask", |n: i32| n * 1000);
    linker
}

#[test]
fn a_continuation_is_found_by_its_name_and_continues() {
    let module = Module::new(&engine(), SOURCE).unwrap();
    let linker = linker(module.engine());
    let (mut store, instance) = start_with(&linker, (), &module);
    let rest = continuation(&mut store, instance, "run");
    let (value, rest) = asked(rest.resume(&mut store, &[Val::I32(1)]));
    assert_eq!(value, 1);
    let snapshot = store.snapshot(SnapshotOptions::new().name_continuation("it", &rest)).unwrap();

    // The snapshot does not change with the store.
    let (value, _) = asked(rest.resume(&mut store, &[Val::I32(50)]));
    assert_eq!(value, 51);
    for step in [10, 49] {
        let mut restored =
            through_bytes(&snapshot).restore(&linker, std::slice::from_ref(&module), ()).unwrap();
        let rest = restored.continuation("it").unwrap();
        let error = restored.continuation("it").unwrap_err().to_string();
        assert_eq!(error, "the snapshot has no continuation named \"it\"");
        let store = &mut restored.store;
        let (value, rest) = asked(rest.resume(&mut *store, &[Val::I32(step)]));
        assert_eq!(value, 1 + step);
        let rest = rest.resume(&mut *store, &[Val::I32(99)]).unwrap();
        let Resumed::Returned(results) = rest else { panic!("it returns") };
        assert_eq!(results[0].i32(), Some((100 + step) * 1001));
    }
}

#[test]
fn a_continuation_that_has_not_begun_survives() {
    let module = Module::new(&engine(), SOURCE).unwrap();
    let linker = linker(module.engine());
    let (mut store, instance) = start_with(&linker, (), &module);
    let rest = continuation(&mut store, instance, "run");
    let snapshot = store.snapshot(SnapshotOptions::new().name_continuation("it", &rest)).unwrap();
    drop((rest, store));
    let mut restored = snapshot.restore(&linker, &[module], ()).unwrap();
    let rest = restored.continuation("it").unwrap();
    let (value, rest) = asked(rest.resume(&mut restored.store, &[Val::I32(42)]));
    assert_eq!(value, 42);
    rest.free(&mut restored.store).unwrap();
    assert_eq!(restored.store.stack_statistics().live, 0);
}

#[test]
fn a_continuation_left_in_a_host_function_that_suspended_continues_with_its_results() {
    let source = r#"
    (module
      (import "host" "sleep" (func $sleep (param i64) (result i32)))
      (import "host" "tag" (tag $sleeps (param i64) (result i32)))
      (func (export "run") (result i32)
        (i32.add (call $sleep (i64.const 5)) (call $sleep (i64.const 6)))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let mut store = Store::new(module.engine(), ());
    let ty = TagType::new(FuncType::new([ValType::I64], [ValType::I32]));
    let tag = Tag::new(&mut store, ty).unwrap();
    let mut linker = Linker::new(module.engine());
    linker.host("sleep", move |time: i64| -> Result<i32> {
        Err(Suspension::new(tag, &[Val::I64(time)]).into())
    });
    linker.define(&mut store, "host", "tag", tag).unwrap();
    let instance = linker.instantiate(&mut store, &module).unwrap();
    let rest = continuation(&mut store, instance, "run");
    let (_, values, continuation) = suspended(rest.resume(&mut store, &[]));
    assert_eq!(values[0].i64(), Some(5));
    let snapshot =
        store.snapshot(SnapshotOptions::new().name_continuation("it", &continuation)).unwrap();
    let mut functions = Linker::new(module.engine());
    functions.host("sleep", |_: i64| 1000);
    let mut restored = snapshot.restore(&functions, &[module], ()).unwrap();
    let rest = restored.continuation("it").unwrap();
    assert_eq!(returned(rest.resume(&mut restored.store, &[Val::I32(7)])), 1007);
}

#[test]
fn a_continuation_keeps_its_limit_until_it_has_ended() {
    let source = r#"
    (module
      (tag $yield)
      (func $down (param $n i32) (result i32)
        (if (result i32) (local.get $n)
          (then (i32.add (i32.const 1) (call $down (i32.sub (local.get $n) (i32.const 1)))))
          (else (i32.const 0))))
      (func (export "run") (param $n i32) (result i32)
        (suspend $yield)
        (call $down (local.get $n))))"#;
    let module = Module::new(&engine(), source).unwrap();
    let (mut store, instance) = start(&module);
    let run = instance.get_func(&mut store, "run").unwrap();
    let mut options = SnapshotOptions::new();
    let mut kept = Vec::new();
    // Both go equally deep, but only one may.
    for (name, limit) in [("small", Some(256 << 10)), ("large", None)] {
        let rest = Continuation::new(&mut store, run).unwrap();
        if let Some(limit) = limit {
            rest.set_max_stack(&mut store, limit).unwrap();
        }
        let (.., continuation) = suspended(rest.resume(&mut store, &[Val::I32(100_000)]));
        options.name_continuation(name, &continuation);
        kept.push(continuation);
    }
    let snapshot = through_bytes(&store.snapshot(&options).unwrap());
    let linker = Linker::<()>::new(module.engine());
    let mut restored = snapshot.restore(&linker, &[module], ()).unwrap();
    let [small, large] = ["small", "large"].map(|name| restored.continuation(name).unwrap());
    let error = small.resume(&mut restored.store, &[]).unwrap_err();
    assert_eq!(error.downcast_ref::<Trap>().unwrap().code(), TrapCode::CallStackExhausted);
    assert_eq!(returned(large.resume(&mut restored.store, &[])), 100_000);
}

#[test]
fn many_parked_generators_survive_and_continue() {
    let source = r#"
    (module
      (type $f (func)) (type $c (cont $f)) (tag $yield (param i32))
      (table $all 0 (ref null $c)) (elem declare func $body)
      (func $body (local $i i32)
        (loop $next
          (suspend $yield (local.tee $i (i32.add (local.get $i) (i32.const 1))))
          (br $next)))
      (func $step (param $at i32) (result i32) (local $rest (ref null $c))
        (block $on (result i32 (ref $c))
          (resume $c (on $yield $on) (table.get $all (local.get $at))) (unreachable))
        (local.set $rest)
        (table.set $all (local.get $at) (local.get $rest)))
      (func (export "begin") (param $count i32)
        (drop (table.grow $all (ref.null $c) (local.get $count)))
        (loop $next
          (local.set $count (i32.sub (local.get $count) (i32.const 1)))
          (table.set $all (local.get $count) (cont.new $c (ref.func $body)))
          (drop (call $step (local.get $count)))
          (br_if $next (local.get $count))))
      (func (export "sum") (result i32) (local $at i32) (local $sum i32)
        (loop $next
          (local.set $sum (i32.add (local.get $sum) (call $step (local.get $at))))
          (local.set $at (i32.add (local.get $at) (i32.const 1)))
          (br_if $next (i32.lt_u (local.get $at) (table.size $all))))
        (local.get $sum)))"#;
    let module = Module::new(&engine(), source).unwrap();
    let (mut store, instance) = start(&module);
    invoke::<i32, ()>(&mut store, instance, "begin", 5000).unwrap();
    let (mut other, same) = restored(&module, &mut store, instance);
    assert_eq!(other.stack_statistics().parked, 5000);
    for round in 2..5 {
        assert_eq!(call::<i32>(&mut other, same, "sum"), 5000 * round);
    }
}
