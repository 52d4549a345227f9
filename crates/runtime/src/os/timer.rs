//! The timer of the process: one thread, which sleeps until the first alarm.
//!
//! Reading a clock at every safepoint would be too expensive. Without alarms there is no thread.

use crate::embedder::{discard, guarded};
use std::collections::BTreeMap;
use std::io;
use std::sync::{Condvar, Mutex, MutexGuard};
use std::thread;
use std::time::Instant;

/// An action at a time. Dropping it cancels the action.
#[derive(Debug)]
pub(crate) struct Alarm(Key);

/// The time, and a number that distinguishes alarms of the same time.
type Key = (Instant, u64);

type Action = Box<dyn FnOnce() + Send>;

struct Queue {
    alarms: BTreeMap<Key, Action>,
    next: u64,
    has_thread: bool,
}

static QUEUE: Mutex<Queue> =
    Mutex::new(Queue { alarms: BTreeMap::new(), next: 0, has_thread: false });
static EARLIER: Condvar = Condvar::new();

fn lock() -> MutexGuard<'static, Queue> {
    QUEUE.lock().expect("the lock is never poisoned")
}

/// Runs an action at a time. Fails if the thread cannot be started.
pub(crate) fn at(when: Instant, action: impl FnOnce() + Send + 'static) -> io::Result<Alarm> {
    let mut queue = lock();
    if !queue.has_thread {
        thread::Builder::new().name("ropewalk timer".to_string()).spawn(run)?;
        queue.has_thread = true;
    }
    let key = (when, queue.next);
    queue.next += 1;
    if queue.alarms.first_key_value().is_none_or(|(first, _)| key < *first) {
        EARLIER.notify_one();
    }
    queue.alarms.insert(key, Box::new(action));
    Ok(Alarm(key))
}

impl Drop for Alarm {
    fn drop(&mut self) {
        let action = lock().alarms.remove(&self.0);
        // The action may own other alarms.
        drop(action);
    }
}

fn run() {
    let mut queue = lock();
    loop {
        let now = Instant::now();
        queue = match queue.alarms.first_entry() {
            None => EARLIER.wait(queue).expect("the lock is never poisoned"),
            Some(first) if first.key().0 <= now => {
                let action = first.remove();
                // The action may use the timer, and may panic; the timer continues.
                drop(queue);
                if let Err(panic) = guarded(action) {
                    discard(panic);
                }
                lock()
            }
            Some(first) => {
                let left = first.key().0 - now;
                EARLIER.wait_timeout(queue, left).expect("the lock is never poisoned").0
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::mpsc::{RecvTimeoutError, channel};
    use std::time::Duration;

    #[test]
    fn alarms_ring_in_order() {
        let (sender, receiver) = channel();
        let now = Instant::now();
        let alarms: Vec<_> = [30, 10, 20]
            .into_iter()
            .map(|time| {
                let sender = sender.clone();
                let when = now + Duration::from_millis(time);
                at(when, move || sender.send(time).expect("the receiver lives")).expect("a thread")
            })
            .collect();
        let order: Vec<u64> = receiver.iter().take(3).collect();
        assert_eq!(order, [10, 20, 30]);
        drop(alarms);
    }

    #[test]
    fn a_dropped_alarm_does_not_ring() {
        let (sender, receiver) = channel();
        let when = Instant::now() + Duration::from_millis(20);
        drop(at(when, move || sender.send(()).expect("the receiver lives")).expect("a thread"));
        let silence = receiver.recv_timeout(Duration::from_millis(60));
        assert_eq!(silence, Err(RecvTimeoutError::Disconnected));
    }
}
