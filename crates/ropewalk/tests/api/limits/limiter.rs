//! Refusals of a store's limiter, and their effects.

use crate::common::*;
use ropewalk::*;
use std::sync::{Arc, Mutex};

fn limited(limits: StoreLimitsBuilder, text: &str) -> (Store<()>, Result<Instance>) {
    let engine = Engine::default();
    let module = Module::new(&engine, text).unwrap();
    let mut store = Store::new(&engine, ());
    store.limiter(limits.build());
    let instance = Instance::new(&mut store, &module, &[]);
    (store, instance)
}

fn limits() -> StoreLimitsBuilder {
    StoreLimitsBuilder::new()
}

const PAGE: usize = 1 << 16;

const ONE_PAGE: MemoryType = MemoryType { memory64: false, minimum: 1, maximum: None };

const GROW: &str = "(memory $a 1) (memory $b 1 9) (table $t 2 funcref)
    (func (export \"a\") (param i32) (result i32) (memory.grow $a (local.get 0)))
    (func (export \"b\") (param i32) (result i32) (memory.grow $b (local.get 0)))
    (func (export \"t\") (param i32) (result i32) (table.grow $t (ref.null func) (local.get 0)))";

fn grow(store: &mut Store<()>, instance: Instance, name: &str, by: i32) -> Result<i32> {
    instance.get_typed_func::<i32, i32>(&mut *store, name)?.call(store, by)
}

#[test]
fn memories_grow_up_to_their_limits() {
    let (mut store, instance) =
        limited(limits().memory_size(4 * PAGE).total_memory_size(6 * PAGE), GROW);
    let instance = instance.unwrap();
    assert_eq!(grow(&mut store, instance, "a", 4).unwrap(), -1);
    assert_eq!(grow(&mut store, instance, "a", 3).unwrap(), 1);
    assert_eq!(grow(&mut store, instance, "b", 2).unwrap(), -1);
    assert_eq!(grow(&mut store, instance, "b", 1).unwrap(), 1);
    assert_eq!(grow(&mut store, instance, "b", -1).unwrap(), -1);
    assert_eq!(grow(&mut store, instance, "b", 0).unwrap(), 2);
    // The host is limited as well.
    let error = Memory::new(&mut store, ONE_PAGE).unwrap_err();
    assert_eq!(error.to_string(), "the limiter of the store refuses a memory of 65536 bytes");
}

#[test]
fn refused_growth_can_be_an_error() {
    let limits = limits().memory_size(PAGE).table_elements(2).trap_on_grow_failure(true);
    let (mut store, instance) = limited(limits, GROW);
    let instance = instance.unwrap();
    fails_because(
        grow(&mut store, instance, "a", 1),
        "the bytes of a memory may not grow to 131072",
    );
    fails_because(grow(&mut store, instance, "t", 1), "the elements of a table may not grow to 3");
}

#[test]
fn tables_grow_up_to_their_limit() {
    let (mut store, instance) = limited(limits().table_elements(10), GROW);
    let instance = instance.unwrap();
    assert_eq!(grow(&mut store, instance, "t", 9).unwrap(), -1);
    assert_eq!(grow(&mut store, instance, "t", 8).unwrap(), 2);
}

#[test]
fn a_module_that_needs_more_is_not_instantiated_and_leaves_nothing() {
    let refuses = |limits: StoreLimitsBuilder, what: &str| {
        let (mut store, instance) = limited(limits.clone(), GROW);
        let expected = format!("the limiter of the store refuses {what}");
        assert_eq!(instance.unwrap_err().to_string(), expected);
        // Nothing of the refused module counts.
        let small = Module::new(store.engine(), "(memory 1)").unwrap();
        Instance::new(&mut store, &small, &[]).unwrap();
    };
    refuses(limits().total_memory_size(PAGE), "a memory of 65536 bytes");
    refuses(limits().table_elements(1), "a table of 2 elements");
    refuses(limits().memories(1), "2 memories: at most 1 are allowed");
    refuses(limits().tables(0), "1 tables: at most 0 are allowed");
    let (_, instance) = limited(limits().instances(0), GROW);
    let expected = "the limiter of the store refuses 1 instances: at most 0 are allowed";
    assert_eq!(instance.unwrap_err().to_string(), expected);
}

const STACKS: &str = "(type $f (func)) (type $k (cont $f)) (tag $t) (elem declare func $f)
    (table $t 0 (ref null $k))
    (func $f (suspend $t))
    (func (export \"make\") (param $n i32)
      (loop
        (drop (table.grow $t (cont.new $k (ref.func $f)) (i32.const 1)))
        (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))
    (type $g (func (param i32))) (type $d (cont $g)) (elem declare func $nest $deep)
    (func $nest (export \"nest\") (param $n i32)
      (if (local.get $n) (then (resume $d
        (i32.sub (local.get $n) (i32.const 1)) (cont.new $d (ref.func $nest))))))
    (func $deep (export \"deep\") (param $n i32)
      (if (local.get $n) (then
        (call $deep (i32.sub (local.get $n) (i32.const 1)))
        (drop (table.size $t)))))
    (func (export \"deep in a continuation\") (param $n i32)
      (resume $d (local.get $n) (cont.new $d (ref.func $deep))))";

#[test]
fn stacks_are_limited_by_number() {
    let (mut store, instance) = limited(limits().stacks(40), STACKS);
    let instance = instance.unwrap();
    let make = |store: &mut Store<()>, n| call(store, instance, "make", &[Val::I32(n)]);
    make(&mut store, 40).unwrap();
    traps(make(&mut store, 1), TrapCode::TooManyStacks);
    assert!(store.stack_statistics().live <= 41);
}

/// A stack that waits for another counts with its initial size, a parked stack with its frames.
#[test]
fn stacks_are_limited_by_bytes() {
    let (mut store, instance) = limited(limits().stack_bytes(1 << 20), STACKS);
    let instance = instance.unwrap();
    number(&mut store, instance, "nest", &[9]).unwrap();
    traps(number(&mut store, instance, "nest", &[10]), TrapCode::TooManyStacks);
    number(&mut store, instance, "make", &[2000]).unwrap();
    assert!(store.stack_statistics().parked > 1900);
    number(&mut store, instance, "nest", &[5]).unwrap();
    traps(number(&mut store, instance, "make", &[100_000]), TrapCode::TooManyStacks);
}

/// A stack may grow to the limit of all stacks, also the root of a call.
#[test]
fn the_growth_of_stacks_is_limited() {
    let (mut store, instance) = limited(limits().stack_bytes(2 << 20), STACKS);
    let instance = instance.unwrap();
    for name in ["deep", "deep in a continuation"] {
        number(&mut store, instance, name, &[10_000]).unwrap();
        let error = number(&mut store, instance, name, &[1_000_000]).unwrap_err();
        let trap = error.downcast_ref::<Trap>().unwrap();
        assert_eq!(trap.code(), TrapCode::CallStackExhausted);
        assert_eq!(trap.detail(), Some("the limiter of the store allows no more"));
    }
}

#[test]
fn the_heap_is_limited_and_garbage_does_not_count() {
    let text = "(type $a (array (mut i8))) (global $kept (mut (ref null $a)) (ref.null $a))
        (func (export \"keep\") (param i32)
          (global.set $kept (array.new_default $a (local.get 0))))
        (func (export \"garbage\") (param $n i32)
          (loop
            (drop (array.new_default $a (i32.const 100000)))
            (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1))))))";
    let (mut store, instance) = limited(limits().heap_bytes(2 << 20), text);
    let instance = instance.unwrap();
    let keep = |store: &mut Store<()>, n| call(store, instance, "keep", &[Val::I32(n)]);
    keep(&mut store, 1 << 20).unwrap();
    traps(keep(&mut store, 3 << 20), TrapCode::OutOfMemory);
    call(&mut store, instance, "garbage", &[Val::I32(200)]).unwrap();
    keep(&mut store, 1000).unwrap();
    assert!(store.heap_used() <= 2 << 20);
}

#[test]
fn host_values_are_limited() {
    let mut store = Store::new(&Engine::default(), ());
    store.limiter(limits().host_values(3).build());
    for i in 0..3 {
        ExternRef::new(&mut store, i).unwrap();
    }
    traps(ExternRef::new(&mut store, 4), TrapCode::OutOfMemory);
}

#[test]
fn references_that_the_host_owns_are_limited() {
    let mut store = Store::new(&Engine::default(), ());
    store.limiter(limits().handles(3).build());
    let own = |store: &mut Store<()>| ExternRef::new(&mut *store, 5)?.own(store);
    let mut owned: Vec<_> = (0..3).map(|_| own(&mut store).unwrap()).collect();
    let error = own(&mut store).unwrap_err();
    assert!(error.is::<Refused>());
    let expected = "the limiter of the store refuses 4 references that the host owns";
    assert_eq!(error.to_string(), expected);
    // A clone is the same reference, and a dropped one makes room.
    let clone = owned[0].clone();
    assert!(own(&mut store).is_err());
    owned.pop();
    owned.push(own(&mut store).unwrap());
    assert!(own(&mut store).is_err());
    drop((owned, clone));
    own(&mut store).unwrap();
}

/// Records its questions, and refuses with an error.
#[derive(Clone, Default)]
struct Strict(Arc<Mutex<Vec<String>>>);

impl ResourceLimiter for Strict {
    fn memory_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        self.0.lock().unwrap().push(format!("memory {current} {desired} {maximum:?}"));
        match desired > 3 * PAGE {
            true => Err(Error::msg("strictly no")),
            false => Ok(true),
        }
    }

    fn memory_grow_failed(&mut self, current: usize, desired: usize) {
        self.0.lock().unwrap().push(format!("failed {current} {desired}"));
    }

    fn table_growing(
        &mut self,
        current: usize,
        desired: usize,
        maximum: Option<usize>,
    ) -> Result<bool> {
        self.0.lock().unwrap().push(format!("table {current} {desired} {maximum:?}"));
        Ok(true)
    }
}

#[test]
fn a_limiter_of_ones_own_is_asked_about_everything_and_its_error_ends_the_call() {
    let engine = Engine::default();
    let module = Module::new(
        &engine,
        "(memory 1 2) (table 1 funcref)
         (func (export \"grow\") (param i32) (result i32) (memory.grow (local.get 0)))",
    )
    .unwrap();
    let mut store = Store::new(&engine, ());
    let strict = Strict::default();
    store.limiter(strict.clone());
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    assert_eq!(grow(&mut store, instance, "grow", 2).unwrap(), -1);
    fails_because(grow(&mut store, instance, "grow", 9), "strictly no");
    assert_eq!(grow(&mut store, instance, "grow", 1).unwrap(), 1);
    let asked = strict.0.lock().unwrap().join(", ");
    let two = Some(2 * PAGE);
    let expected = [
        format!("memory 0 65536 {two:?}"),
        "table 0 1 None".to_string(),
        format!("memory 65536 196608 {two:?}"),
        "failed 65536 196608".to_string(),
        format!("memory 65536 655360 {two:?}"),
        format!("memory 65536 131072 {two:?}"),
    ];
    assert_eq!(asked, expected.join(", "));
}

/// The limiter's questions when stacks grow, and its panics.
#[test]
fn a_limiter_is_asked_when_a_stack_grows() {
    struct Watching(Arc<Mutex<Vec<[usize; 3]>>>);
    impl ResourceLimiter for Watching {
        fn memory_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
            Ok(true)
        }
        fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
            Ok(true)
        }
        fn stack_growing(&mut self, current: usize, desired: usize, bytes: usize) -> bool {
            self.0.lock().unwrap().push([current, desired, bytes]);
            assert!(desired < 8 << 20, "too deep");
            true
        }
    }
    let module = Module::new(&Engine::default(), STACKS).unwrap();
    let mut store = Store::new(module.engine(), ());
    let asked = Arc::new(Mutex::new(Vec::new()));
    store.limiter(Watching(asked.clone()));
    let instance = Instance::new(&mut store, &module, &[]).unwrap();
    number(&mut store, instance, "deep", &[60_000]).unwrap();
    const MEBI: usize = 1 << 20;
    assert_eq!(*asked.lock().unwrap(), [[MEBI, 2 * MEBI, MEBI]]);
    asked.lock().unwrap().clear();
    number(&mut store, instance, "deep in a continuation", &[10_000]).unwrap();
    let all = asked.lock().unwrap().clone();
    for (growth, next) in all.iter().zip(&all[1..]) {
        assert_eq!((growth[1], 2 * growth[0]), (next[0], growth[1]));
        assert!(growth[2] >= growth[1], "{growth:?}");
    }
    assert!(all.last().unwrap()[1] >= 10_000 * 32);
    let deep = std::panic::AssertUnwindSafe(|| number(&mut store, instance, "deep", &[1_000_000]));
    let panic = std::panic::catch_unwind(deep).unwrap_err();
    assert_eq!(panic.downcast_ref::<&str>(), Some(&"too deep"));
    number(&mut store, instance, "deep", &[60_000]).unwrap();
}
