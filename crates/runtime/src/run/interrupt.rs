//! Stopping what runs: for good, or to let others run.
//!
//! Functions of a module that was compiled for it look at a word of their instance at
//! every [check point](ropewalk_abi::InstanceHeader::go_on). Who wants them to stop
//! writes into these words; the functions then call the stub
//! [`pause`](crate::arch::stubs::pause), which asks [`paused`] how to continue:
//!
//! * An interruption, or a deadline that has passed, ends the activation with a trap.
//! * Without [fuel](crate::store::fuel) it ends too, unless there is more, or somebody gives more.
//! * When it is time for a [sample](crate::observe::profile), one is taken, and it goes on.
//! * When a [snapshot](crate::snapshot) is asked for, one is taken, and it goes on.
//! * When a time slice has passed, an activation that can wait is left, with the
//!   registers on top of its stack, and continues when it is polled again. It is set aside
//!   like one that waits for a host function. One that cannot wait goes on.
//!
//! Instructions of the runtime that can take long look at [`Interrupts`] themselves.

use crate::arch::stubs;
use crate::store::Store;
use crate::store::interrupts::{ENDING, Reason};
use crate::store::pending::{AnyHostFuture, HostFuture, PendingCall, PendingCause};
use crate::store::running::Ending;
use ropewalk_abi::builtin::{GO_ON, Outcome};
use ropewalk_abi::{PausedFrame, PausedRegisters, StoreContext, TrapCode};
use std::ffi::c_void;
use std::ptr;
use std::task::{Context, Poll};

impl Store {
    /// How a function continues that has seen that it must stop, with these registers.
    fn pause(&mut self, registers: &PausedRegisters) -> Outcome {
        if self.options.stress.move_stacks {
            // SAFETY: the running stack is alive, and left in a call.
            unsafe { self.move_stack(self.context().stack) };
        }
        if self.budget.interrupts.has(Reason::Sample as u32) {
            self.sample();
            // Without a timer nothing was sampled before.
            let _ = self.set_next_sample();
        }
        if self.budget.interrupts.has(Reason::Snapshot as u32)
            && let Err(ending) = self.answer_request(registers)
        {
            self.set_ending(ending);
            return Outcome::END;
        }
        if self.budget.interrupts.has(Reason::Always as u32) && self.options.heap.collect_always {
            // What the embedder panics with continues when the activation has ended.
            let _ = self.collect(0);
        }
        if self.budget.interrupts.has(ENDING) {
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

    /// Has a snapshot of the store taken, as somebody has asked for.
    fn answer_request(&mut self, registers: &PausedRegisters) -> Result<(), Ending> {
        self.budget.interrupts.forget(Reason::Snapshot);
        let Some(mut hook) = self.snapshots.hook.take() else { return Ok(()) };
        let answered = hook.call(|hook| hook(self, registers));
        match &self.snapshots.hook {
            None => self.snapshots.hook = Some(hook),
            // It has set another.
            Some(_) => self.embedder.drop_value(hook),
        }
        answered.map_err(Ending::Panic)?.map_err(Ending::Error)
    }

    /// Leaves the newest activation, to continue when it is polled again. Returns
    /// whether it can be left.
    fn pass_turn(&mut self, registers: &PausedRegisters) -> bool {
        if self.poller().is_null() {
            return false;
        }
        if self.make_room_to_set_aside().is_err() || !self.leave_paused(registers) {
            return false;
        }
        self.set_pending(PendingCall::unpolled(AnyHostFuture::new(NextTurn)), PendingCause::Turn);
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

impl HostFuture for NextTurn {
    fn poll(&mut self, _: &mut Context<'_>) -> Poll<()> {
        Poll::Ready(())
    }

    fn finish(self, store: &mut Store) -> Outcome {
        store.begin_slice();
        Outcome::returned(0)
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
    let outcome = match store.options.stress.check_stacks && outcome.ended == GO_ON {
        true => store.check_after(outcome, false),
        false => outcome,
    };
    outcome.ended
}
