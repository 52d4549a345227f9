//! Async limiters: which operations wait for the decision, and which cannot.

use crate::common::*;
use ropewalk::*;
use std::future::Future;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

fn limited_engines() -> Vec<Engine> {
    let mut all = engines();
    all.extend([CHECK, PARK].map(engine));
    all.push(Engine::new(Config::new().consume_fuel(true)).unwrap());
    all
}

/// Polls a future this often, while it is pending, and drops it.
#[track_caller]
fn poll_and_drop<R>(future: impl Future<Output = R>, times: usize) {
    let mut future = Box::pin(future);
    for _ in 0..times {
        assert!(poll_once(future.as_mut()).is_pending());
    }
}

/// Decides each question after some polls.
#[derive(Clone)]
struct Slow(Arc<Inner>);

struct Inner {
    polls: AtomicUsize,
    /// Refuses larger memories.
    most_pages: usize,
    most_elements: usize,
    most_stacks: usize,
    most_heap: usize,
    /// The questions, and the memories that did not grow.
    asked: Mutex<Vec<String>>,
}

const PAGE: usize = 1 << 16;
const ANY: usize = usize::MAX;

impl Slow {
    fn new(polls: usize) -> Slow {
        Slow::limited(polls, ANY, ANY, ANY, ANY)
    }

    fn limited(polls: usize, pages: usize, elements: usize, stacks: usize, heap: usize) -> Slow {
        Slow(Arc::new(Inner {
            polls: AtomicUsize::new(polls),
            most_pages: pages,
            most_elements: elements,
            most_stacks: stacks,
            most_heap: heap,
            asked: Mutex::default(),
        }))
    }

    /// Sets how often each question is polled before its decision.
    fn set_polls(&self, polls: usize) {
        self.0.polls.store(polls, Ordering::Relaxed);
    }

    /// Records a question. The future of its answer is polled a number of times before.
    fn answer<R: Send + 'static>(&self, question: String, answer: R) -> Answer<'_, R> {
        self.0.asked.lock().unwrap().push(question);
        let wait = After(self.0.polls.load(Ordering::Relaxed));
        Box::pin(async move {
            wait.await;
            answer
        })
    }

    fn take_asked(&self) -> Vec<String> {
        std::mem::take(&mut self.0.asked.lock().unwrap())
    }
}

impl ResourceLimiterAsync for Slow {
    fn memory_growing(
        &self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> Answer<'_, Result<bool>> {
        let (current, desired) = (current / PAGE, desired / PAGE);
        let answer = match desired {
            1000 => Err(Error::msg("a thousand is an error")),
            pages => Ok(pages <= self.0.most_pages),
        };
        self.answer(format!("memory {current} {desired}"), answer)
    }

    fn memory_grow_failed(&self, current: usize, desired: usize) {
        self.0.asked.lock().unwrap().push(format!("failed {} {}", current / PAGE, desired / PAGE));
    }

    fn table_growing(
        &self,
        current: usize,
        desired: usize,
        _: Option<usize>,
    ) -> Answer<'_, Result<bool>> {
        self.answer(format!("table {current} {desired}"), Ok(desired <= self.0.most_elements))
    }

    fn instances_growing(&self, current: usize, desired: usize) -> Answer<'_, Result<bool>> {
        self.answer(format!("instances {current} {desired}"), Ok(desired < 3))
    }

    fn stacks_growing(&self, _: usize, desired: usize, _: usize) -> Answer<'_, bool> {
        self.answer("stacks".to_string(), desired <= self.0.most_stacks)
    }

    fn heap_growing(&self, _: usize, desired: usize) -> Answer<'_, bool> {
        self.answer("heap".to_string(), desired <= self.0.most_heap)
    }
}

const MODULE: &str = r#"
    (type $s (struct (field i32))) (type $many (array (mut (ref null $s))))
    (type $vectors (array (mut v128))) (type $bytes (array (mut i8)))
    (type $functions (array funcref)) (type $list (struct (field i32) (field (ref null $list))))
    (type $f (func (param i32) (result i32))) (type $k (cont $f)) (tag $yield (result i32))
    (memory $m (export "m") 1 2000) (table $t 1 (ref null $s)) (table $stacks 0 (ref null $k))
    (data $data "abcdef")
    (elem $elem func $add) (elem declare func $add)
    (func (export "memory") (param $n i32) (result i32) (local $mine (ref null $s))
      (local.set $mine (struct.new $s (i32.const 100)))
      (i32.add (memory.grow (local.get $n)) (struct.get $s 0 (local.get $mine))))
    (func (export "table") (param $n i32) (result i32) (local $old i32)
      (local.set $old (table.grow $t (struct.new $s (i32.const 42)) (local.get $n)))
      (if (i32.lt_s (local.get $old) (i32.const 0)) (then (return (i32.const -1))))
      (struct.get $s 0 (table.get $t (local.get $old))))
    (func (export "array") (param $n i32) (result i32)
      (struct.get $s 0 (array.get $many
        (array.new $many (struct.new $s (i32.const 7)) (local.get $n))
        (i32.sub (local.get $n) (i32.const 1)))))
    (func (export "vectors") (param $n i32) (result i32)
      (i32x4.extract_lane 3 (array.get $vectors
        (array.new $vectors (v128.const i32x4 1 2 3 4) (local.get $n))
        (i32.sub (local.get $n) (i32.const 1)))))
    (func (export "bytes") (param $n i32) (result i32)
      (array.len (array.new_default $bytes (local.get $n))))
    (func (export "data") (param $n i32) (result i32)
      (array.get_u $bytes (array.new_data $bytes $data (i32.const 1) (i32.const 2)) (i32.const 1)))
    (func (export "elements") (param $n i32) (result i32)
      (array.len (array.new_elem $functions $elem (i32.const 0) (i32.const 1))))
    (func (export "list") (param $n i32) (result i32)
      (local $list (ref null $list)) (local $sum i32)
      (loop
        (local.set $list (struct.new $list (local.get $n) (local.get $list)))
        (br_if 0 (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
      (loop
        (local.set $sum (i32.add (local.get $sum) (struct.get $list 0 (local.get $list))))
        (br_if 0 (i32.eqz (ref.is_null (local.tee $list (struct.get $list 1 (local.get $list)))))))
      (local.get $sum))
    (func $add (param i32) (result i32) (i32.add (local.get 0) (suspend $yield)))
    (func (export "stacks") (param $n i32) (result i32)
      (local $i i32) (local $sum i32) (local $k (ref null $k))
      (drop (table.grow $stacks (ref.null $k) (local.get $n)))
      (loop
        (table.set $stacks (local.get $i) (block $yielded (result (ref $k))
          (resume $k (on $yield $yielded) (local.get $i) (cont.new $k (ref.func $add)))
          (unreachable)))
        (br_if 0 (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 1))) (local.get $n))))
      (loop
        (local.set $i (i32.sub (local.get $i) (i32.const 1)))
        (local.set $sum (i32.add (local.get $sum)
          (resume $k (i32.const 1) (table.get $stacks (local.get $i)))))
        (br_if 0 (local.get $i)))
      (local.get $sum))
    (func (export "in a continuation") (param $n i32) (result i32)
      (resume $k (local.get $n) (cont.new $k (ref.func $deeper))))
    (func $deeper (param $n i32) (result i32)
      (i32.add (i32.ge_s (memory.grow (local.get $n)) (i32.const 1)) (array.len
        (array.new_default $bytes (i32.const 500000)))))
    (elem declare func $deeper)
"#;

/// An instance in a store with this limiter.
fn limited(engine: &Engine, limiter: &Slow) -> (Store<()>, Instance) {
    let module = Module::new(engine, MODULE).unwrap();
    let mut store = Store::new(engine, ());
    // An engine that does not count fuel refuses this.
    let _ = store.set_fuel(1 << 40);
    store.limiter_async(limiter.clone());
    let (instance, _) = count_polls(Instance::new_async(&mut store, &module, &[]));
    limiter.take_asked();
    (store, instance.unwrap())
}

fn run(store: &mut Store<()>, instance: Instance, name: &str, n: i32) -> (Result<i32>, usize) {
    let func = instance.get_typed_func::<i32, i32>(&mut *store, name).unwrap();
    count_polls(func.call_async(store, n))
}

/// Exports, each with an argument and the result.
const PROGRAMS: [(&str, i32, i32); 10] = [
    ("memory", 3, 101),
    ("table", 5, 42),
    ("array", 20_000, 7),
    ("vectors", 20_000, 4),
    ("bytes", 300_000, 300_000),
    ("data", 0, 99),
    ("elements", 0, 1),
    ("list", 3000, 4_501_500),
    ("stacks", 50, 1275),
    ("in a continuation", 1, 500_001),
];

#[test]
fn instructions_wait_until_the_limiter_has_decided() {
    for engine in limited_engines() {
        for polls in [0, 1, 3] {
            let limiter = Slow::new(polls);
            let (mut store, instance) = limited(&engine, &limiter);
            for (name, argument, expected) in PROGRAMS {
                let (result, polled) = run(&mut store, instance, name, argument);
                assert_eq!(result.unwrap(), expected, "{name}");
                let asked = limiter.take_asked().len();
                assert!(polled > asked * polls, "{name}: {polled} times for {asked} questions");
            }
            assert_eq!(store.pending_calls(), 0);
        }
    }
}

/// A late refusal has the effect of an immediate one.
#[test]
fn a_late_refusal_is_a_refusal() {
    for engine in limited_engines() {
        let (mut store, instance) = limited(&engine, &Slow::limited(2, ANY, ANY, 100, ANY));
        traps(run(&mut store, instance, "stacks", 200).0, TrapCode::TooManyStacks);
        let (mut store, instance) = limited(&engine, &Slow::limited(2, 4, 10, ANY, 1 << 20));
        let mut run = |name, n| run(&mut store, instance, name, n).0;
        assert_eq!(run("memory", 4).unwrap(), 99);
        assert_eq!(run("memory", 3).unwrap(), 101);
        assert_eq!(run("table", 10).unwrap(), -1);
        assert_eq!(run("table", 9).unwrap(), 42);
        traps(run("bytes", 2 << 20), TrapCode::OutOfMemory);
        assert_eq!(run("bytes", 1 << 19).unwrap(), 1 << 19);
        fails_with(run("memory", 996), "a thousand is an error");
        assert_eq!(run("memory", 0).unwrap(), 104);
    }
}

#[test]
fn a_call_that_cannot_wait_gets_an_error_that_says_so() {
    for engine in limited_engines() {
        let limiter = Slow::new(1);
        let (mut store, instance) = limited(&engine, &limiter);
        for (name, argument) in [("memory", 1), ("table", 1), ("bytes", 300_000), ("stacks", 5)] {
            let error = number(&mut store, instance, name, &[argument]).unwrap_err();
            let message = format!("{error:#}");
            assert!(message.contains("the limiter of the store has not decided yet"), "{message}");
        }
        let memory = instance.get_memory(&mut store, "m").unwrap();
        let error = memory.grow(&mut store, 1).unwrap_err();
        assert!(error.is::<Undecided>(), "{error}");
        let module = Module::new(&engine, "(memory 1)").unwrap();
        let error = Instance::new(&mut store, &module, &[]).unwrap_err();
        assert!(error.is::<Undecided>(), "{error}");
        // A decision that is ready at once works in synchronous calls.
        limiter.set_polls(0);
        for (name, argument, expected) in PROGRAMS {
            assert_eq!(number(&mut store, instance, name, &[argument]).unwrap(), expected);
        }
    }
}

#[test]
fn a_module_is_instantiated_when_everything_is_allowed() {
    let engine = Engine::default();
    let limiter = Slow::limited(1, 5, 9, ANY, ANY);
    let mut store = Store::new(&engine, ());
    store.limiter_async(limiter.clone());
    let mut instantiate = |text: &str| {
        let module = Module::new(&engine, text).unwrap();
        let (instance, polls) = count_polls(Instance::new_async(&mut store, &module, &[]));
        let error = instance.err().map(|error| error.to_string());
        (error, polls, limiter.take_asked().join(", "))
    };
    let refuses = |what: &str| Some(format!("the limiter of the store refuses {what}"));
    let (error, polls, asked) = instantiate("(memory 1) (memory 2) (table 3 funcref)");
    assert_eq!((error, polls), (None, 5));
    assert_eq!(asked, "instances 0 1, memory 0 1, memory 0 2, table 0 3");
    // Nothing is made if one part is refused.
    let (error, _, asked) = instantiate("(memory 1) (memory 6) (table 3 funcref)");
    assert_eq!(error, refuses("a memory of 393216 bytes"));
    assert_eq!(asked, "instances 1 2, memory 0 1, memory 0 6, failed 0 1");
    let (error, _, asked) = instantiate("(memory 1) (table 10 funcref)");
    assert_eq!(error, refuses("a table of 10 elements"));
    assert_eq!(asked, "instances 1 2, memory 0 1, table 0 10, failed 0 1");
    assert_eq!(instantiate("(memory 1)").0, None);
    assert_eq!(instantiate("(memory 1)").0, refuses("3 instances"));
}

#[test]
fn the_host_waits_too() {
    let limiter = Slow::limited(1, 5, 9, ANY, ANY);
    let mut store = Store::new(&Engine::default(), ());
    store.limiter_async(limiter.clone());
    let ty = MemoryType { memory64: false, minimum: 1, maximum: None };
    assert!(Memory::new(&mut store, ty).unwrap_err().is::<Undecided>());
    let memory = block_on(Memory::new_async(&mut store, ty)).unwrap();
    assert_eq!(block_on(memory.grow_async(&mut store, 2)).unwrap(), 1);
    assert!(block_on(memory.grow_async(&mut store, 3)).is_err());
    assert_eq!(memory.size(&store).unwrap(), 3);
    let element = RefType { nullable: true, heap: HeapType::Func };
    let ty = TableType { table64: false, element, minimum: 2, maximum: None };
    let none = Val::FuncRef(None);
    let table = block_on(Table::new_async(&mut store, ty, none)).unwrap();
    assert_eq!(block_on(table.grow_async(&mut store, 7, none)).unwrap(), 2);
    assert!(block_on(table.grow_async(&mut store, 1, none)).is_err());
    assert!(table.grow(&mut store, 1, none).unwrap_err().is::<Undecided>());
}

#[test]
fn a_call_that_is_dropped_while_it_waits_leaves_the_store_usable() {
    for engine in limited_engines() {
        for (name, argument, expected) in PROGRAMS {
            let (mut store, instance) = limited(&engine, &Slow::new(2));
            let func = instance.get_typed_func::<i32, i32>(&mut store, name).unwrap();
            poll_and_drop(func.call_async(&mut store, argument), 2);
            assert_eq!(store.pending_calls(), 0);
            store.gc();
            let (result, _) = count_polls(func.call_async(&mut store, argument));
            assert_eq!(result.unwrap(), expected, "{name}");
        }
    }
}

/// While one call waits, others run, collect and grow. Its question is then outdated, and it asks
/// again.
#[test]
fn a_memory_that_grew_while_the_limiter_decided_is_asked_about_again() {
    for engine in limited_engines() {
        let limiter = Slow::new(2);
        let (mut store, instance) = limited(&engine, &limiter);
        let func = instance.get_typed_func::<i32, i32>(&mut store, "memory").unwrap();
        let bytes = instance.get_typed_func::<i32, i32>(&mut store, "bytes").unwrap();
        let all = store.run_concurrent(async |accessor: &Accessor<()>| {
            let grow = |n| func.call_concurrent(accessor, n);
            tokio::join!(grow(1), grow(2), bytes.call_concurrent(accessor, 400_000), grow(3))
        });
        let (all, _) = count_polls(all);
        let (a, b, c, d) = all;
        c.unwrap();
        let mut old = [a, b, d].map(|old| old.unwrap() - 100);
        old.sort_unstable();
        assert_eq!(old[0], 1);
        let memory = instance.get_memory(&mut store, "m").unwrap();
        assert_eq!(memory.size(&store).unwrap(), 7);
        let asked = limiter.take_asked();
        let count = |what: &str| asked.iter().filter(|asked| asked.starts_with(what)).count();
        assert_eq!(count("memory") - count("failed"), 3, "{asked:?}");
        assert!(count("failed") > 0, "{asked:?}");
    }
}

#[test]
fn a_call_that_waits_for_its_limiter_ends_at_its_deadline() {
    let limiter = Slow::new(1);
    let engine = Engine::new(Config::new().interruption(true)).unwrap();
    let (mut store, instance) = limited(&engine, &limiter);
    let func = instance.get_typed_func::<i32, i32>(&mut store, "memory").unwrap();
    // The call is dropped before the decision.
    poll_and_drop(func.call_async(&mut store, 1), 2);
    assert!(limiter.take_asked().iter().all(|asked| !asked.starts_with("failed")));
    // The call ends in the meantime.
    limiter.set_polls(1_000_000);
    store.set_timeout(Duration::from_millis(20)).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
    traps(runtime.block_on(func.call_async(&mut store, 1)), TrapCode::Interrupt);
    store.set_deadline(None).unwrap();
    limiter.set_polls(0);
    assert_eq!(number(&mut store, instance, "memory", &[1]).unwrap(), 101);
}

#[test]
fn a_panic_of_a_limiter_continues_in_the_host_and_the_store_is_usable() {
    struct Panics(AtomicUsize);
    impl Panics {
        fn answer<T: Send + 'static>(&self, yes: T) -> Answer<'_, T> {
            Box::pin(async move {
                if self.0.fetch_sub(1, Ordering::Relaxed) == 0 {
                    panic!("no limits")
                }
                yes
            })
        }
    }
    impl ResourceLimiterAsync for Panics {
        fn memory_growing(&self, _: usize, _: usize, _: Option<usize>) -> Answer<'_, Result<bool>> {
            self.answer(Ok(true))
        }
        fn table_growing(&self, _: usize, _: usize, _: Option<usize>) -> Answer<'_, Result<bool>> {
            self.answer(Ok(true))
        }
        fn heap_growing(&self, _: usize, _: usize) -> Answer<'_, bool> {
            self.answer(true)
        }
        fn stacks_growing(&self, _: usize, _: usize, _: usize) -> Answer<'_, bool> {
            self.answer(true)
        }
    }
    for engine in engines() {
        for name in ["memory", "table", "bytes", "stacks"] {
            let (mut store, instance) = instantiate_in(&engine, MODULE);
            number(&mut store, instance, "memory", &[0]).unwrap();
            store.limiter_async(Panics(AtomicUsize::new(0)));
            let run = AssertUnwindSafe(|| number(&mut store, instance, name, &[3_000_000]));
            let panic = catch_unwind(run).unwrap_err();
            assert_eq!(panic.downcast_ref::<&str>(), Some(&"no limits"), "{name}");
            assert_eq!(number(&mut store, instance, "bytes", &[7_000_000]).unwrap(), 7_000_000);
        }
    }
}
