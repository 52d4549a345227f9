//! Operations of first-class stacks: events, functions and routs on top of stacks.

use super::stack::StackKind;
use super::walk::{Mark, MarkKind, OnReturn};
use super::{CursorKind, Machine, StackId, Step, Trap, Value};
use crate::designs::program::{FirstClass, Op, TagId};
use std::rc::Rc;

impl Machine {
    pub(super) fn first_class(&mut self, op: &FirstClass) -> Step {
        match op {
            FirstClass::NewStack { to } => {
                let stack = self.new_stack(StackKind::FirstClass, None);
                self.set(*to, self.once(stack))
            }
            FirstClass::Clone { to, stack } => {
                let given = self.take(*stack);
                let stack = self.check_once(given)?;
                let copy = self.copy(stack)?;
                let copy = self.once(copy);
                self.in_flight.push(copy);
                self.set_all(to, &[given, copy])
            }
            FirstClass::Switch { event, args, stack } => {
                let mut values = self.take_all(args);
                let stack = self.take(*stack);
                let target = self.check_event_target(stack)?;
                values.push(self.suspend_base());
                self.resume(target, None);
                self.send(*event, values)
            }
            FirstClass::SwitchDrop { event, args, stack } => {
                let values = self.take_all(args);
                let stack = self.take(*stack);
                let target = self.check_event_target(stack)?;
                let base = self.base();
                self.free_running(base);
                self.resume(target, None);
                self.send(*event, values)
            }
            FirstClass::SwitchCall { function, event, args, stack } => {
                let mut values = self.take_all(args);
                let stack = self.take(*stack);
                let target = self.check_target(stack)?;
                values.push(self.suspend_base());
                self.resume(target, None);
                let missing = "function returned to a suspended stack";
                self.enter(*function, values, OnReturn::Event(*event, missing))
            }
            FirstClass::Extend { to, rout, event, args, stack } => {
                let values = self.take_all(args);
                let stack = self.take(*stack);
                let target = self.check_target(stack)?;
                self.extend(target, *rout, *event, values)?;
                self.set(*to, self.once(target))
            }
            FirstClass::Start => unreachable!("routs are begun by `stack.extend`"),
            FirstClass::CallStack { tag, args, .. } => {
                let args = self.take_all(args);
                self.call_stack(*tag, args)
            }
            FirstClass::Redirect { .. } | FirstClass::RedirectTo { .. } => self.open_marked(),
            FirstClass::Answer { .. } => self.open_marked(),
        }
    }

    fn open_marked(&mut self) -> Step {
        let op = self.frame().op.clone().expect("an operation that runs");
        let Op::FirstClass(first_class) = &*op else { unreachable!("marks are first-class") };
        let (body, kind) = match first_class {
            FirstClass::Redirect { local, body } => (*body, MarkKind::Redirect(*local)),
            FirstClass::RedirectTo { body, .. } => (*body, MarkKind::RedirectTo(op.clone())),
            FirstClass::Answer { body, .. } => (*body, MarkKind::Answer(op.clone())),
            other => unreachable!("leaves no mark: {other:?}"),
        };
        self.open(body, CursorKind::Mark(Mark { serial: self.steps, kind }));
        Ok(())
    }

    /// A blank stack accepts no event, so sending one traps.
    fn check_event_target(&mut self, reference: Value) -> Result<StackId, Trap> {
        let target = self.check_target(reference)?;
        let innermost = self.stacks[target].innermost;
        if self.stacks[innermost].frames.is_empty() {
            return Err(Trap("event reached the ground of a stack"));
        }
        Ok(target)
    }

    /// Throws an event as an exception in the running frame.
    pub(super) fn send(&mut self, event: TagId, values: Vec<Value>) -> Step {
        if self.stacks[self.running].frames.is_empty() {
            return Err(Trap("event reached the ground of a stack"));
        }
        let exception = self.new_exception(event, values);
        self.throw(exception)
    }

    /// Adds the frame of a rout to a stack that stays suspended. The rout's openings take effect,
    /// and it waits in its `stack.start`.
    fn extend(
        &mut self,
        target: StackId,
        rout: usize,
        event: Option<TagId>,
        values: Vec<Value>,
    ) -> Step {
        let extender = self.running;
        self.resume(target, None);
        self.enter(rout, values, OnReturn::Event(event, "rout returned"))?;
        while !matches!(self.next_opening().as_deref(), Some(Op::FirstClass(FirstClass::Start))) {
            let op = self.frame().op.clone().expect("just set");
            match &*op {
                Op::FirstClass(_) => self.open_marked()?,
                _ => self.basic(&op)?,
            }
        }
        self.suspend(target);
        self.running = extender;
        Ok(())
    }

    /// Enters the next opening of a rout, or its `stack.start`.
    fn next_opening(&mut self) -> Option<Rc<Op>> {
        self.steps += 1;
        let cursor = self.frame().cursors.last_mut().expect("a block");
        let (block, next) = (cursor.block, cursor.next);
        cursor.next += 1;
        let op = self.program.blocks[block].ops.get(next).cloned();
        self.frame().op = op.clone();
        op
    }

    pub(super) fn drop_stack(&mut self, reference: Value) {
        if let Some(stack) = self.valid(reference) {
            self.free(stack);
        }
    }
}
