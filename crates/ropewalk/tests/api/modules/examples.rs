//! The output of the examples.
#![allow(clippy::duplicate_mod, reason = "both examples have the same server")]

use crate::common::*;
use ropewalk::*;
use std::time::Duration;

#[allow(dead_code, reason = "its main function is not called here")]
#[path = "../../../examples/continuations_async.rs"]
mod continuations_async;
#[allow(dead_code, reason = "its main function is not called here")]
#[path = "../../../examples/fiber_async.rs"]
mod fiber_async;
#[allow(dead_code, reason = "its main function is not called here")]
#[path = "../../../examples/plugins.rs"]
mod plugins;

/// Runs an example for at most a minute.
fn lines(run: impl Future<Output = Result<Vec<String>>>) -> Vec<String> {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_all().build().unwrap();
    let limited = async { tokio::time::timeout(Duration::from_secs(60), run).await };
    runtime.block_on(limited).expect("it ends").unwrap()
}

#[test]
fn fibers_that_wait_for_the_host() {
    let expected = [
        "request 1: slow",
        "request 2: fair",
        "request 3: fast",
        "on their way: 3",
        "thread 3 has: fast.more",
        "request 4: fast.more",
        "on their way: 3",
        "thread 2 has: fair.more",
        "request 5: fair.more",
        "on their way: 3",
        "thread 1 has: slow.more",
        "request 6: slow.more",
        "on their way: 3",
        "thread 1 has: the end of the slow one",
        "on their way: 2",
        "thread 3 has: the end of the fast one",
        "on their way: 1",
        "thread 2 has: the end of the fair one",
    ];
    for engine in engines() {
        assert_eq!(lines(fiber_async::run(&engine)), expected);
    }
}

#[test]
fn async_functions_that_wait_for_the_host() {
    let expected = [
        "program 3 has: nowhere",
        "program 2 has: fair.more",
        "program 1 has: slow.more",
        "program 3 has: an error: no such page",
        "program 3 has ended, 2 continue",
        "program 2 has: the end of the fair one",
        "program 2 has ended, 1 continue",
        "program 1 has: the end of the slow one",
        "program 1 has ended, 0 continue",
    ];
    for engine in engines() {
        assert_eq!(lines(continuations_async::run(&engine)), expected);
    }
}

#[test]
fn plugins_that_leave_each_other_alone() {
    let expected = [
        "Hello, Wörld.",
        "[calm] greeting someone",
        "Hello, Wörld!",
        "[loud] greeting someone",
        "broken has failed: there is no setting \"loud\"",
        "[broken] greeting someone",
    ];
    for engine in engines() {
        assert_eq!(plugins::run(&engine).unwrap(), expected);
    }
}
