//! Measures snapshots: their costs per stack and per megabyte, and the costs of code for them.
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
  (func $step (export "step") (param $at i32) (result i32) (local $rest (ref null $c))
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
  (type $list (struct (field (mut i32)) (field (ref null $list))))
  (global $list (mut (ref null $list)) (ref.null $list))
  (func (export "build") (param $count i32)
    (loop $next
      (global.set $list (struct.new $list (local.get $count) (global.get $list)))
      (br_if $next (local.tee $count (i32.sub (local.get $count) (i32.const 1))))))
  (func (export "set") (param i32) (struct.set $list 0 (global.get $list) (local.get 0)))
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
    objects(&module, 1_000_000)?;
    overhead(&module)
}

/// A store with `count` suspended generators.
fn store_with(module: &Module, count: i32) -> Result<(Store<()>, Instance)> {
    let mut store = Store::new(module.engine(), ());
    let instance = Instance::new(&mut store, module, &[])?;
    instance.get_typed_func::<i32, ()>(&mut store, "begin")?.call(&mut store, count)?;
    Ok((store, instance))
}

/// Takes and restores a snapshot five times. Returns the best times and the size.
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
    let step = instance.get_typed_func::<i32, i32>(&mut store, "step")?;
    let whole = changes(&mut store, instance, "one was resumed", |store| {
        step.call(store, count / 2).map(drop)
    })?;
    drop(store);
    let mut restored =
        whole.restore(&Linker::new(module.engine()), std::slice::from_ref(module), ())?;
    let sum = restored.instance("main")?;
    let sum = sum.get_typed_func::<(), i64>(&mut restored.store, "sum")?;
    assert_eq!(sum.call(&mut restored.store, ())?, i64::from(count) * 2 + 2 * TIMES as i64);
    Ok(())
}

/// How often a change is measured.
const TIMES: usize = 5;

/// Takes snapshots of changes, and prints the best time and the size. Returns the merged snapshot.
fn changes(
    store: &mut Store<()>,
    instance: Instance,
    what: &str,
    change: impl Fn(&mut Store<()>) -> Result<()>,
) -> Result<Snapshot> {
    let mut options = SnapshotOptions::new();
    let mut last = store.snapshot(options.name_instance("main", instance))?;
    for is_last in [false, true] {
        let (mut best, mut size, mut all) = (Duration::MAX, 0, Vec::new());
        let base = last.clone();
        for _ in 0..TIMES {
            change(store)?;
            let begun = Instant::now();
            let next = match is_last {
                false => store.snapshot(options.since(&base))?,
                true => store.snapshot(options.since_last())?,
            };
            best = best.min(begun.elapsed());
            size = next.as_bytes().len();
            all.push(next);
        }
        let since = if is_last { "the last" } else { "the first" };
        println!("  {what}: since {since} in {best:?}, {size} bytes");
        last = match is_last {
            false => all.pop().expect("there are some").on(&base)?,
            true => all.into_iter().try_fold(last, |base, next| next.on(&base))?,
        };
    }
    Ok(last)
}

fn memory(module: &Module, pages: i32) -> Result<()> {
    let (mut store, instance) = store_with(module, 1)?;
    instance.get_typed_func::<i32, ()>(&mut store, "fill")?.call(&mut store, pages)?;
    let (taking, reading, size) = measure(module, &mut store, instance)?;
    println!(
        "{} MiB of memory: taken in {taking:?}, restored in {reading:?}, {size} bytes",
        pages / 16
    );
    let memory = instance.get_memory(&mut store, "memory").expect("it is exported");
    changes(&mut store, instance, "a page was written", |store| {
        memory.write(store, 5000, b"changed")
    })?;
    Ok(())
}

/// Snapshots of a heap of `count` objects.
fn objects(module: &Module, count: i32) -> Result<()> {
    let (mut store, instance) = store_with(module, 1)?;
    instance.get_typed_func::<i32, ()>(&mut store, "build")?.call(&mut store, count)?;
    let (taking, reading, size) = measure(module, &mut store, instance)?;
    println!("{count} objects: taken in {taking:?}, restored in {reading:?}, {size} bytes");
    let set = instance.get_typed_func::<i32, ()>(&mut store, "set")?;
    changes(&mut store, instance, "one was changed", |store| set.call(store, 7))?;
    Ok(())
}

/// How much slower functions are that support snapshots.
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
