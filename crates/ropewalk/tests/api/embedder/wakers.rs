//! Wakers that use what the engine might have locked.

use crate::common::*;
use ropewalk::*;
use std::sync::{Arc, Mutex};
use std::task::{Context, Wake, Waker};
use std::time::Duration;

/// Interrupts its store when it is woken, cloned or dropped.
struct Interrupts(Arc<Mutex<Option<InterruptHandle>>>);

impl Interrupts {
    fn interrupt(&self) {
        if let Some(handle) = self.0.lock().unwrap().clone() {
            handle.interrupt();
        }
    }
}

impl Wake for Interrupts {
    fn wake(self: Arc<Self>) {
        self.interrupt();
    }
}

impl Drop for Interrupts {
    fn drop(&mut self) {
        self.interrupt();
    }
}

#[test]
fn a_waker_that_interrupts_its_store_when_it_is_dropped_locks_nothing() {
    let engine = Engine::new(Config::new().interruption(true)).unwrap();
    let text = r#"(module (import "host" "wait" (func $wait)) (func (export "run") (call $wait)))"#;
    let mut linker: Linker<()> = Linker::new(&engine);
    linker.host_async("wait", |_: Caller<'_, ()>, (): ()| Box::new(std::future::pending::<()>()));
    // The call is polled with another waker, dropped, or forgotten with its store.
    for way in 0..3 {
        let (mut store, instance) = link(&linker, (), text);
        let run = instance.get_typed_func::<(), ()>(&mut store, "run").unwrap();
        let handle = Arc::new(Mutex::new(Some(store.interrupt_handle().unwrap())));
        let waker = Waker::from(Arc::new(Interrupts(handle)));
        let mut call = Box::pin(run.call_async(&mut store, ()));
        assert!(call.as_mut().poll(&mut Context::from_waker(&waker)).is_pending());
        drop(waker);
        match way {
            0 => {
                let _ = poll_once(call.as_mut());
            }
            1 => drop(call),
            _ => std::mem::forget(call),
        }
    }
}

/// A waker that panics does not keep the timer from waking others.
#[test]
fn a_panicking_waker_leaves_the_deadlines_of_other_calls() {
    struct Panics;
    impl Wake for Panics {
        fn wake(self: Arc<Self>) {
            panic!("the waker panics");
        }
    }
    let engine = Engine::new(Config::new().interruption(true)).unwrap();
    let text = r#"(module (import "host" "f" (func $wait)) (func (export "wait") (call $wait))
        (func (export "spin") (loop $l (br $l))))"#;
    let module = Module::new(&engine, text).unwrap();
    let mut linker: Linker<()> = Linker::new(&engine);
    linker.host_async("f", |_: Caller<'_, ()>, (): ()| Box::new(std::future::pending::<()>()));
    for _ in 0..3 {
        let mut waits = Store::new(&engine, ());
        let instance = linker.instantiate(&mut waits, &module).unwrap();
        let wait = instance.get_typed_func::<(), ()>(&mut waits, "wait").unwrap();
        waits.set_timeout(Duration::from_millis(5)).unwrap();
        let waker = Waker::from(Arc::new(Panics));
        let mut call = Box::pin(wait.call_async(&mut waits, ()));
        let _ = call.as_mut().poll(&mut Context::from_waker(&waker));
        let mut spins = Store::new(&engine, ());
        let instance = linker.instantiate(&mut spins, &module).unwrap();
        spins.set_timeout(Duration::from_millis(20)).unwrap();
        traps(invoke::<(), ()>(&mut spins, instance, "spin", ()), TrapCode::Interrupt);
    }
}
