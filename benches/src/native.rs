//! The programs of `continuations.rs` in Rust with corosensei, a fast library of native coroutines.

use corosensei::stack::DefaultStack;
use corosensei::{Coroutine, CoroutineResult, ScopedCoroutine, Yielder};

use crate::clock::Clock;
use crate::row::Prepare;

/// A side that runs a Rust function.
pub fn native(function: fn(i64) -> i64) -> Prepare {
    Box::new(move || Ok(Box::new(move |_, size| Clock::Thread.time(|| Ok(function(size))))))
}

/// Like `round_trip.wat`.
pub fn round_trip(n: i64) -> i64 {
    let mut generator = Coroutine::new(|yielder: &Yielder<(), i64>, ()| {
        for i in 0.. {
            yielder.suspend(i);
        }
    });
    let mut sum = 0;
    for _ in 0..n {
        if let CoroutineResult::Yield(i) = generator.resume(()) {
            sum += i;
        }
    }
    // The generator has nothing to drop, so its stack need not be unwound.
    // SAFETY: nothing on the stack of the generator is referred to from elsewhere.
    unsafe { generator.force_reset() };
    sum
}

/// Like `finish` of `create.wat`. All coroutines use one stack, one after the other.
pub fn finish(n: i64) -> i64 {
    let mut stack = DefaultStack::default();
    let mut sum = 0;
    for i in (1..=n).rev() {
        let body = |_: &Yielder<i64, ()>, i| i + 1;
        let coroutine = ScopedCoroutine::with_stack(&mut stack, body);
        if let CoroutineResult::Return(i) = coroutine.scope(|mut coroutine| coroutine.resume(i)) {
            sum += i;
        }
    }
    sum
}

/// Like `scheduler.wat` with ten tasks.
pub fn schedule_10(n: i64) -> i64 {
    schedule(n, 10)
}

/// Like `scheduler.wat` with ten thousand tasks.
pub fn schedule_10_000(n: i64) -> i64 {
    schedule(n, 10_000)
}

fn schedule(n: i64, tasks: usize) -> i64 {
    let sum = std::rc::Rc::new(std::cell::Cell::new(0));
    let spawn = |_| {
        let sum = sum.clone();
        Coroutine::new(move |yielder: &Yielder<(), ()>, ()| {
            for i in (1..=n).rev() {
                yielder.suspend(());
                sum.set(sum.get() + i);
            }
        })
    };
    let mut tasks: Vec<_> = (0..tasks).map(spawn).collect();
    while tasks.iter_mut().filter_map(|task| task.resume(()).as_yield()).count() > 0 {}
    sum.get()
}
