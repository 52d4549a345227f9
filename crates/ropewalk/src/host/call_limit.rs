//! The limit of how many calls of an accessor run or wait at the same time.
//!
//! Wakers are code of the embedder. They are cloned, woken and dropped without the lock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// Admits calls up to a limit. The others queue.
#[derive(Debug)]
pub(crate) struct CallLimit(Mutex<Queue>);

#[derive(Debug)]
struct Queue {
    limit: usize,
    admitted: usize,
    /// The calls that wait for a permit, in order.
    waiting: VecDeque<(u64, Arc<Waker>)>,
    next_number: u64,
}

impl Default for CallLimit {
    fn default() -> CallLimit {
        CallLimit(Mutex::new(Queue {
            limit: usize::MAX,
            admitted: 0,
            waiting: VecDeque::new(),
            next_number: 0,
        }))
    }
}

impl CallLimit {
    fn lock(&self) -> MutexGuard<'_, Queue> {
        self.0.lock().expect("nothing panics while it is locked")
    }

    pub fn set(&self, limit: usize) {
        let mut queue = self.lock();
        queue.limit = limit;
        self.wake_first(queue);
    }

    fn wake_first(&self, queue: MutexGuard<'_, Queue>) {
        let may_begin = queue.admitted < queue.limit;
        let first = queue.waiting.front().filter(|_| may_begin).map(|(_, waker)| waker.clone());
        drop(queue);
        if let Some(waker) = first {
            waker.wake_by_ref();
        }
    }
}

impl Queue {
    /// Admits a call, if it is its turn. It has a number if it is in the queue.
    fn admit(&mut self, number: Option<u64>) -> bool {
        let first = self.waiting.front().map(|(number, _)| *number);
        let is_admitted = first == number && self.admitted < self.limit;
        self.admitted += usize::from(is_admitted);
        is_admitted
    }

    /// Puts a call into the queue, or replaces its waker there. Returns the old waker.
    fn wait(&mut self, number: &mut Option<u64>, waker: Arc<Waker>) -> Option<Arc<Waker>> {
        let Some(number) = *number else {
            self.next_number += 1;
            *number = Some(self.next_number);
            self.waiting.push_back((self.next_number, waker));
            return None;
        };
        let entry = self.waiting.iter_mut().find(|(other, _)| *other == number);
        Some(std::mem::replace(&mut entry.expect("it is in the queue").1, waker))
    }

    /// Removes a call from the queue. Returns its waker.
    fn leave(&mut self, number: Option<u64>) -> Option<Arc<Waker>> {
        let position = self.waiting.iter().position(|(other, _)| Some(*other) == number)?;
        self.waiting.remove(position).map(|(_, waker)| waker)
    }
}

/// The permit of a call, which it has or waits for. Dropping it gives it back.
pub(crate) struct Permit<'a> {
    limit: &'a CallLimit,
    number: Option<u64>,
    is_admitted: bool,
}

impl<'a> Permit<'a> {
    pub fn new(limit: &'a CallLimit) -> Permit<'a> {
        Permit { limit, number: None, is_admitted: false }
    }

    pub fn poll(&mut self, context: &mut Context<'_>) -> Poll<()> {
        if self.admit(self.limit.lock()) {
            return Poll::Ready(());
        }
        let waker = Arc::new(context.waker().clone());
        let mut queue = self.limit.lock();
        let before = queue.wait(&mut self.number, waker);
        // Another call may have ended since the first check.
        let polled = match self.admit(queue) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        };
        drop(before);
        polled
    }

    /// Admits the call if it is its turn. Then it may also be the turn of the next call.
    fn admit(&mut self, mut queue: MutexGuard<'_, Queue>) -> bool {
        self.is_admitted = queue.admit(self.number);
        if self.is_admitted {
            let waker = queue.leave(self.number.take());
            self.limit.wake_first(queue);
            drop(waker);
        }
        self.is_admitted
    }
}

impl Drop for Permit<'_> {
    fn drop(&mut self) {
        let mut queue = self.limit.lock();
        queue.admitted -= usize::from(self.is_admitted);
        let waker = queue.leave(self.number);
        self.limit.wake_first(queue);
        drop(waker);
    }
}
