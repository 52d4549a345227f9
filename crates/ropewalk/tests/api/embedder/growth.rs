//! Limiters that decide about a stack while WebAssembly is at any instruction.

use crate::common::*;
use ropewalk::*;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

const DEEP: &str = r#"(module
  (memory 1)
  (func $deep (export "deep") (param $n i32) (param $a i64) (param $b f64) (param $v v128)
      (result i32)
    (if (local.get $n) (then
      (return (i32.add (i32.const 1)
        (call $deep (i32.sub (local.get $n) (i32.const 1)) (i64.add (local.get $a) (i64.const 1))
          (f64.add (local.get $b) (f64.const 0.5))
          (i32x4.add (local.get $v) (v128.const i32x4 1 2 3 4)))))))
    (i32.add
      (i32.add (i32.wrap_i64 (local.get $a)) (i32.trunc_f64_s (local.get $b)))
      (i32x4.extract_lane 3 (local.get $v))))
  (type $f (func (param i32) (result i32))) (type $k (cont $f))
  (func $run (param $n i32) (result i32)
    (call $deep (local.get $n) (i64.const 0) (f64.const 0) (v128.const i32x4 0 0 0 0)))
  (elem declare func $run)
  (func (export "run") (param $n i32) (result i32)
    (resume $k (local.get $n) (cont.new $k (ref.func $run))))
  (func $fault (export "fault") (param $n i32) (result i32)
    (if (result i32) (i32.eqz (local.get $n))
      (then (i32.load (i32.const -1)))
      (else (i32.add (i32.const 1) (call $fault (i32.sub (local.get $n) (i32.const 1))))))))"#;

/// When a stack grows, enters another store, grows a stack there, and faults.
struct Enters {
    other: Mutex<(Store<()>, TypedFunc<i32, i32>)>,
    asked: &'static AtomicUsize,
}

impl ResourceLimiter for Enters {
    fn memory_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
        Ok(true)
    }

    fn stack_growing(&mut self, _: usize, _: usize, _: usize) -> bool {
        self.asked.fetch_add(1, Ordering::SeqCst);
        // More than the alternate signal stack has room for.
        let mine = std::hint::black_box([7u8; 100 << 10]);
        let (store, fault) = &mut *self.other.lock().unwrap();
        traps(fault.call(&mut *store, 30_000), TrapCode::MemoryOutOfBounds);
        mine.iter().all(|byte| *byte == 7)
    }
}

#[test]
fn a_limiter_enters_another_store_while_a_stack_grows() {
    static ASKED: AtomicUsize = AtomicUsize::new(0);
    for mode in [DEFAULT, MINIMAL_STACKS, SNAPSHOTS] {
        ASKED.store(0, Ordering::SeqCst);
        let mut config = mode.config();
        config.max_wasm_stack(64 << 20);
        let engine = Engine::new(&config).unwrap();
        let (mut other, instance) = instantiate_in(&engine, DEEP);
        let fault = instance.get_typed_func(&mut other, "fault").unwrap();
        let (mut store, instance) = instantiate_in(&engine, DEEP);
        store.limiter(Enters { other: Mutex::new((other, fault)), asked: &ASKED });
        // The registers of the code keep their values.
        let depth = 100_000;
        let expected = depth + depth + depth / 2 + 4 * depth;
        assert_eq!(number(&mut store, instance, "run", &[depth]).unwrap(), expected);
        assert!(ASKED.load(Ordering::SeqCst) > 1, "{}", mode.name);
    }
}

#[test]
fn a_limiter_that_refuses_a_stack_ends_the_call_with_its_backtrace() {
    struct Refuses;
    impl ResourceLimiter for Refuses {
        fn memory_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
            Ok(true)
        }
        fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
            Ok(true)
        }
        fn stack_growing(&mut self, _: usize, _: usize, _: usize) -> bool {
            false
        }
    }
    for engine in [Engine::default(), engine(MINIMAL_STACKS)] {
        let (mut store, instance) = instantiate_in(&engine, DEEP);
        store.limiter(Refuses);
        let error = number(&mut store, instance, "run", &[100_000]).unwrap_err();
        let trap = trap(&error);
        assert_eq!(trap.code(), TrapCode::CallStackExhausted);
        assert!(trap.detail().unwrap().contains("limiter"), "{trap}");
        assert_eq!(trap.backtrace().frames()[0].function_name(), Some("deep"));
        assert_eq!(number(&mut store, instance, "run", &[10]).unwrap(), 65);
    }
}
