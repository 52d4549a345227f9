//! Reuse of a store's memory by the next store of its engine.

use ropewalk::*;

/// A module with a memory and a continuation that suspends with four values, so that one goes
/// through the transfer area.
const SOURCE: &str = r#"(module
    (type $f (func (result i64))) (type $c (cont $f))
    (type $g (func (param i64) (result i64))) (type $d (cont $g))
    (tag $ask (param i64 i64 i64 i64) (result i64))
    (memory (export "memory") 1) (global $kept (mut (ref null $d)) (ref.null $d))
    (func $body (result i64)
      (i64.add (i64.const 1)
        (suspend $ask (i64.const 10) (i64.const 20) (i64.const 30) (i64.const 40))))
    (elem declare func $body)
    ;; The sum of the bytes already in memory, and of the values.
    (func (export "begin") (result i64)
      (block $on (result i64 i64 i64 i64 (ref $d))
        (return (resume $c (on $ask $on) (cont.new $c (ref.func $body)))))
      (global.set $kept)
      (i64.add) (i64.add) (i64.add)
      (i64.add (i64.load (i32.const 65528)))
      (i64.store (i32.const 65528) (i64.const 1000)))
    (func (export "end") (result i64) (resume $d (i64.const 7) (global.get $kept))))"#;

fn module() -> Module {
    Module::new(&Engine::default(), SOURCE).expect("it is valid")
}

/// Calls `begin` in a new store.
fn begin(module: &Module) -> (Store<()>, Instance) {
    let mut store = Store::new(module.engine(), ());
    assert_eq!(store.stack_statistics().live, 0);
    let instance = Instance::new(&mut store, module, &[]).expect("there is memory");
    let begin = instance.get_typed_func::<(), i64>(&mut store, "begin").expect("exported");
    assert_eq!(begin.call(&mut store, ()).expect("it suspends"), 100);
    (store, instance)
}

#[test]
fn a_store_sees_nothing_of_those_before_it() {
    let module = module();
    // Some stores are dropped at once, others while many live.
    let mut alive = Vec::new();
    for round in 0..600 {
        alive.push(begin(&module));
        if round % 3 != 0 {
            alive.swap_remove(round % alive.len());
        }
    }
    for (mut store, instance) in alive {
        let end = instance.get_typed_func::<(), i64>(&mut store, "end").expect("exported");
        assert_eq!(end.call(&mut store, ()).expect("it waits"), 8);
        assert!(end.call(&mut store, ()).is_err(), "it has ended");
    }
    begin(&module);
}

#[test]
fn a_store_with_many_stacks_leaves_a_blank_table() {
    let module = module();
    for _ in 0..3 {
        let (mut store, instance) = begin(&module);
        let begin = instance.get_typed_func::<(), i64>(&mut store, "begin").expect("exported");
        for _ in 0..1000 {
            assert_eq!(begin.call(&mut store, ()).expect("it suspends"), 1100);
        }
        assert!(store.stack_statistics().live > 256);
    }
    begin(&module);
}

#[test]
fn stores_one_after_another_touch_no_new_pages() {
    const STORES: usize = 300;
    let text = r#"(module (memory 1) (func (export "run") (result i32)
        (i32.store (i32.const 8) (i32.const 5)) (i32.load (i32.const 8))))"#;
    let module = Module::new(&Engine::default(), text).expect("it is valid");
    let run = || {
        let mut store = Store::new(module.engine(), ());
        let instance = Instance::new(&mut store, &module, &[]).expect("there is memory");
        let run = instance.get_typed_func::<(), i32>(&mut store, "run").expect("exported");
        assert_eq!(run.call(&mut store, ()).expect("it returns"), 5);
    };
    (0..10).for_each(|_| run());
    let before = faults();
    (0..STORES).for_each(|_| run());
    // Each new mapping would be touched at least once.
    assert!(faults() - before < STORES / 2, "{} page faults", faults() - before);
}

/// The minor page faults of this thread.
fn faults() -> usize {
    // SAFETY: all zeros is a valid value, which the kernel fills in.
    unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        assert_eq!(libc::getrusage(libc::RUSAGE_THREAD, &mut usage), 0);
        usage.ru_minflt as usize
    }
}
