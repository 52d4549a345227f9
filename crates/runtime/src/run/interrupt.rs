//! Stopping what runs: for good, or to let others run.
//!
//! Functions of a module that was compiled for it look at a word of their instance at
//! every [check point](ropewalk_abi::InstanceHeader::go_on). Who wants them to stop
//! writes into these words; the functions then call the stub
//! [`pause`](crate::arch::stubs::pause), which asks [`paused`] how to continue:
//!
//! * An interruption, or a deadline that has passed, ends the activation with a trap.
//! * Without [fuel](crate::run::fuel) it ends too, unless there is more, or somebody gives more.
//! * When it is time for a [sample](crate::observe::profile), one is taken, and it goes on.
//! * When a [snapshot](crate::snapshot) is asked for, one is taken, and it goes on.
//! * When a time slice has passed, an activation that can wait is left, with the
//!   registers on top of its stack, and continues when it is polled again. It is frozen
//!   like one that waits for a host function. One that cannot wait goes on.
//!
//! Instructions of the runtime that can take long look at [`Interrupts`] themselves.

use crate::arch::stubs;
use crate::embedder::{Embedder, Foreign, resume};
use crate::os::timer::{self, Alarm};
use crate::run::activation::Ending;
use crate::run::pending::{Awaits, Waiting};
use crate::run::rest::{AnyRest, Rest};
use crate::store::Store;
use ropewalk_abi::builtin::{GO_ON, Outcome};
use ropewalk_abi::{InstanceHeader, PausedFrame, PausedRegisters, StoreContext, TrapCode};
use std::collections::HashMap;
use std::ffi::c_void;
use std::io;
use std::ptr::{self, NonNull};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Waker};
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
const ENDING: u32 = Reason::Interrupted as u32 | Reason::Deadline as u32;

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
    fn forget(&self, reason: Reason) {
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

    fn has(&self, reasons: u32) -> bool {
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
    fn stop_at(self: &Arc<Self>, reason: Reason, when: Option<Instant>) -> io::Result<()> {
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
        &self.interrupts
    }

    /// Lets activations end from some time on.
    pub fn set_deadline(&mut self, deadline: Option<Instant>) -> io::Result<()> {
        self.interrupts.stop_at(Reason::Deadline, deadline)
    }

    /// Lets activations that can wait do so after each such time.
    pub fn set_time_slice(&mut self, length: Option<Duration>) -> io::Result<()> {
        self.time_slice = length;
        self.set_slice()
    }

    /// Lets functions stop when the next sample is to be taken, if one is.
    pub(crate) fn set_next_sample(&mut self) -> io::Result<()> {
        self.interrupts.stop_at(Reason::Sample, self.next_sample())
    }

    /// Forgets an interruption that has ended an activation, when no other runs.
    pub(crate) fn end_interruption(&mut self) {
        if self.depth == 1 && self.interrupts.has(Reason::Interrupted as u32) {
            self.interrupts.forget(Reason::Interrupted);
        }
    }

    /// How a function continues that has seen that it must stop, with these registers.
    fn pause(&mut self, registers: &PausedRegisters) -> Outcome {
        if self.options.move_stacks {
            // SAFETY: the running stack is alive, and left in a call.
            unsafe { self.move_stack(self.context().stack) };
        }
        if self.interrupts.has(Reason::Sample as u32) {
            self.sample();
            // Without a timer nothing was sampled before.
            let _ = self.set_next_sample();
        }
        if self.interrupts.has(Reason::Snapshot as u32)
            && let Err(ending) = self.answer_request(registers)
        {
            self.set_ending(ending);
            return Outcome::END;
        }
        if self.interrupts.has(Reason::Always as u32) && self.options.heap.collect_always {
            // What the embedder panics with continues when the activation has ended.
            let _ = self.collect(0);
        }
        if self.interrupts.has(ENDING) {
            self.set_ending(Ending::Trap(TrapCode::Interrupt));
            return Outcome::END;
        }
        let passes_turn = match self.refuel() {
            Ok(passes_turn) => passes_turn,
            Err(ending) => {
                self.set_ending(ending);
                return Outcome::END;
            }
        };
        // Who was asked may have called what ended half-way.
        if let Err(error) = self.check_usable() {
            self.set_ending(Ending::Error(error));
            return Outcome::END;
        }
        if let Some(panic) = self.embedder.take_panic() {
            self.set_ending(Ending::Panic(panic));
            return Outcome::END;
        }
        if !passes_turn && !self.interrupts.has(Reason::Slice as u32 | Reason::Always as u32) {
            return Outcome::returned(0);
        }
        self.interrupts.forget(Reason::Slice);
        match self.pass_turn(registers) {
            true => Outcome::END,
            false => {
                self.begin_slice();
                Outcome::returned(0)
            }
        }
    }

    /// Has a snapshot of the store taken, as somebody has asked for.
    fn answer_request(&mut self, registers: &PausedRegisters) -> Result<(), Ending> {
        self.interrupts.forget(Reason::Snapshot);
        let Some(mut hook) = self.snapshot_hook.take() else { return Ok(()) };
        let answered = hook.call(|hook| hook(self, registers));
        match &self.snapshot_hook {
            None => self.snapshot_hook = Some(hook),
            // It has set another.
            Some(_) => self.embedder.drop_value(hook),
        }
        answered.map_err(Ending::Panic)?.map_err(Ending::Error)
    }

    /// Begins another time slice, if there are any.
    fn begin_slice(&mut self) {
        if self.time_slice.is_some() {
            // Without a timer nothing was sliced before.
            let _ = self.set_slice();
        }
    }

    fn set_slice(&self) -> io::Result<()> {
        let end = self.time_slice.and_then(|length| Instant::now().checked_add(length));
        self.interrupts.stop_at(Reason::Slice, end)
    }

    /// Leaves the newest activation, to continue when it is polled again. Returns
    /// whether it can be left.
    fn pass_turn(&mut self, registers: &PausedRegisters) -> bool {
        if self.poller().is_null() {
            return false;
        }
        if self.make_room_to_freeze().is_err() || !self.leave_paused(registers) {
            return false;
        }
        self.set_waiting(Waiting::due(AnyRest::new(NextTurn)));
        self.left_awaiting = Awaits::Turn;
        true
    }

    /// Puts the registers of the function that has stopped on top of its stack, if there
    /// is room.
    fn leave_paused(&mut self, registers: &PausedRegisters) -> bool {
        let stack = self.context().stack;
        // SAFETY: the running stack is alive, and left in a call; nothing lies below its
        // stack pointer, where there is room then. The frame is read by
        // `continue_paused` and by walks along the frame pointers.
        unsafe {
            if self.make_room(stack, size_of::<PausedFrame>()).is_err() {
                self.stacks.take_refusal();
                return false;
            }
            let stack = &mut *stack;
            let resume = stubs::continue_paused as *const c_void;
            let place = stack.sp - size_of::<PausedFrame>();
            let frame = PausedFrame { resume, registers: *registers, fp: stack.fp };
            ptr::write(place as *mut PausedFrame, frame);
            stack.sp = place;
            stack.fp = place + std::mem::offset_of!(PausedFrame, fp);
        }
        true
    }
}

/// What an activation waits for that lets others run: to be polled again.
struct NextTurn;

impl Rest for NextTurn {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn conclude(self, store: &mut Store) -> Outcome {
        store.begin_slice();
        Outcome::returned(0)
    }
}

/// What an activation waits for that is to end.
pub(crate) struct Ends;

impl Rest for Ends {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn conclude(self, store: &mut Store) -> Outcome {
        store.set_ending(Ending::Trap(TrapCode::Interrupt));
        Outcome::END
    }
}

/// Says how a function continues that has seen that it must stop. Called by the stub:
/// returns whether the activation is left.
pub(crate) unsafe extern "C" fn paused(
    context: *mut StoreContext,
    registers: *const PausedRegisters,
) -> u64 {
    // SAFETY: the stub was called by generated code, which holds no reference to the
    // store. The registers lie in the stub's frame.
    let (store, registers) = unsafe { (Store::from_context(context), &*registers) };
    let outcome = store.pause(registers);
    let outcome = match store.options.check_stacks && outcome.ended == GO_ON {
        true => store.check_after(outcome, false),
        false => outcome,
    };
    outcome.ended
}

#[cfg(test)]
mod tests {
    use super::*;

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
