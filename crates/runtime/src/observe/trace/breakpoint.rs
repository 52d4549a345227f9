//! Listing all stacks at an event of the trace.
//!
//! A switch is recorded after the links between the stacks have changed, but before the new stack
//! runs. A return or an exception is recorded before the links change. The list shows the state
//! after the event, so it is made as if the new stack ran already, or without the ending stacks.

use super::Recorder;
use super::event::{EventKind, NONE, RawEvent};
use crate::embedder::Foreign;
use crate::report::stack_list::StackList;
use crate::report::trap::Trap;
use crate::stack::TopFrame;
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use std::ptr;

/// Called at an event, with the stacks.
pub type AtEvent = Foreign<Box<dyn FnOnce(anyhow::Result<StackList>) + Send + Sync>>;

pub(super) struct Breakpoint {
    /// How many events come before it.
    pub left: u64,
    pub then: AtEvent,
}

impl Store {
    /// Calls a function with the stacks at an event, after this many others, and ends the stream.
    pub fn at_event(&mut self, after: u64, then: AtEvent) {
        if let Some(recorder) = self.observers.recorder.get_mut::<Recorder>() {
            recorder.breakpoint = Some(Breakpoint { left: after, then });
        }
    }

    /// Counts a recorded event, and stops if it is the one. The running stack may have faulted.
    pub(super) fn count_down(
        &mut self,
        recorder: &mut Recorder,
        raw: &RawEvent,
        fault: Option<&TopFrame>,
    ) {
        // Notes are recorded in the middle of the next event, when the records disagree.
        let is_noted = matches!(
            raw.kind,
            EventKind::Drop | EventKind::Park | EventKind::Unpark | EventKind::Grow
        );
        match &mut recorder.breakpoint {
            Some(Breakpoint { left: 0, .. }) if is_noted => return,
            Some(Breakpoint { left: 0, .. }) => {}
            Some(breakpoint) => return breakpoint.left -= 1,
            None => return,
        }
        let breakpoint = recorder.breakpoint.take().expect("it was just there");
        let stacks = self.stacks_after(recorder, raw, fault);
        recorder.end_stream(self);
        let told = breakpoint.then.call_once(|then| then(stacks));
        self.embedder.unless_panic(told);
    }

    fn stacks_after(
        &mut self,
        recorder: &Recorder,
        raw: &RawEvent,
        fault: Option<&TopFrame>,
    ) -> anyhow::Result<StackList> {
        let to = match raw.kind {
            EventKind::Resume
            | EventKind::Suspend
            | EventKind::Switch
            | EventKind::Return
            | EventKind::Retire
            | EventKind::Throw => recorder.block_of(self, raw.other),
            _ => None,
        };
        let Some(to) = to else { return Ok(self.list_stacks_left(usize::MAX, fault)?) };
        let context = self.context_mut();
        let (stack, base) = (context.stack, context.base);
        // SAFETY: the stacks are alive.
        let has_ended = unsafe { (*stack).purpose } == ropewalk_abi::stack::Purpose::Free;
        if matches!(raw.kind, EventKind::Return | EventKind::Retire | EventKind::Throw)
            && !has_ended
        {
            let mut stacks = self.list_stacks()?;
            // SAFETY: running stacks and their parents are alive.
            let chain = self.running.with_parents(unsafe { &*stack });
            let ended = chain.take_while(|stack| !ptr::eq(*stack, to));
            let ended: Vec<_> = ended.filter_map(|stack| self.stacks.number_of(stack)).collect();
            stacks.end(ended, self.stacks.number_of(to));
            return Ok(stacks);
        }
        // SAFETY: the stack is about to run with its parents.
        unsafe { self.unpark_running(to) }.map_err(Trap::from_code)?;
        // SAFETY: the stack is about to run, and its parents are alive.
        let new_base = self.running.with_parents(unsafe { &*to }).last();
        let new_base = new_base.map_or(to, |base| ptr::from_ref(base).cast_mut());
        let context = self.context_mut();
        (context.stack, context.base) = (to, new_base);
        let stacks = self.list_stacks();
        let context = self.context_mut();
        (context.stack, context.base) = (stack, base);
        stacks
    }
}

impl Recorder {
    /// The block of a live stack.
    fn block_of(&self, store: &Store, id: u32) -> Option<*mut ControlBlock> {
        if id == NONE {
            return None;
        }
        let number = self.ids.iter().position(|other| *other == Some(id))?;
        Some(store.stacks.block(number))
    }
}
