//! All stacks at an event.
//!
//! A switch is recorded when the links between the stacks have changed, but the one that is left
//! still runs; a return and an exception when they have not. The list is to be that after the
//! event, so it is made as if the other one ran already, or without what ends.

use super::Recorder;
use super::event::{Kind, NONE, Raw};
use crate::embedder::Foreign;
use crate::report::stack_list::StackList;
use crate::report::trap::Trap;
use crate::stack::TopFrame;
use crate::store::Store;
use ropewalk_abi::ControlBlock;
use std::fmt;
use std::ptr;

/// What is called at an event, with the stacks.
pub type AtEvent = Foreign<Box<dyn FnOnce(anyhow::Result<StackList>) + Send + Sync>>;

/// Where to stop.
pub(super) struct Stop {
    /// How many events come before.
    pub left: u64,
    pub then: AtEvent,
}

impl fmt::Debug for Stop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stop").field("left", &self.left).finish_non_exhaustive()
    }
}

impl Store {
    /// Has a function be called at an event, after so many others from now on. What is streamed
    /// has its end then.
    pub fn at_event(&mut self, after: u64, then: AtEvent) {
        if let Some(recorder) = self.observers.recorder.get_mut::<Recorder>() {
            recorder.stop = Some(Stop { left: after, then });
        }
    }

    /// Counts an event that was just recorded, and stops if it is the one. The running stack may
    /// have been left at a fault.
    pub(super) fn count_down(
        &mut self,
        recorder: &mut Recorder,
        raw: &Raw,
        fault: Option<&TopFrame>,
    ) {
        // What the engine did by itself is told of in the middle of something else, which is
        // the next event; then the records agree.
        let is_noted = matches!(raw.kind, Kind::Drop | Kind::Park | Kind::Unpark | Kind::Grow);
        match &mut recorder.stop {
            Some(Stop { left: 0, .. }) if is_noted => return,
            Some(Stop { left: 0, .. }) => {}
            Some(stop) => return stop.left -= 1,
            None => return,
        }
        let stop = recorder.stop.take().expect("it was just there");
        let stacks = self.stacks_after(recorder, raw, fault);
        recorder.end_stream(self);
        let told = stop.then.call_once(|then| then(stacks));
        self.embedder.unless_panic(told);
    }

    /// The stacks after an event that was just recorded.
    fn stacks_after(
        &mut self,
        recorder: &Recorder,
        raw: &Raw,
        fault: Option<&TopFrame>,
    ) -> anyhow::Result<StackList> {
        let to = match raw.kind {
            Kind::Resume | Kind::Suspend | Kind::Switch | Kind::Return | Kind::Throw => {
                recorder.block_of(self, raw.other)
            }
            _ => None,
        };
        let Some(to) = to else { return Ok(self.list_stacks_left(usize::MAX, fault)?) };
        let context = self.context_mut();
        let (stack, base) = (context.stack, context.base);
        // SAFETY: the stacks are alive.
        let has_ended = unsafe { (*stack).purpose } == ropewalk_abi::stack::Purpose::Free;
        if matches!(raw.kind, Kind::Return | Kind::Throw) && !has_ended {
            let mut stacks = self.list_stacks()?;
            // SAFETY: running stacks and their parents are alive.
            let chain = self.with_parents(unsafe { &*stack });
            let ended = chain.take_while(|stack| !ptr::eq(*stack, to));
            let ended: Vec<_> = ended.filter_map(|stack| self.stacks.number_of(stack)).collect();
            stacks.end(ended, self.stacks.number_of(to));
            return Ok(stacks);
        }
        // SAFETY: it is about to run with the parents that it has.
        unsafe { self.unpark_running(to) }.map_err(Trap::from_code)?;
        // SAFETY: the stack is about to run, and its parents are alive.
        let new_base = self.with_parents(unsafe { &*to }).last();
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
    /// The block of a stack that is alive.
    fn block_of(&self, store: &Store, id: u32) -> Option<*mut ControlBlock> {
        if id == NONE {
            return None;
        }
        let number = self.ids.iter().position(|other| *other == Some(id))?;
        Some(store.stacks.block(number))
    }
}
