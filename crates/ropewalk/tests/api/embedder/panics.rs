//! Panics of callees that continue in the code that created or stopped something.

use super::acts::PANIC;
use super::config;
use crate::common::*;
use ropewalk::*;
use std::any::Any;
use std::io::{self, Write};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

const TEXT: &str = r#"(module
  (type $s (struct (field i32)))
  (func (export "run") (param $n i32) (result i32)
    (loop $more
      (drop (struct.new $s (local.get $n)))
      (br_if $more (local.tee $n (i32.sub (local.get $n) (i32.const 1)))))
    (local.get $n)))"#;

/// Panics once, when a stack is made or the heap grows.
struct PanicsOnce(bool);

impl PanicsOnce {
    fn ask(&mut self) -> bool {
        if !std::mem::replace(&mut self.0, true) {
            std::panic::panic_any(PANIC);
        }
        true
    }
}

impl ResourceLimiter for PanicsOnce {
    fn memory_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, _: usize, _: Option<usize>) -> Result<bool> {
        Ok(true)
    }

    fn heap_growing(&mut self, _: usize, _: usize) -> bool {
        self.ask()
    }
}

fn panic_of<R>(work: impl FnOnce() -> R) -> Box<dyn Any + Send> {
    catch_unwind(AssertUnwindSafe(work)).err().expect("the embedder panics")
}

#[test]
fn a_limiter_that_panics_at_a_check_point_ends_the_call() {
    let mut config = config(STOP);
    let engine = Engine::new(COLLECT.apply(&mut config)).unwrap();
    let (mut store, instance) = instantiate_in(&engine, TEXT);
    store.set_fuel(1 << 40).unwrap();
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run").unwrap();
    store.limiter(PanicsOnce(false));
    let panic = panic_of(|| run.call(&mut store, 100));
    assert_eq!(panic.downcast_ref::<&str>(), Some(&PANIC));
    assert_eq!(run.call(&mut store, 100).unwrap(), 0);
}

/// The host never gets the continuation, so nothing else can free it.
#[test]
fn a_continuation_whose_making_panics_is_freed() {
    let (mut store, instance) = instantiate_in(&Engine::new(&config(CHECK)).unwrap(), TEXT);
    store.set_fuel(1 << 40).unwrap();
    let run = instance.get_typed_func::<i32, i32>(&mut store, "run").unwrap();
    let made = TypedContinuation::new(&mut store, &run).unwrap();
    store.on_stack_event(|_| std::panic::panic_any(PANIC)).unwrap();
    panic_of(|| made.try_clone(&mut store));
    store.on_stack_event(|_| std::panic::panic_any(PANIC)).unwrap();
    panic_of(|| TypedContinuation::new(&mut store, &run));
    assert!(matches!(made.resume(&mut store, 5).unwrap(), Resumed::Returned(0)));
    check_live(&mut store, 0);
    store.snapshot(&SnapshotOptions::new()).unwrap();
}

#[test]
fn functions_that_write_values_may_fail_with_an_error_whose_display_fails() {
    let engine = Engine::new(&config(DEFAULT)).unwrap();
    let text = "(module (global (export \"kept\") (mut externref) (ref.null extern)))";
    let (mut store, instance) = instantiate_in(&engine, text);
    let value = ExternRef::new(&mut store, 7).unwrap();
    let kept = instance.get_global(&mut store, "kept").unwrap();
    kept.set(&mut store, Val::ExternRef(Some(value))).unwrap();
    let mut options = SnapshotOptions::new();
    options.write_host_values(|_| Err(Unprintable.into()));
    fails_with(store.snapshot(&options), "the first half");
}

/// Drops the store whose trace it writes.
struct DropsStore(Receiver<Store<()>>, Sender<bool>);

impl Write for DropsStore {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if let Ok(store) = self.0.recv() {
            let dropped = catch_unwind(AssertUnwindSafe(|| drop(store)));
            self.1.send(dropped.is_ok()).unwrap();
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_writer_of_traces_drops_its_own_store() {
    let (mut store, instance) = instantiate_in(&Engine::new(&config(DEFAULT)).unwrap(), TEXT);
    store.set_fuel(1 << 40).unwrap();
    let ((give, given), (say, said)) = (channel(), channel());
    store.stream_trace(DropsStore(given, say), "program", WhenBehind::Wait).unwrap();
    // The trace is handed over when WebAssembly is left.
    std::thread::sleep(Duration::from_millis(5));
    invoke::<i32, i32>(&mut store, instance, "run", 1).unwrap();
    give.send(store).unwrap();
    drop(give);
    assert!(said.recv_timeout(Duration::from_secs(60)).unwrap(), "nothing panics");
}
