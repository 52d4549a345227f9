//! Asynchronous waits share a single thread, which only they start. The test runs in a process of
//! its own, so that it counts no threads of others.

use ropewalk::{Engine, Linker, Module, Store};
use ropewalk_wasi::{WasiCtx, add_to_linker};
use std::future::Future;
use std::pin::pin;
use std::process::Command;
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

/// Sleeps for 50 ms, by a subscription to the monotonic clock. On a busy machine, a shorter time can
/// pass before the call waits, and then it needs no thread.
const SLEEPS: &str = r#"(module
    (import "wasi_snapshot_preview1" "poll_oneoff"
      (func $poll (param i32 i32 i32 i32) (result i32)))
    (memory (export "memory") 1)
    (func (export "sleep") (result i32)
      (i32.store (i32.const 16) (i32.const 1))
      (i64.store (i32.const 24) (i64.const 50000000))
      (call $poll (i32.const 0) (i32.const 64) (i32.const 1) (i32.const 128))))"#;

/// Whether this process runs only this test. Otherwise runs it again in such a process.
fn is_alone() -> bool {
    const ALONE: &str = "ROPEWALK_WASI_TEST_ALONE";
    if std::env::var_os(ALONE).is_some() {
        return true;
    }
    let thread = std::thread::current();
    let test = thread.name().expect("the thread of a test has the test's name");
    let mut child = Command::new(std::env::current_exe().unwrap());
    let output = child.args(["--exact", test]).env(ALONE, "1").output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
    false
}

/// The number of reactor threads in this process.
fn reactors() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let name = |task: std::io::Result<std::fs::DirEntry>| {
        std::fs::read_to_string(task.unwrap().path().join("comm")).unwrap_or_default()
    };
    tasks.map(name).filter(|name| name.trim_end() == "ropewalk-wasi").count()
}

#[test]
fn only_an_asynchronous_call_starts_a_thread() {
    if !is_alone() {
        return;
    }
    let engine = Engine::default();
    let module = Module::new(&engine, SLEEPS).unwrap();
    let mut linker = Linker::new(&engine);
    add_to_linker(&mut linker, |ctx| ctx).unwrap();
    let sleeping = || {
        let mut store = Store::new(&engine, WasiCtx::builder().build());
        let instance = linker.instantiate(&mut store, &module).unwrap();
        let sleep = instance.get_typed_func::<(), i32>(&mut store, "sleep").unwrap();
        (store, sleep)
    };
    let (mut store, sleep) = sleeping();
    let before = Instant::now();
    assert_eq!(sleep.call(&mut store, ()).unwrap(), 0);
    assert!(before.elapsed() >= Duration::from_millis(50));
    assert_eq!(reactors(), 0);

    let (mut other, sleep_too) = sleeping();
    let mut calls = pin!(async {
        let (a, b) = (sleep.call_async(&mut store, ()), sleep_too.call_async(&mut other, ()));
        (a.await.unwrap(), b.await.unwrap())
    });
    loop {
        match calls.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(errnos) => break assert_eq!(errnos, (0, 0)),
            Poll::Pending => std::thread::yield_now(),
        }
    }
    // A thread sets its name when it begins to run, which may be after the calls have ended.
    let deadline = Instant::now() + Duration::from_secs(10);
    while reactors() == 0 && Instant::now() < deadline {
        std::thread::yield_now();
    }
    assert_eq!(reactors(), 1);
}
