//! `--timeout`: parses times and runs programs with a time limit.
//!
//! The store interrupts a program that computes, and wakes a call that waits for the host.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::Thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use ropewalk::{Error, Result, Trap, TrapCode};

use crate::errors::ended::TimedOut;

/// The longest time limit, in hours: more than a hundred years.
const MAX_HOURS: f64 = 1e6;

/// Parses a time: `10` seconds, or `500ms`, `1.5s`, `2m`, `1h`.
pub(crate) fn parse(text: &str) -> Result<Duration> {
    let units = [("ms", 1e-3), ("s", 1.0), ("m", 60.0), ("h", 3600.0), ("", 1.0)];
    let (number, seconds) = units
        .iter()
        .find_map(|(unit, seconds)| Some((text.strip_suffix(unit)?, seconds)))
        .expect("the last unit is empty");
    let is_number = number.starts_with(|c: char| c.is_ascii_digit());
    let number: Option<f64> = number.parse().ok().filter(|_| is_number);
    let number = number.context("expected a time, such as 10, 500ms, 1.5s, 2m or 1h")?;
    ensure!(number * seconds <= MAX_HOURS * 3600.0, "expected a time of at most {MAX_HOURS:.0}h");
    Ok(Duration::from_secs_f64(number * seconds))
}

/// Runs a program to its end. The store ends it when the time limit is reached.
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

/// Wakes the polling thread.
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_units_and_fractions() {
        let times =
            [("10", 10_000), ("500ms", 500), ("1.5s", 1500), ("2m", 120_000), ("1h", 3_600_000)];
        for (text, milliseconds) in times {
            assert_eq!(parse(text).unwrap(), Duration::from_millis(milliseconds), "{text}");
        }
        parse("1000000h").unwrap();
    }

    #[test]
    fn malformed_times_and_long_times_are_different_errors() {
        for text in ["", "s", "-1", "+1s", "inf", "nan", "1 s", "1d", "ten"] {
            let error = parse(text).unwrap_err().to_string();
            assert!(error.starts_with("expected a time, such as"), "{text}: {error}");
        }
        for text in ["999999999999999999", "1000001h", "1e300ms"] {
            let error = parse(text).unwrap_err().to_string();
            assert_eq!(error, "expected a time of at most 1000000h", "{text}");
        }
    }
}
