//! Calls at the end of a thread.

use crate::common::*;
use ropewalk::*;
use std::cell::RefCell;
use std::sync::mpsc::{Sender, channel};

const TEXT: &str = r#"(module
  (memory 1)
  (func $deep (export "deep") (param $n i32) (result i32)
    (if (result i32) (i32.eqz (local.get $n))
      (then (i32.const 0))
      (else (i32.add (i32.const 1) (call $deep (i32.sub (local.get $n) (i32.const 1)))))))
  (func (export "fault") (result i32) (i32.load (i32.const -1))))"#;

/// Calls WebAssembly when the thread ends, after the engine's thread-local values are gone.
struct CallsAtTheEnd {
    store: Store<()>,
    deep: TypedFunc<i32, i32>,
    fault: TypedFunc<(), i32>,
    results: Sender<(i32, Option<TrapCode>)>,
}

impl Drop for CallsAtTheEnd {
    fn drop(&mut self) {
        for _ in 0..2 {
            // The stack grows, which needs the signal handler.
            let depth = self.deep.call(&mut self.store, 50_000).unwrap();
            let error = self.fault.call(&mut self.store, ()).unwrap_err();
            self.results.send((depth, Some(trap(&error).code()))).unwrap();
        }
    }
}

thread_local! {
    static AT_THE_END: RefCell<Option<CallsAtTheEnd>> = const { RefCell::new(None) };
}

#[test]
fn a_destructor_of_a_thread_local_value_calls_webassembly() {
    let (results, received) = channel();
    // Thread-local values that are used first are destroyed last: once the engine's, once the
    // test's.
    for engine_first in [false, true] {
        let results = results.clone();
        std::thread::spawn(move || {
            let (mut store, instance) = instantiate(TEXT);
            let deep = instance.get_typed_func::<i32, i32>(&mut store, "deep").unwrap();
            let fault = instance.get_typed_func(&mut store, "fault").unwrap();
            if engine_first {
                deep.call(&mut store, 1).unwrap();
            }
            AT_THE_END.with(|_| ());
            AT_THE_END.set(Some(CallsAtTheEnd { store, deep, fault, results }));
            AT_THE_END.with_borrow_mut(|calls| {
                let calls = calls.as_mut().expect("it was just set");
                calls.deep.call(&mut calls.store, 1).unwrap();
            });
        })
        .join()
        .unwrap();
    }
    drop(results);
    let results: Vec<_> = received.iter().collect();
    assert_eq!(results, [(50_000, Some(TrapCode::MemoryOutOfBounds)); 4]);
}
