//! Judges by the state of the model whether an operation works: whether it does something and, as
//! far as can be told, does not trap.

use super::bag::can_switch;
use super::task::{is_running, is_suspended};
use crate::designs::model::{Machine, Sought, Value};
use crate::designs::program::{
    Bag, BlockId, Fiber, FirstClass, Handler, Op, TABLE_LENGTH, Task, Ty, Typed, With,
};

impl Machine {
    pub fn works(&self, op: &Op) -> bool {
        match op {
            Op::Typed(op) => self.typed_works(op),
            Op::Bag(op) => self.bag_works(op),
            Op::Task(op) => self.task_works(op),
            Op::Fiber(op) => self.fiber_works(op),
            Op::FirstClass(op) => self.first_class_works(op),
            Op::GlobalGet { to, global } => {
                let value = self.globals.get(*global).copied().unwrap_or_default();
                !value.is_null() && self.is_free(&[*to])
            }
            Op::GlobalSet { global, from } => {
                let value = self.globals.get(*global).copied().unwrap_or_default();
                self.stores(self.program.globals[*global], *from, value)
            }
            Op::TableSet { table, index, from } => {
                let value = self.element(*table, *index);
                *index == TABLE_LENGTH || self.stores(self.program.tables[*table], *from, value)
            }
            Op::Unwrap { to, object } => {
                self.wraps(self.peek(*object)) == Some(self.type_of(*to)) && self.is_free(&[*to])
            }
            Op::Refill { object, .. } | Op::IsCleared { object, .. } => {
                self.wraps(self.peek(*object)) == Some(Ty::Linear)
            }
            Op::HostFail | Op::Unreachable => false,
            Op::Throw { tag, .. } => self.caught_here().contains(tag),
            Op::ThrowRef { exn } => !self.peek(*exn).is_null(),
            Op::HostThrow { .. } => self.caught_here().contains(&0),
            Op::Enter { .. } => self.nesting() < 4,
            Op::Call { .. } | Op::ReturnCall { .. } => self.depth_of_running() < 12,
            Op::Try { body, catches } => {
                catches.iter().all(|catch| self.is_free(&catch.to)) && self.works_or_notes(*body)
            }
            _ => true,
        }
    }

    /// Whether storing a local in a variable keeps a linear reference that is there.
    fn stores(&self, ty: Ty, from: usize, value: Value) -> bool {
        !self.peek(from).is_null() && (ty != Ty::Linear || value.is_null())
    }

    fn depth_of_running(&self) -> usize {
        self.stacks[self.running].frames.len()
    }

    /// Whether a block works that may begin with notes.
    fn works_or_notes(&self, block: BlockId) -> bool {
        match self.program.blocks[block].ops.first().map(|op| &**op) {
            Some(Op::Const { .. }) => self.depth_of_running() < 12,
            Some(op) => self.works(op),
            None => false,
        }
    }

    /// Whether the linear locals among these are empty.
    fn is_free(&self, locals: &[usize]) -> bool {
        locals.iter().all(|&local| self.type_of(local) != Ty::Linear || self.peek(local).is_null())
    }

    fn typed_works(&self, op: &Typed) -> bool {
        match op {
            // Does not overwrite a usable continuation.
            Typed::New { to, .. } => self.valid(self.peek(*to)).is_none(),
            Typed::Bind { cont, .. } => self.valid(self.peek(*cont)).is_some(),
            Typed::Clone { to, cont, .. } => self.copies(*cont, *to),
            Typed::Suspend { tag, .. } => self.find_handler(*tag, Sought::Label).is_some(),
            Typed::Resume { with, cont, handlers, .. } => {
                let with = match with {
                    With::ThrowRef(exn) => !self.peek(*exn).is_null(),
                    _ => true,
                };
                let free = handlers.iter().all(|handler| match handler {
                    Handler::Label(clause) => self.is_free(&clause.to),
                    Handler::Switch(_) => true,
                });
                with && free && self.valid(self.peek(*cont)).is_some()
            }
            Typed::Switch { tag, cont, .. } => {
                self.valid(self.peek(*cont)).is_some()
                    && self.find_handler(*tag, Sought::Switch).is_some()
            }
        }
    }

    /// Whether the stack in a local can be copied to another local, without overwriting a usable
    /// one.
    fn copies(&self, from: usize, to: usize) -> bool {
        let copied = self.valid(self.peek(from)).is_some_and(|stack| self.can_copy(stack));
        let free = match self.type_of(to) {
            Ty::Linear => self.peek(to).is_null(),
            _ => self.valid(self.peek(to)).is_none(),
        };
        copied && free
    }

    fn bag_works(&self, op: &Bag) -> bool {
        match op {
            Bag::New { to, .. } => self.valid(self.peek(*to)).is_none(),
            Bag::Bind { stack, .. } => self.valid(self.peek(*stack)).is_some(),
            Bag::Clone { to, stack, .. } => self.copies(*stack, *to),
            Bag::Switch { stack, .. }
            | Bag::Retire { stack, .. }
            | Bag::ReturnSwitch { stack, .. } => can_switch(self, self.peek(*stack)),
            Bag::Throw { tag, stack, .. } | Bag::ReturnThrow { tag, stack, .. } => {
                let target = self.valid(self.peek(*stack)).filter(|&stack| self.can_go_to(stack));
                target.is_some_and(|target| self.catches_at(target).contains(tag))
            }
        }
    }

    fn task_works(&self, op: &Task) -> bool {
        match op {
            Task::New { to, .. } => !is_suspended(self, self.peek(*to)),
            Task::Resume { task, .. } | Task::Release { task, .. } => {
                is_suspended(self, self.peek(*task))
            }
            Task::Suspend { task, .. } | Task::Retire { task, .. } => {
                is_running(self, self.peek(*task))
            }
            Task::SwitchTo { from, target, .. } => {
                is_running(self, self.peek(*from)) && is_suspended(self, self.peek(*target))
            }
        }
    }

    fn fiber_works(&self, op: &Fiber) -> bool {
        let accepts = |local: usize, event: &usize| match self.peek(local) {
            Value::Named(fiber) if self.stacks[fiber].suspended => {
                self.accepts(self.stacks[fiber].innermost).contains(event)
            }
            _ => false,
        };
        let runs = |local: usize| is_running(self, self.peek(local));
        let parent_accepts = |local: usize, event: &usize| match self.peek(local) {
            Value::Named(fiber) if runs(local) => {
                let parent = self.stacks[fiber].parent;
                parent.is_some_and(|parent| self.accepts(parent).contains(event))
            }
            _ => false,
        };
        match op {
            Fiber::New { to, .. } => !is_suspended(self, self.peek(*to)),
            Fiber::Mount { event, fiber, .. } => accepts(*fiber, event),
            Fiber::Switch { event, from, fiber, .. }
            | Fiber::SwitchRelease { event, from, fiber, .. } => {
                runs(*from) && accepts(*fiber, event)
            }
            Fiber::Dismount { event, from, .. } | Fiber::DismountRelease { event, from, .. } => {
                parent_accepts(*from, event)
            }
            Fiber::Release { fiber } => is_suspended(self, self.peek(*fiber)),
            Fiber::Start { from, .. } => from.is_none_or(runs),
        }
    }

    fn first_class_works(&self, op: &FirstClass) -> bool {
        let target =
            |local: usize| self.valid(self.peek(local)).filter(|&stack| self.can_go_to(stack));
        let catches = |local: usize, event: usize| {
            target(local).is_some_and(|target| self.catches_at(target).contains(&event))
        };
        match op {
            FirstClass::NewStack { to } => self.peek(*to).is_null(),
            FirstClass::Clone { to: [_, copy], stack } => self.copies(*stack, *copy),
            FirstClass::Switch { event, stack, .. }
            | FirstClass::SwitchDrop { event, stack, .. } => catches(*stack, *event),
            FirstClass::SwitchCall { event, stack, .. } => match event {
                Some(event) => catches(*stack, *event),
                None => target(*stack).is_some(),
            },
            FirstClass::Extend { to, stack, args, .. } => {
                target(*stack).is_some()
                    && !args.contains(stack)
                    && (to == stack || args.contains(to) || self.peek(*to).is_null())
            }
            FirstClass::Redirect { local, .. } | FirstClass::RedirectTo { ask_to: local, .. } => {
                target(*local).is_some() && self.depth_of_running() < 12
            }
            FirstClass::Answer { .. } => self.depth_of_running() < 12,
            FirstClass::CallStack { tag, .. } => self.answered().contains(tag),
            FirstClass::Start => false,
        }
    }
}
