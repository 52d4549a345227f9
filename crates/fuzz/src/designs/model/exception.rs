//! Exceptions, including those that are events.
//!
//! An exception looks for a catch in the blocks of the running frame, then in the frame below, then
//! in the parent, and so on up to the base. A redirection on the way sends it to another stack.

use super::stack::StackKind;
use super::walk::{After, FunctionPart, MarkKind, OnReturn};
use super::{CursorKind, Machine, Step, Trap, Value};
use crate::designs::program::{Catch, Op, Ty};

impl Machine {
    /// Throws an exception in the running frame, or at the bottom of a stack without frames.
    pub(super) fn throw(&mut self, exception: usize) -> Step {
        loop {
            let Some(frame) = self.stacks[self.running].frames.last_mut() else {
                match self.leave_stack(exception) {
                    Some(ended) => return ended,
                    None => continue,
                }
            };
            let Some(cursor) = frame.cursors.pop() else {
                let frame = self.stacks[self.running].frames.pop().expect("just seen");
                match frame.then {
                    OnReturn::Part(part) => match *part {
                        FunctionPart::AskForException { .. } => {}
                        FunctionPart::Answer { walk, .. }
                        | FunctionPart::Ask { walk, .. }
                        | FunctionPart::Give { walk, .. } => {
                            return self.end_walk(walk, After::Throw(exception));
                        }
                    },
                    OnReturn::Call | OnReturn::Event(..) | OnReturn::Bottom => {
                        self.drop_locals_of(frame.function, frame.locals);
                    }
                }
                continue;
            };
            match cursor.kind {
                CursorKind::Plain | CursorKind::Loop(_) => {}
                CursorKind::Try(op) => {
                    if let Some(catch) = self.catch_for(&op, exception) {
                        return self.land(&catch, exception);
                    }
                }
                CursorKind::Mark(mark) => match mark.kind {
                    MarkKind::Answer(_) => {}
                    MarkKind::Redirect(local) => {
                        let target = self.take(local);
                        if !target.is_null() {
                            return self.redirect(exception, target);
                        }
                    }
                    MarkKind::RedirectTo(op) => return self.ask_for_exception(&op, exception),
                },
            }
        }
    }

    fn catch_for(&self, op: &Op, exception: usize) -> Option<Catch> {
        let Op::Try { catches, .. } = op else { unreachable!("a try is a try") };
        let tag = self.exceptions[exception].tag;
        catches.iter().find(|catch| catch.tag.is_none_or(|caught| caught == tag)).cloned()
    }

    /// Passes the values to a catch. A stack among them gets a new reference, which makes the one
    /// in the exception stale.
    fn land(&mut self, catch: &Catch, exception: usize) -> Step {
        let mut values = Vec::new();
        if let Some(tag) = catch.tag {
            let types = self.program.tags[tag].signature.params.clone();
            values = self.exceptions[exception].values.clone();
            for (value, ty) in values.iter_mut().zip(types) {
                if ty == Ty::Linear
                    && let Some(stack) = self.valid(*value)
                {
                    self.stacks[stack].epoch += 1;
                    *value = self.once(stack);
                    self.in_flight.push(*value);
                }
            }
        }
        if catch.with_ref {
            values.push(Value::Exception(exception));
        }
        self.set_all(&catch.to, &values)?;
        self.open(catch.handler, CursorKind::Plain);
        Ok(())
    }

    /// The exception has left all frames of the running stack. Continues in the parent, or ends the
    /// activation.
    fn leave_stack(&mut self, exception: usize) -> Option<Step> {
        match self.stacks[self.running].kind {
            StackKind::Root(_) => Some(self.root_threw(exception)),
            StackKind::Coroutine => Some(Err(Trap("exception escaped a coroutine"))),
            StackKind::FirstClass => Some(Err(Trap("uncaught exception on a stack"))),
            StackKind::Continuation | StackKind::Task | StackKind::Fiber(_) => {
                let parent = self.stacks[self.running].parent.expect("only bases have no parent");
                self.end(self.running);
                self.running = parent;
                None
            }
        }
    }

    /// Frees the running stacks, and throws the exception where another stack waits.
    pub(super) fn redirect(&mut self, exception: usize, target: Value) -> Step {
        let target = self.check_target(target)?;
        let base = self.base();
        self.free_running(base);
        self.resume(target, None);
        self.throw(exception)
    }
}
