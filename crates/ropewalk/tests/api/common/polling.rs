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

/// Polls a future until it is ready. Also returns the number of polls.
pub fn block_on<R>(future: impl Future<Output = R>) -> (R, usize) {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    for polls in 1.. {
        if let Poll::Ready(result) = future.as_mut().poll(&mut context) {
            return (result, polls);
        }
    }
    unreachable!()
}
