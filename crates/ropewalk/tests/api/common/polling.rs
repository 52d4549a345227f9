//! Futures that wait, and functions that poll them without an executor.

use std::future::Future;
use std::pin::{Pin, pin};
use std::task::{Context, Poll, Waker};

/// A future that is ready after it was polled this many times.
pub struct After(pub usize);

impl Future for After {
    type Output = ();

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<()> {
        match self.0 {
            0 => Poll::Ready(()),
            _ => {
                self.0 -= 1;
                context.waker().wake_by_ref();
                Poll::Pending
            }
        }
    }
}

/// Polls a future once.
pub fn poll_once<F: Future + ?Sized>(future: Pin<&mut F>) -> Poll<F::Output> {
    future.poll(&mut Context::from_waker(Waker::noop()))
}

/// Polls a future until it is ready.
pub fn block_on<R>(future: impl Future<Output = R>) -> R {
    count_polls(future).0
}

/// Polls a future until it is ready. Also returns the number of polls.
pub fn count_polls<R>(future: impl Future<Output = R>) -> (R, usize) {
    let mut future = pin!(future);
    for polls in 1.. {
        if let Poll::Ready(result) = poll_once(future.as_mut()) {
            return (result, polls);
        }
    }
    unreachable!()
}
