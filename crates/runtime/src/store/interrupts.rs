//! What a store shares with those who want what runs in it to stop.

use super::Store;
use crate::embedder::{Embedder, Foreign, resume};
use crate::os::timer::{self, Alarm};
use ropewalk_abi::{InstanceHeader, TrapCode};
use std::collections::HashMap;
use std::io;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::Waker;
use std::time::{Duration, Instant};

/// Why functions are to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Reason {
    /// Somebody has said so.
    Interrupted = 1,
    /// The deadline has passed.
    Deadline = 2,
    /// The time slice has passed.
    Slice = 4,
    /// They always do, for testing.
    Always = 8,
    /// It is time to see where they are.
    Sample = 16,
    /// The store is to be written down.
    Snapshot = 32,
}

/// The reasons to end an activation.
pub(crate) const ENDING: u32 = Reason::Interrupted as u32 | Reason::Deadline as u32;

/// What a store shares with those who want it to stop: with other threads, and with the
/// [timer](crate::os::timer).
#[derive(Debug, Default)]
pub struct Interrupts {
    /// The reasons to stop. Changed only while the words are locked, which say the same.
    reasons: AtomicU32,
    words: Mutex<Words>,
}

/// The words that generated code looks at.
#[derive(Debug, Default)]
struct Words {
    /// The instances of the store, until it is dropped.
    instances: Vec<Word>,
    /// Who polls activations that wait, by the numbers of these.
    wakers: HashMap<usize, Foreign<Waker>>,
    deadline: Clock,
    slice: Clock,
    sample: Clock,
}

/// A time at which functions are to stop.
#[derive(Debug, Default)]
struct Clock {
    alarm: Option<Alarm>,
    /// How often it was set: an alarm may ring while it is set anew.
    times: u64,
}

impl Words {
    fn clock(&mut self, reason: Reason) -> &mut Clock {
        match reason {
            Reason::Deadline => &mut self.deadline,
            Reason::Slice => &mut self.slice,
            Reason::Sample => &mut self.sample,
            Reason::Interrupted | Reason::Always | Reason::Snapshot => {
                unreachable!("no time is set for these")
            }
        }
    }
}

/// The header of an instance, of which only the word is used.
#[derive(Debug)]
struct Word(NonNull<InstanceHeader>);

// SAFETY: the word is atomic, and a store takes its instances out before it drops them.
unsafe impl Send for Word {}

impl Word {
    /// Lets the functions of the instance go on, or stop.
    fn set(&self, goes_on: bool) {
        let address = if goes_on { self.0.as_ptr() as usize } else { 0 };
        // SAFETY: the instance is alive. Nobody has a reference to the whole header.
        let word = unsafe { &(*self.0.as_ptr()).go_on };
        word.store(address, Ordering::Relaxed);
    }
}

impl Interrupts {
    fn lock(&self) -> MutexGuard<'_, Words> {
        self.words.lock().expect("nobody panics with it")
    }

    /// Lets functions stop.
    fn stop(&self, reason: Reason) {
        self.stop_all(reason, self.lock());
    }

    fn stop_all(&self, reason: Reason, mut words: MutexGuard<'_, Words>) {
        if self.reasons.fetch_or(reason as u32, Ordering::Relaxed) == 0 {
            words.instances.iter().for_each(|word| word.set(false));
        }
        if reason as u32 & ENDING != 0 {
            let wakers = std::mem::take(&mut words.wakers);
            // Wakers may do anything.
            drop(words);
            wake_all(wakers.into_values());
        }
    }

    /// Whether activations are to end.
    pub(crate) fn end(&self) -> bool {
        self.has(ENDING)
    }

    /// Has an activation that waits polled again when it must end. The waker is cloned, woken
    /// and dropped without the lock, since it may do anything.
    pub(crate) fn wake_at_end(&self, activation: usize, waker: &Waker) {
        let waker = waker.clone();
        let mut words = self.lock();
        if self.end() || words.wakers.try_reserve(1).is_err() {
            drop(words);
            // Where there is no room for it, it is polled at once, and again until there is.
            return waker.wake();
        }
        let before = words.wakers.insert(activation, Foreign::new(waker));
        drop(words);
        drop(before);
    }

    /// An activation does not wait any more: returns its waker.
    pub(crate) fn take_waker(&self, activation: usize) -> Option<Foreign<Waker>> {
        self.lock().wakers.remove(&activation)
    }

    /// Takes a reason back.
    pub(crate) fn forget(&self, reason: Reason) {
        self.forget_in_all(reason, &self.lock());
    }

    fn forget_in_all(&self, reason: Reason, words: &Words) {
        let before = self.reasons.fetch_and(!(reason as u32), Ordering::Relaxed);
        if before == reason as u32 {
            words.instances.iter().for_each(|word| word.set(true));
        }
    }

    /// Interrupts what runs, or else what runs next.
    pub fn interrupt(&self) {
        self.stop(Reason::Interrupted);
    }

    /// Has what runs, or else what runs next, written down at its next check point.
    pub fn request_snapshot(&self) {
        self.stop(Reason::Snapshot);
    }

    pub(crate) fn has(&self, reasons: u32) -> bool {
        self.reasons.load(Ordering::Relaxed) & reasons != 0
    }

    /// Fails if the activation must end: in the middle of an instruction or of a host
    /// function that takes long.
    pub fn check(&self) -> Result<(), TrapCode> {
        if self.has(ENDING) { Err(TrapCode::Interrupt) } else { Ok(()) }
    }

    /// Lets functions always stop.
    pub(crate) fn stop_always(&self) {
        self.stop(Reason::Always);
    }

    /// Lets functions of another instance stop too.
    pub(crate) fn add(&self, instance: NonNull<InstanceHeader>) {
        let mut words = self.lock();
        let word = Word(instance);
        word.set(self.reasons.load(Ordering::Relaxed) == 0);
        words.instances.push(word);
    }

    /// Forgets all instances, which are about to be dropped. Returns the wakers of activations
    /// that nobody will continue.
    pub(crate) fn close(&self) -> HashMap<usize, Foreign<Waker>> {
        let mut words = self.lock();
        words.instances.clear();
        (words.deadline, words.slice) = (Clock::default(), Clock::default());
        words.sample = Clock::default();
        std::mem::take(&mut words.wakers)
    }

    /// Lets functions stop at some time, and not at the one that was set before.
    pub(crate) fn stop_at(
        self: &Arc<Self>,
        reason: Reason,
        when: Option<Instant>,
    ) -> io::Result<()> {
        let mut words = self.lock();
        let clock = words.clock(reason);
        clock.times += 1;
        clock.alarm = None;
        let times = clock.times;
        self.forget_in_all(reason, &words);
        drop(words);
        let Some(when) = when else { return Ok(()) };
        if when <= Instant::now() {
            self.stop(reason);
            return Ok(());
        }
        let this = Arc::downgrade(self);
        let alarm = timer::at(when, move || {
            if let Some(this) = this.upgrade() {
                this.ring(reason, times);
            }
        })?;
        self.lock().clock(reason).alarm = Some(alarm);
        Ok(())
    }

    /// Lets functions stop, unless the time was set anew meanwhile.
    fn ring(&self, reason: Reason, times: u64) {
        let mut words = self.lock();
        if words.clock(reason).times == times {
            self.stop_all(reason, words);
        }
    }
}

/// Wakes all, also if some of them panic; the first panic continues then.
fn wake_all(wakers: impl Iterator<Item = Foreign<Waker>>) {
    let mut embedder = Embedder::default();
    for waker in wakers {
        let woken = waker.call_once(Waker::wake);
        embedder.unless_panic(woken);
    }
    if let Some(panic) = embedder.take_panic() {
        resume(panic);
    }
}

impl Store {
    /// What stops this store.
    pub fn interrupts(&self) -> &Arc<Interrupts> {
        &self.budget.interrupts
    }

    /// Lets activations end from some time on.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.budget.interrupts.stop_at(Reason::Deadline, deadline)
    }

    /// Lets activations that can wait do so after each such time.
    pub fn set_time_slice(&mut self, length: Option<Duration>) -> io::Result<()> {
        self.budget.time_slice = length;
        self.set_slice()
    }

    /// Forgets an interruption that has ended an activation, when no other runs.
    pub(crate) fn end_interruption(&mut self) {
        if self.running.depth == 1 && self.budget.interrupts.has(Reason::Interrupted as u32) {
            self.budget.interrupts.forget(Reason::Interrupted);
        }
    }

    /// Begins another time slice, if there are any.
    pub(crate) fn begin_slice(&mut self) {
        if self.budget.time_slice.is_some() {
            // Without a timer nothing was sliced before.
            let _ = self.set_slice();
        }
    }

    fn set_slice(&self) -> io::Result<()> {
        let end = self.budget.time_slice.and_then(|length| Instant::now().checked_add(length));
        self.budget.interrupts.stop_at(Reason::Slice, end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn an_alarm_that_rings_too_late_stops_nothing() {
        let interrupts = Arc::new(Interrupts::default());
        let later = Instant::now() + Duration::from_secs(1000);
        for reason in [Reason::Deadline, Reason::Slice] {
            interrupts.stop_at(reason, Some(later)).expect("a timer");
            interrupts.stop_at(reason, None).expect("a timer");
            interrupts.ring(reason, 1);
            assert!(!interrupts.has(u32::MAX));
            interrupts.stop_at(reason, Some(later)).expect("a timer");
            interrupts.ring(reason, 2);
            assert!(!interrupts.has(u32::MAX));
            interrupts.ring(reason, 3);
            assert!(interrupts.has(reason as u32));
            interrupts.stop_at(reason, None).expect("a timer");
            assert!(!interrupts.has(u32::MAX));
        }
    }
}
