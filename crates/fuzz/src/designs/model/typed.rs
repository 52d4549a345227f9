//! Operations of typed continuations.

use super::stack::{Fresh, StackKind};
use super::{CursorKind, Machine, StackId, Step, Trap, Value};
use crate::designs::program::{Handler, Op, TagId, Typed, With};

/// The sort of handler to search for.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Sought {
    /// `(on $tag $label)`
    Label,
    /// `(on $tag switch)`
    Switch,
}

impl Machine {
    pub(super) fn typed(&mut self, op: &Typed) -> Step {
        match op {
            Typed::New { to, function, .. } => {
                let stack =
                    self.new_stack(StackKind::Continuation, Some(Fresh::Function(*function)));
                self.set(*to, self.once(stack))
            }
            Typed::Bind { to, args, cont, .. } => {
                let args = self.take_all(args);
                let stack = self.check_cont(self.peek(*cont))?;
                self.stacks[stack].bound.extend(args);
                self.stacks[stack].epoch += 1;
                self.set(*to, self.once(stack))
            }
            Typed::Clone { to, cont, .. } => {
                let stack = self.check_cont(self.peek(*cont))?;
                let copy = self.copy(stack)?;
                self.set(*to, self.once(copy))
            }
            Typed::Suspend { tag, args, .. } => {
                let args = self.take_all(args);
                self.suspend_to_handler(*tag, args)
            }
            Typed::Resume { with, cont, .. } => self.resume_cont(with, *cont),
            Typed::Switch { tag, args, cont, .. } => {
                let args = self.take_all(args);
                self.switch_cont(*tag, args, self.peek(*cont))
            }
        }
    }

    fn check_cont(&self, reference: Value) -> Result<StackId, Trap> {
        if reference.is_null() {
            return Err(Trap("null continuation reference"));
        }
        self.valid(reference).ok_or(Trap("continuation already consumed"))
    }

    /// The outermost stack to suspend for the nearest handler, and the index of the handler in its
    /// parent's operation.
    pub fn find_handler(&self, tag: TagId, sought: Sought) -> Option<(StackId, usize)> {
        self.chain().into_iter().find_map(|stack| {
            let parent = if self.is_base(stack) { None } else { self.stacks[stack].parent }?;
            let waits_in = self.stacks[parent].frames.last()?.op.as_deref();
            let Some(Op::Typed(Typed::Resume { handlers, .. })) = waits_in else { return None };
            let number = handlers.iter().position(|handler| match handler {
                Handler::Label(clause) => sought == Sought::Label && clause.tag == tag,
                Handler::Switch(handled) => sought == Sought::Switch && *handled == tag,
            })?;
            Some((stack, number))
        })
    }

    /// Passes the payload and the suspended continuation to the handler's label.
    fn suspend_to_handler(&mut self, tag: TagId, mut values: Vec<Value>) -> Step {
        let found = self.find_handler(tag, Sought::Label);
        let (outermost, number) = found.ok_or(Trap("unhandled tag"))?;
        let parent = self.suspend(outermost).expect("handlers are in parents");
        values.push(self.once(outermost));
        self.running = parent;
        let op = self.frame().op.clone();
        let Some(Op::Typed(Typed::Resume { handlers, .. })) = op.as_deref() else {
            unreachable!("handlers are in `resume`")
        };
        let Handler::Label(clause) = &handlers[number] else { unreachable!("found as a label") };
        self.set_all(&clause.to, &values)?;
        self.open(clause.handler, CursorKind::Plain);
        Ok(())
    }

    fn resume_cont(&mut self, with: &With, cont: usize) -> Step {
        let values = match with {
            With::Values(args) | With::Throw(_, args) => self.take_all(args),
            With::ThrowRef(exn) => vec![self.peek(*exn)],
        };
        if let With::ThrowRef(_) = with
            && values[0].is_null()
        {
            return Err(Trap("null exception reference"));
        }
        let stack = self.check_cont(self.peek(cont))?;
        let parent = self.running;
        self.resume(stack, Some(parent));
        if !matches!(with, With::Values(_)) {
            self.stacks[stack].bound.clear();
        }
        match with {
            With::Values(_) => self.deliver(stack, values),
            With::Throw(tag, _) => {
                let exception = self.new_exception(*tag, values);
                self.throw(exception)
            }
            With::ThrowRef(_) => self.throw_ref(values[0]),
        }
    }

    /// The suspended continuation is the last value. The handler's stack becomes the parent of the
    /// target, and does not run.
    fn switch_cont(&mut self, tag: TagId, mut values: Vec<Value>, cont: Value) -> Step {
        let target = self.check_cont(cont)?;
        let found = self.find_handler(tag, Sought::Switch);
        let (outermost, _) = found.ok_or(Trap("unhandled tag"))?;
        let parent = self.suspend(outermost);
        values.push(self.once(outermost));
        self.resume(target, parent);
        self.deliver(target, values)
    }
}
