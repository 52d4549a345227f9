//! Host functions that leave the stack of their caller.
//!
//! A host function can suspend its caller in each design, as if its call were an instruction:
//!
//! | design | instruction | control goes to |
//! | --- | --- | --- |
//! | typed continuations | `suspend` | the nearest stack with a clause for the tag |
//! | tasks | `task.suspend` | the parent of the task |
//! | fibers | `fiber.dismount` | the parent of the fiber, if it has a clause for the event |
//! | bag of stacks | `switch` | the other stack |
//! | first-class stacks | `stack.switch` | the other stack, which gets the event as an exception |
//!
//! The stub that called the host function first puts a frame on top of the stack, from which the
//! call will continue. Then it continues the stack in the [`Passage`]. An event of a first-class
//! stack becomes an exception instead. It can only be thrown when the frame is there, so the stub
//! [asks](leaving) for it.

use crate::embedder::guarded;
use crate::store::Store;
use crate::store::running::{Ending, EventToSend};
use ropewalk_abi::builtin::{CATCH, Outcome};
use ropewalk_abi::clauses;
use ropewalk_abi::stack::{ClauseKind, NEXT_CAPTURE, StackKind, handler_word, kind_bits};
use ropewalk_abi::transfer::ValueClass;
use ropewalk_abi::{ControlBlock, LeftCall, Passage, RawVal, StoreContext, TagDef, TrapCode};
use std::ptr::{self, NonNull};

impl Store {
    /// Suspends the caller of a host function, with a tag whose values are in the transfer area.
    /// When it is resumed, the values become the results of the function.
    pub fn suspend_call(&mut self, tag: NonNull<TagDef>, call: LeftCall) -> Outcome {
        match self.suspend_with_tag(tag) {
            Ok(passage) => self.leave_call(passage, call),
            Err(ending) => self.end_with(ending),
        }
    }

    fn suspend_with_tag(&mut self, tag: NonNull<TagDef>) -> Result<Passage, Ending> {
        self.make_room_for_left_call().map_err(Ending::Trap)?;
        let signal = self.find_clause(handler_word(tag.addr().get(), ClauseKind::Suspend))?;
        let outermost = self.context().found;
        // SAFETY: the outermost stack is the running one or one of its parents, which are alive.
        let (to, reference) = unsafe { ((*outermost).parent, (*outermost).reference) };
        // SAFETY: as above. The stack is a continuation, which a reference will name.
        unsafe { self.capture_up_to(outermost) };
        self.trace_leave_call(to, tag.as_ptr());
        self.ready_to_continue(to);
        Ok(Passage { to, signal, reference })
    }

    /// Suspends a task: the running one or an ancestor. The values that it gives are in the
    /// transfer area.
    pub fn suspend_task(&mut self, task: u64, call: LeftCall) -> Outcome {
        match self.detach(task, StackKind::Task) {
            Ok(to) => {
                self.trace_leave_call(to, ptr::null());
                self.ready_to_continue(to);
                // SAFETY: parents are alive.
                let reference = unsafe { (*to).reference };
                self.leave_call(Passage { to, signal: 0, reference }, call)
            }
            Err(code) => self.end_with(code),
        }
    }

    /// Dismounts a fiber: the running one or an ancestor. The values of the event are in the
    /// transfer area. Afterwards the fiber can be continued with the event `on`, whose values are
    /// the results of the host function. Returns `None` if the parent of the fiber does not expect
    /// the event; then nothing has changed.
    ///
    /// # Safety
    ///
    /// The tags must belong to the store.
    pub unsafe fn dismount_fiber(
        &mut self,
        fiber: u64,
        event: NonNull<TagDef>,
        on: NonNull<TagDef>,
        call: LeftCall,
    ) -> Option<Outcome> {
        let signal = match self.signal_to_parent(fiber, event) {
            Ok(signal) => signal?,
            Err(code) => return Some(self.end_with(code)),
        };
        let running = self.context().stack;
        Some(match self.detach(fiber, StackKind::Fiber) {
            Ok(to) => {
                // SAFETY: running stacks and their parents are alive, and so are tags.
                unsafe {
                    (*running).handlers = self.objects.event_clauses(on);
                    self.trace_leave_call(to, event.as_ptr());
                    self.ready_to_continue(to);
                    let reference = (*to).reference;
                    self.leave_call(Passage { to, signal, reference }, call)
                }
            }
            Err(code) => self.end_with(code),
        })
    }

    /// The signal of an event in the clauses of the parent of a running fiber, if it has one.
    pub fn signal_to_parent(
        &self,
        fiber: u64,
        event: NonNull<TagDef>,
    ) -> Result<Option<u64>, TrapCode> {
        let fiber = self.running_one(fiber, StackKind::Fiber)?;
        let word = handler_word(event.addr().get(), ClauseKind::Event);
        // SAFETY: a running fiber has a parent, which waits with a list of clauses.
        Ok(unsafe { clauses::find((*(*fiber).parent).handlers, word) })
    }

    /// Switches from the running stack to a stack of a bag. The first `count` values for it are in
    /// the transfer area. The last one is a reference to the stack that is left.
    pub fn switch_call(&mut self, reference: u64, count: usize, call: LeftCall) -> Outcome {
        let kind = StackKind::Bag;
        let ready = self.check_target(reference, kind);
        let ready = ready.and_then(|()| self.make_room_for_left_call());
        match ready.and_then(|()| self.consume(reference, kind)) {
            Ok(target) => {
                let (running, base) = (self.context().stack, self.base_of_running());
                // SAFETY: a valid reference named the base of suspended stacks, or a new one. The
                // base of the running stack is that or one of its parents.
                let (to, left) = unsafe {
                    let left = (*base).reference | kind_bits(kind);
                    (*base).group(running);
                    ((*target).ungroup(), left)
                };
                self.transfer(count, RawVal::from_u64(left));
                if self.options.stress.check_stacks {
                    self.set_tag(count, ValueClass::Ref);
                }
                self.trace_leave_call(to, ptr::null());
                self.context_mut().base = target;
                self.ready_to_continue(to);
                // SAFETY: as above.
                let reference = unsafe { (*to).reference };
                self.leave_call(Passage { to, signal: 0, reference }, call)
            }
            Err(code) => self.end_with(code),
        }
    }

    /// Sends an event, given as a clause's word, from the running stack to a first-class stack. The
    /// values of the event are in the transfer area. A reference to the stack that is left is
    /// added.
    pub fn send_call(&mut self, reference: u64, event: u64, call: LeftCall) -> Outcome {
        let ready = self.check_target(reference, StackKind::FirstClass);
        if let Err(code) = ready.and_then(|()| self.make_room_for_left_call()) {
            return self.end_with(code);
        }
        self.running.event_to_send = Some(EventToSend { reference, word: event });
        self.leave_call(Passage::NONE, call)
    }

    /// Sends the event with which a host call was left. Its frame is on top of the running stack.
    pub(crate) fn send_event(&mut self, event: EventToSend) -> Outcome {
        self.trace_host_return();
        // SAFETY: the running stack's block is alive.
        unsafe { (*self.context().stack).handlers = clauses::no_clauses() };
        self.event_throw(event.reference, event.word, false)
    }

    fn leave_call(&mut self, passage: Passage, call: LeftCall) -> Outcome {
        let context = self.context_mut();
        context.passage = passage;
        context.left_call = call;
        Outcome::SUSPEND
    }

    /// The block of a task or fiber that is the running stack or one of its parents.
    fn running_one(&self, reference: u64, kind: StackKind) -> Result<*mut ControlBlock, TrapCode> {
        let not_running = match kind {
            StackKind::Fiber => TrapCode::FiberNotRunning,
            _ => TrapCode::TaskNotRunning,
        };
        let block = self.stacks.valid_of_kind(reference, kind).map_err(|code| match code {
            TrapCode::FiberMoribund => not_running,
            code => code,
        })?;
        // Without an activation nothing runs.
        let running = self.running_stack();
        let mut stacks = running.into_iter().flat_map(|stack| self.running.with_parents(stack));
        match stacks.any(|stack| ptr::eq(stack, block)) {
            true => Ok(block),
            false => Err(not_running),
        }
    }

    /// The running stack, if there is an activation.
    fn running_stack(&self) -> Option<&ControlBlock> {
        // SAFETY: the running stack is alive.
        (self.running.depth() > 0).then(|| unsafe { &*self.context().stack })
    }

    /// Suspends the running stack and its parents up to a task or fiber. Returns the parent of
    /// that.
    fn detach(&mut self, reference: u64, kind: StackKind) -> Result<*mut ControlBlock, TrapCode> {
        let block = self.running_one(reference, kind)?;
        self.make_room_for_left_call()?;
        // SAFETY: it is the running stack or one of its parents.
        unsafe {
            self.capture_up_to(block);
            Ok(ptr::replace(&raw mut (*block).parent, ptr::null_mut()))
        }
    }

    /// Records in a stack which stacks are suspended together with it.
    ///
    /// # Safety
    ///
    /// It must be the running stack or one of its parents, and have a parent.
    unsafe fn capture_up_to(&mut self, outermost: *mut ControlBlock) {
        let running = self.context().stack;
        // SAFETY: the caller's promise.
        unsafe {
            match running == outermost {
                true => (*running).forget_through(),
                false => {
                    self.context_mut().captures += NEXT_CAPTURE;
                    (*outermost).group(running);
                }
            }
        }
    }

    fn ready_to_continue(&mut self, to: *mut ControlBlock) {
        if self.options.stress.move_stacks {
            // SAFETY: the stack is alive, and about to be continued.
            unsafe { self.move_stack(to) };
        }
    }
}

/// Called when generated code or a host call has left a stack, before its activation is left. Sends
/// the event with which a host call was left, or throws a trap at the ground of the stack. Otherwise
/// the activation is left.
///
/// # Safety
///
/// The stub [`leave`](crate::arch::stubs::leave) must call it, with the context of a store.
pub(crate) unsafe extern "C" fn leaving(context: *mut StoreContext) -> Outcome {
    // SAFETY: neither generated code nor a host function uses the store now.
    let store = unsafe { Store::from_context(context) };
    if store.running.is_poisoned() {
        return Outcome::END;
    }
    let outcome = guarded(|| {
        if let Some(event) = store.running.event_to_send.take() {
            let outcome = store.send_event(event);
            if outcome.ended == CATCH {
                return Some(outcome);
            }
        }
        store.trap_at_ground()
    });
    match outcome {
        Ok(outcome) => outcome.unwrap_or(Outcome::END),
        Err(panic) => store.end_with(Ending::Panic(panic)),
    }
}
