//! Measures snapshots: what they cost per stack and per megabyte, and what code for them costs.
//!
//! ```sh
//! cargo run --release -p ropewalk --example snapshots
//! ```

use ropewalk::*;
use std::time::{Duration, Instant};

const GENERATORS: &str = r#"
(module
  (type $f (func)) (type $c (cont $f))
  (tag $yield (param i32))
  (memory (export "memory") 1)
  (table $all 0 (ref null $c))
  (elem declare func $body)
  (func $body (local $i i32)
    (loop $next
      (suspend $yield (local.tee $i (i32.add (local.get $i) (i32.const 1))))
      (br $next)))
  (func $step (param $at i32) (result i32) (local $rest (ref null $c))
    (block $on (result i32 (ref $c))
      (resume $c (on $yield $on) (table.get $all (local.get $at)))
      (unreachable))
    (local.set $rest)
    (table.set $all (local.get $at) (local.get $rest)))
  (func (export "begin") (param $count i32)
    (drop (table.grow $all (ref.null $c) (local.get $count)))
    (loop $next
      (local.set $count (i32.sub (local.get $count) (i32.const 1)))
      (table.set $all (local.get $count) (cont.new $c (ref.func $body)))
      (drop (call $step (local.get $count)))
      (br_if $next (local.get $count))))
  (func (export "sum") (result i64) (local $at i32) (local $sum i64)
    (loop $next
      (local.set $sum (i64.add (local.get $sum) (i64.extend_i32_u (call $step (local.get $at)))))
      (local.set $at (i32.add (local.get $at) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $at) (table.size $all))))
    (local.get $sum))
  (func (export "fill") (param $pages i32)
    (drop (memory.grow (local.get $pages)))
    (memory.fill (i32.const 0) (i32.const 7) (i32.shl (local.get $pages) (i32.const 16))))
  (func $fib (export "fib") (param $n i32) (result i32)
    (if (result i32) (i32.lt_s (local.get $n) (i32.const 2))
      (then (local.get $n))
      (else (i32.add (call $fib (i32.sub (local.get $n) (i32.const 1)))
        (call $fib (i32.sub (local.get $n) (i32.const 2)))))))
  (func (export "switch") (param $count i32)
    (table.set $all (i32.const 0) (cont.new $c (ref.func $body)))
    (loop $next
      (drop (call $step (i32.const 0)))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1)))))))"#;

fn main() -> Result<()> {
    let engine = Engine::new(Config::new().snapshots(true))?;
    let module = Module::new(&engine, GENERATORS)?;
    for count in [1, 1000, 1_000_000] {
        generators(&module, count)?;
    }
    for pages in [16, 1024] {
        memory(&module, pages)?;
    }
    overhead(&module)
}

/// A store in which so many generators are suspended.
fn store_with(module: &Module, count: i32) -> Result<(Store<()>, Instance)> {
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, module, &[])?;
    instance.get_typed_func::<i32, ()>(&mut store, "begin")?.call(&mut store, count)?;
    Ok((store, instance))
}

/// Writes a store down and reads it, some times; returns the best times and the size.
fn measure(
    module: &Module,
    store: &mut Store<()>,
    instance: Instance,
) -> Result<(Duration, Duration, usize)> {
    let restoring = Restoring::new(module.engine(), [module.clone()]);
    let (mut taking, mut reading, mut size) = (Duration::MAX, Duration::MAX, 0);
    for _ in 0..5 {
        let begun = Instant::now();
        let snapshot = store.snapshot(SnapshotOptions::new().name_instance("main", instance))?;
        taking = taking.min(begun.elapsed());
        size = snapshot.as_bytes().len();
        let begun = Instant::now();
        let restored = snapshot.restore_by(&restoring, ())?;
        reading = reading.min(begun.elapsed());
        drop(restored);
    }
    Ok((taking, reading, size))
}

fn generators(module: &Module, count: i32) -> Result<()> {
    let (mut store, instance) = store_with(module, count)?;
    let (taking, reading, size) = measure(module, &mut store, instance)?;
    println!(
        "{count} generators: taken in {taking:?}, restored in {reading:?}, {size} bytes; each \
         {:.0} ns, {:.0} ns, {:.0} bytes",
        taking.as_nanos() as f64 / f64::from(count),
        reading.as_nanos() as f64 / f64::from(count),
        size as f64 / f64::from(count),
    );
    let snapshot = store.snapshot(SnapshotOptions::new().name_instance("main", instance))?;
    drop(store);
    let mut restored =
        snapshot.restore(&Linker::new(module.engine()), std::slice::from_ref(module), ())?;
    let sum = restored.instance("main")?;
    let sum = sum.get_typed_func::<(), i64>(&mut restored.store, "sum")?;
    assert_eq!(sum.call(&mut restored.store, ())?, i64::from(count) * 2);
    Ok(())
}

fn memory(module: &Module, pages: i32) -> Result<()> {
    let (mut store, instance) = store_with(module, 1)?;
    instance.get_typed_func::<i32, ()>(&mut store, "fill")?.call(&mut store, pages)?;
    let (taking, reading, size) = measure(module, &mut store, instance)?;
    let first = store.snapshot(SnapshotOptions::new().name_instance("main", instance))?;
    let memory = instance.get_memory(&mut store, "memory").expect("it is exported");
    memory.write(&mut store, 5000, b"changed")?;
    let begun = Instant::now();
    let mut options = SnapshotOptions::new();
    let second = store.snapshot(options.name_instance("main", instance).since(&first))?;
    println!(
        "{} MiB of memory: taken in {taking:?}, restored in {reading:?}, {size} bytes; after one \
         page has changed, {:?} and {} bytes",
        pages / 16,
        begun.elapsed(),
        second.as_bytes().len(),
    );
    Ok(())
}

/// How much slower functions are that can be written down.
fn overhead(with: &Module) -> Result<()> {
    let without = Module::new(&Engine::default(), GENERATORS)?;
    for (name, argument) in [("fib", 32), ("switch", 5_000_000)] {
        let mut best = [Duration::MAX; 2];
        for _ in 0..7 {
            for (best, module) in best.iter_mut().zip([&without, with]) {
                let (mut store, instance) = store_with(module, 1)?;
                let func = instance.get_func(&mut store, name).expect("it is exported");
                let mut results = vec![Val::I32(0); func.ty(&store)?.results().len()];
                let begun = Instant::now();
                func.call(&mut store, &[Val::I32(argument)], &mut results)?;
                *best = (*best).min(begun.elapsed());
            }
        }
        let ratio = best[1].as_secs_f64() / best[0].as_secs_f64();
        println!("{name}: {ratio:.2} of the time that it takes without snapshots");
    }
    Ok(())
}
