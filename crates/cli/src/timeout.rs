//! Programs that must end in time.
//!
//! A program that computes is interrupted by its store. One that waits for something is
//! in a call that is polled, which its store wakes when the time is over.

use std::fmt;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use ropewalk::{Error, Result, Trap, TrapCode};

/// How long a program may run: `10` seconds, or `500ms`, `10s`, `2m`.
pub(crate) fn parse(text: &str) -> Result<Duration> {
    let units = [("ms", 1), ("s", 1000), ("m", 60_000), ("", 1000)];
    let duration = units.iter().find_map(|(unit, milliseconds)| {
        let number: u64 = text.strip_suffix(unit)?.parse().ok()?;
        Some(Duration::from_millis(number.checked_mul(*milliseconds)?))
    });
    duration.ok_or_else(|| Error::msg("expected a time, such as 10, 500ms or 2m"))
}

/// The error of a program that did not end in time.
#[derive(Debug)]
pub(crate) struct TimedOut(Duration);

impl fmt::Display for TimedOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "the program did not end within {:?}", self.0)
    }
}

impl std::error::Error for TimedOut {}

/// Polls a program until it has ended, which its store sees to when the time is over.
pub(crate) fn run<R>(
    limit: Option<Duration>,
    program: impl Future<Output = Result<R>>,
) -> Result<R> {
    let ended = block_on(program);
    match (limit, ended) {
        (Some(limit), Err(error)) if is_interrupt(&error) => Err(error.context(TimedOut(limit))),
        (_, ended) => ended,
    }
}

fn is_interrupt(error: &Error) -> bool {
    error.downcast_ref::<Trap>().is_some_and(|trap| trap.code() == TrapCode::Interrupt)
}

/// Wakes the thread that polls.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

fn block_on<R>(future: impl Future<Output = R>) -> R {
    let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
    let mut future = pin!(future);
    loop {
        if let Poll::Ready(result) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return result;
        }
        std::thread::park();
    }
}
