//! How many calls of an accessor run or wait at the same time.
//!
//! Wakers are code of the embedder: they are cloned, woken and dropped without the lock.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};

/// Who may begin a call.
#[derive(Debug)]
pub(crate) struct Admission(Mutex<Line>);

#[derive(Debug)]
struct Line {
    limit: usize,
    running: usize,
    /// Those that wait for their turn, in order.
    queue: VecDeque<(u64, Arc<Waker>)>,
    next: u64,
}

impl Default for Admission {
    fn default() -> Admission {
        Admission(Mutex::new(Line {
            limit: usize::MAX,
            running: 0,
            queue: VecDeque::new(),
            next: 0,
        }))
    }
}

impl Admission {
    fn lock(&self) -> MutexGuard<'_, Line> {
        self.0.lock().expect("nobody panics with it")
    }

    /// Has at most so many calls run or wait at the same time.
    pub fn set_limit(&self, limit: usize) {
        let mut line = self.lock();
        line.limit = limit;
        self.wake_first(line);
    }

    /// Has the first that waits look again, if it may begin.
    fn wake_first(&self, line: MutexGuard<'_, Line>) {
        let may_begin = line.running < line.limit;
        let first = line.queue.front().filter(|_| may_begin).map(|(_, waker)| waker.clone());
        drop(line);
        if let Some(waker) = first {
            waker.wake_by_ref();
        }
    }
}

impl Line {
    /// Admits a call, if it is its turn. It has a number once it has waited.
    fn admit(&mut self, number: Option<u64>) -> bool {
        let first = self.queue.front().map(|(number, _)| *number);
        let is_admitted = first == number && self.running < self.limit;
        self.running += usize::from(is_admitted);
        is_admitted
    }

    /// Has a call wait for its turn. Returns the waker that it has waited with before.
    fn wait(&mut self, number: &mut Option<u64>, waker: Arc<Waker>) -> Option<Arc<Waker>> {
        let Some(number) = *number else {
            self.next += 1;
            *number = Some(self.next);
            self.queue.push_back((self.next, waker));
            return None;
        };
        let place = self.queue.iter_mut().find(|(other, _)| *other == number);
        Some(std::mem::replace(&mut place.expect("it is in the queue").1, waker))
    }

    /// A call does not wait any more. Returns the waker that it has waited with.
    fn leave(&mut self, number: Option<u64>) -> Option<Arc<Waker>> {
        let place = self.queue.iter().position(|(other, _)| Some(*other) == number)?;
        self.queue.remove(place).map(|(_, waker)| waker)
    }
}

/// The place of a call among those that are admitted or wait for that.
pub(crate) struct Turn<'a> {
    admission: &'a Admission,
    number: Option<u64>,
    is_admitted: bool,
}

impl<'a> Turn<'a> {
    pub fn new(admission: &'a Admission) -> Turn<'a> {
        Turn { admission, number: None, is_admitted: false }
    }

    pub fn poll(&mut self, context: &Context<'_>) -> Poll<()> {
        if self.admit(self.admission.lock()) {
            return Poll::Ready(());
        }
        let waker = Arc::new(context.waker().clone());
        let mut line = self.admission.lock();
        let before = line.wait(&mut self.number, waker);
        // Perhaps its turn has come meanwhile.
        let polled = match self.admit(line) {
            true => Poll::Ready(()),
            false => Poll::Pending,
        };
        drop(before);
        polled
    }

    /// Begins the call if it is its turn; then it may be that of the next one too.
    fn admit(&mut self, mut line: MutexGuard<'_, Line>) -> bool {
        self.is_admitted = line.admit(self.number);
        if self.is_admitted {
            let waker = line.leave(self.number.take());
            self.admission.wake_first(line);
            drop(waker);
        }
        self.is_admitted
    }
}

impl Drop for Turn<'_> {
    fn drop(&mut self) {
        let mut line = self.admission.lock();
        line.running -= usize::from(self.is_admitted);
        let waker = line.leave(self.number);
        self.admission.wake_first(line);
        drop(waker);
    }
}
