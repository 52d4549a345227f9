//! Interrupts running code, to end it or to let others run.
//!
//! In a module that was compiled for interruption, functions read a
//! [word](ropewalk_abi::InstanceHeader::keep_running) of their instance at every safepoint. An
//! interrupter writes these words. Then the functions call the stub
//! [`pause`](crate::arch::stubs::pause), which asks [`paused`] how to continue:
//!
//! * An interruption, or a deadline that has passed, ends the activation with a trap.
//! * Without [fuel](crate::store::fuel) it also ends, unless the embedder provides more.
//! * If a [sample](crate::observe::profile) is due, it is taken, and the function continues.
//! * If a [snapshot](crate::snapshot) was requested, it is taken, and the function continues.
//! * After a time slice, an activation that can wait is suspended, with its registers on top of its
//!   stack, and continues when it is polled again. It is set aside like one that waits for a host
//!   function. One that cannot wait continues.
//!
//! Long operations of the runtime poll [`Interrupts`](crate::store::interrupts::Interrupts) themselves.

use crate::arch::stubs;
use crate::store::Store;
use crate::store::interrupts::{ENDING, Reason};
use crate::store::pending::{AnyHostFuture, HostFuture, PendingCall};
use crate::store::pending_activations::PendingCause;
use crate::store::running::Ending;
use ropewalk_abi::builtin::{CONTINUE, Outcome};
use ropewalk_abi::{PausedFrame, PausedRegisters, StoreContext, TrapCode};
use std::ffi::c_void;
use std::ptr;
use std::task::{Context, Poll};

impl Store {
    /// Decides how a function continues after a safepoint where it had these registers.
    fn pause(&mut self, registers: &PausedRegisters) -> Outcome {
        self.move_running();
        if self.budget.interrupts.has(Reason::Sample as u32) {
            self.sample();
            // An error is no problem: samples only come from a timer.
            let _ = self.set_next_sample();
        }
        if self.budget.interrupts.has(Reason::Snapshot as u32)
            && let Err(ending) = self.answer_request(registers)
        {
            return self.end_with(ending);
        }
        if self.budget.interrupts.has(Reason::Always as u32) && self.options.heap.collect_always {
            // A panic of the embedder continues when the activation has ended.
            let _ = self.collect_garbage(0);
        }
        if self.budget.interrupts.has(ENDING) {
            return self.end_with(TrapCode::Interrupt);
        }
        let passes_turn = match self.refuel() {
            Ok(passes_turn) => passes_turn,
            Err(ending) => return self.end_with(ending),
        };
        // The embedder's code may have made a call that ended halfway.
        if let Err(error) = self.running.check_usable() {
            return self.end_with(Ending::Error(error));
        }
        if let Some(panic) = self.embedder.take_panic() {
            return self.end_with(Ending::Panic(panic));
        }
        if !passes_turn && !self.budget.interrupts.has(Reason::Slice as u32 | Reason::Always as u32)
        {
            return Outcome::returned(0);
        }
        self.budget.interrupts.forget(Reason::Slice);
        match self.pass_turn(registers) {
            true => Outcome::END,
            false => {
                self.begin_slice();
                Outcome::returned(0)
            }
        }
    }

    /// Takes the snapshot that was requested.
    fn answer_request(&mut self, registers: &PausedRegisters) -> Result<(), Ending> {
        self.budget.interrupts.forget(Reason::Snapshot);
        let Some(mut hook) = self.snapshots.hook.take() else { return Ok(()) };
        let answered = hook.call(|hook| hook(self, registers));
        match &self.snapshots.hook {
            None => self.snapshots.hook = Some(hook),
            // The hook has set another one.
            Some(_) => self.embedder.drop_value(hook),
        }
        answered.map_err(Ending::Panic)?.map_err(Ending::Error)
    }

    /// Suspends the newest activation until it is polled again. Returns whether that is possible.
    fn pass_turn(&mut self, registers: &PausedRegisters) -> bool {
        if self.running.poller().is_null() {
            return false;
        }
        if self.running.pending.make_room().is_err() || !self.leave_paused(registers) {
            return false;
        }
        self.set_pending(PendingCall::unpolled(AnyHostFuture::new(NextTurn)), PendingCause::Turn);
        true
    }

    /// Pushes the registers of the stopped function on its stack. Returns whether there is room.
    fn leave_paused(&mut self, registers: &PausedRegisters) -> bool {
        let stack = self.context().stack;
        // SAFETY: the running stack is alive, in a call, and has room below its stack pointer.
        // `continue_paused` and frame walks read the frame.
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

/// The pending call of an activation that lets others run. It is ready at its next poll.
struct NextTurn;

impl HostFuture for NextTurn {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn finish(self, store: &mut Store) -> Outcome {
        store.begin_slice();
        Outcome::returned(0)
    }
}

/// Decides how a function continues after a safepoint. The stub calls this. Returns nonzero if the
/// activation is left.
pub(crate) unsafe extern "C" fn paused(
    context: *mut StoreContext,
    registers: *const PausedRegisters,
) -> u64 {
    // SAFETY: generated code called the stub, and holds no reference to the store. The registers
    // are in the stub's frame.
    let (store, registers) = unsafe { (Store::from_context(context), &*registers) };
    let outcome = store.pause(registers);
    let outcome = match store.options.stress.check_stacks && outcome.ended == CONTINUE {
        true => store.check_after(outcome, false),
        false => outcome,
    };
    outcome.ended
}
