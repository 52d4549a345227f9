//! Stopping the functions of a store, from other threads too.

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

/// A reason for functions to stop.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub(crate) enum Reason {
    Interrupted = 1,
    Deadline = 2,
    Slice = 4,
    /// A stress mode: they always stop.
    Always = 8,
    /// The profiler is due.
    Sample = 16,
    Snapshot = 32,
}

/// The reasons that end activations.
pub(crate) const ENDING: u32 = Reason::Interrupted as u32 | Reason::Deadline as u32;

/// Stops the functions of a store, from other threads and the [`timer`] too.
#[derive(Debug, Default)]
pub struct Interrupts {
    /// A set of [`Reason`]s. It changes only while `state` is locked, together with the instances.
    reasons: AtomicU32,
    state: Mutex<LockedState>,
}

#[derive(Debug, Default)]
struct LockedState {
    /// The instances of the store, until it is dropped.
    instances: Vec<StopWord>,
    /// The wakers of pending activations, by their numbers.
    wakers: HashMap<usize, Foreign<Waker>>,
    /// In the order of [`TIMED`].
    clocks: [Clock; TIMED.len()],
}

/// A time at which functions stop.
#[derive(Debug, Default)]
struct Clock {
    alarm: Option<Alarm>,
    /// How often it was set. An alarm can ring while another time is set.
    times: u64,
}

/// The reasons with clocks.
const TIMED: [Reason; 3] = [Reason::Deadline, Reason::Slice, Reason::Sample];

impl LockedState {
    fn clock(&mut self, reason: Reason) -> &mut Clock {
        let index = TIMED.iter().position(|timed| *timed == reason);
        &mut self.clocks[index.expect("the reason has a time")]
    }
}

/// The header of an instance, whose word `keep_running` is set.
#[derive(Debug)]
struct StopWord(NonNull<InstanceHeader>);

// SAFETY: the word is atomic, and a store removes its instances before it drops them.
unsafe impl Send for StopWord {}

impl StopWord {
    /// Lets the functions of the instance run, or stops them.
    fn set(&self, keeps_running: bool) {
        let address = if keeps_running { self.0.as_ptr() as usize } else { 0 };
        // SAFETY: the instance is alive, and there is no reference to the whole header.
        let word = unsafe { &(*self.0.as_ptr()).keep_running };
        word.store(address, Ordering::Relaxed);
    }
}

impl Interrupts {
    fn lock(&self) -> MutexGuard<'_, LockedState> {
        self.state.lock().expect("the lock is never poisoned")
    }

    pub(crate) fn stop(&self, reason: Reason) {
        self.stop_all(reason, self.lock());
    }

    fn stop_all(&self, reason: Reason, mut state: MutexGuard<'_, LockedState>) {
        if self.reasons.fetch_or(reason as u32, Ordering::Relaxed) == 0 {
            state.instances.iter().for_each(|word| word.set(false));
        }
        if reason as u32 & ENDING != 0 {
            let wakers = std::mem::take(&mut state.wakers);
            // A waker can run any code.
            drop(state);
            wake_all(wakers.into_values());
        }
    }

    /// Whether activations must end.
    pub(crate) fn end(&self) -> bool {
        self.has(ENDING)
    }

    /// Polls a pending activation again when it must end. Wakers run any code, so not under the
    /// lock.
    pub(crate) fn wake_at_end(&self, activation: usize, waker: &Waker) {
        let waker = waker.clone();
        let mut state = self.lock();
        if self.end() || state.wakers.try_reserve(1).is_err() {
            drop(state);
            // Without room for the waker, the activation is polled at once, until there is room.
            return waker.wake();
        }
        let before = state.wakers.insert(activation, Foreign::new(waker));
        drop(state);
        drop(before);
    }

    /// Removes the waker of an activation that is no longer pending.
    pub(crate) fn take_waker(&self, activation: usize) -> Option<Foreign<Waker>> {
        self.lock().wakers.remove(&activation)
    }

    pub(crate) fn forget(&self, reason: Reason) {
        self.forget_in_all(reason, &self.lock());
    }

    fn forget_in_all(&self, reason: Reason, state: &LockedState) {
        let before = self.reasons.fetch_and(!(reason as u32), Ordering::Relaxed);
        if before == reason as u32 {
            state.instances.iter().for_each(|word| word.set(true));
        }
    }

    /// Interrupts the running activation, or else the next one.
    pub fn interrupt(&self) {
        self.stop(Reason::Interrupted);
    }

    /// Has a snapshot taken at the next safepoint of the running or the next activation.
    pub fn request_snapshot(&self) {
        self.stop(Reason::Snapshot);
    }

    pub(crate) fn has(&self, reasons: u32) -> bool {
        self.reasons.load(Ordering::Relaxed) & reasons != 0
    }

    /// Fails if the activation must end. Called during long instructions and host functions.
    pub fn check(&self) -> Result<(), TrapCode> {
        if self.has(ENDING) { Err(TrapCode::Interrupt) } else { Ok(()) }
    }

    /// Adds an instance, whose functions stop too.
    pub(crate) fn add(&self, instance: NonNull<InstanceHeader>) {
        let mut state = self.lock();
        let word = StopWord(instance);
        word.set(self.reasons.load(Ordering::Relaxed) == 0);
        state.instances.push(word);
    }

    /// Removes all instances before they are dropped. Returns the wakers of pending activations.
    pub(crate) fn close(&self) -> HashMap<usize, Foreign<Waker>> {
        let mut state = self.lock();
        state.instances.clear();
        state.clocks = Default::default();
        std::mem::take(&mut state.wakers)
    }

    /// Sets the time at which functions stop, instead of the previous one.
    pub(crate) fn stop_at(
        self: &Arc<Self>,
        reason: Reason,
        when: Option<Instant>,
    ) -> io::Result<()> {
        let mut state = self.lock();
        let clock = state.clock(reason);
        clock.times += 1;
        clock.alarm = None;
        let times = clock.times;
        self.forget_in_all(reason, &state);
        drop(state);
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

    /// Stops functions, unless another time was set in the meantime.
    fn ring(&self, reason: Reason, times: u64) {
        let mut state = self.lock();
        if state.clock(reason).times == times {
            self.stop_all(reason, state);
        }
    }
}

/// Wakes all, even if some panic. Then the first panic resumes.
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
    /// The handle that stops this store.
    pub fn interrupts(&self) -> &Arc<Interrupts> {
        &self.budget.interrupts
    }

    /// Ends activations from this time on.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.budget.interrupts.stop_at(Reason::Deadline, deadline)
    }

    /// Sets how long an activation runs before it yields, if it can wait.
    pub fn set_time_slice(&mut self, length: Option<Duration>) -> io::Result<()> {
        self.budget.time_slice = length;
        self.set_slice()
    }

    /// Withdraws an interruption that has ended the outermost activation.
    pub(crate) fn end_interruption(&mut self) {
        if self.running.depth() == 1 && self.budget.interrupts.has(Reason::Interrupted as u32) {
            self.budget.interrupts.forget(Reason::Interrupted);
        }
    }

    /// Begins another time slice, if time slices are set.
    pub(crate) fn begin_slice(&mut self) {
        if self.budget.time_slice.is_some() {
            // If the timer fails now, it failed before too, so no slices were timed.
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
