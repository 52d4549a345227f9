//! Runs operations, one after another.

use super::stack::StackKind;
use super::walk::OnReturn;
use super::{Cursor, CursorKind, Machine, Step, Trap, Value};
use crate::designs::program::{BlockId, Op, Ty};
use std::rc::Rc;

/// Writes a program while it runs. It is asked wherever code ends that is not closed.
pub trait Author {
    /// Adds an operation to the block, or closes it.
    fn write(&mut self, machine: &mut Machine, block: BlockId);

    /// The next number of a script that is written so far.
    fn choose(&mut self, machine: &mut Machine) -> i64;
}

impl Machine {
    /// Runs one operation, or leaves a block or function that has ended.
    pub(super) fn step(&mut self, author: &mut Option<&mut dyn Author>) -> Step {
        self.steps += 1;
        self.in_flight.clear();
        let Some(cursor) = self.frame().cursors.last_mut() else { return self.leave_frame() };
        let (block, next) = (cursor.block, cursor.next);
        let code = &self.program.blocks[block];
        if let Some(op) = code.ops.get(next) {
            let op = op.clone();
            self.frame().cursors.last_mut().expect("just seen").next += 1;
            self.frame().op = Some(op.clone());
            if let Op::Next { to } = *op {
                let number = self.next(author);
                return self.set(to, Value::from_number(number));
            }
            return self.execute(&op);
        }
        match author {
            Some(author) if !code.closed => {
                author.write(self, block);
                Ok(())
            }
            _ => self.leave_block(),
        }
    }

    fn next(&mut self, author: &mut Option<&mut dyn Author>) -> i64 {
        if let Some(author) = author {
            let number = author.choose(self);
            self.program.script.push(number);
        }
        self.read += 1;
        self.program.script.get(self.read - 1).copied().unwrap_or_default()
    }

    fn leave_block(&mut self) -> Step {
        let cursor = self.frame().cursors.pop().expect("a block to leave");
        if let CursorKind::Loop(counter) = cursor.kind {
            let count = self.peek(counter).number().wrapping_sub(1);
            self.set(counter, Value::from_number(count))?;
            self.burn()?;
            if count > 0 {
                self.open(cursor.block, CursorKind::Loop(counter));
            }
        }
        Ok(())
    }

    /// Enters a block.
    pub(super) fn open(&mut self, block: BlockId, kind: CursorKind) {
        self.frame().cursors.push(Cursor { block, next: 0, kind });
    }

    pub(super) fn leave_frame(&mut self) -> Step {
        let part = self.frame().then.part_results().map(<[usize]>::to_vec);
        let whole = part.is_none();
        let function = self.function();
        let results = part.unwrap_or_else(|| self.program.functions[function].results.clone());
        let values = self.take_all(&results);
        if whole {
            self.drop_linear_locals();
        }
        let frame = self.stacks[self.running].frames.pop().expect("a frame to leave");
        self.returned(frame.then, values)
    }

    /// Frees the stacks in the locals of a function that returns.
    pub(super) fn drop_linear_locals(&mut self) {
        let types = self.program.functions[self.function()].locals.clone();
        for (local, ty) in types.into_iter().enumerate() {
            if ty == Ty::Linear {
                let stack = self.take(local);
                self.drop_stack(stack);
            }
        }
    }

    fn returned(&mut self, then: OnReturn, values: Vec<Value>) -> Step {
        match then {
            OnReturn::Call => self.complete(values),
            OnReturn::Bottom => match self.stacks[self.running].kind {
                StackKind::Root(_) => self.root_returned(&values),
                StackKind::Continuation | StackKind::Task => self.continue_parent(values),
                StackKind::Coroutine => Err(Trap("coroutine function returned")),
                StackKind::Fiber(returns) => self.fiber_returned(returns, values),
                StackKind::FirstClass => unreachable!("functions lie on top of first-class stacks"),
            },
            OnReturn::Event(event, missing) => match event {
                Some(event) => self.send(event, values),
                None => Err(Trap(missing)),
            },
            OnReturn::Part(part) => self.part_returned(*part, values),
        }
    }

    fn continue_parent(&mut self, values: Vec<Value>) -> Step {
        let parent = self.stacks[self.running].parent.expect("only bases have no parent");
        self.end(self.running);
        self.running = parent;
        self.complete(values)
    }

    /// Delivers results to the current operation of the running frame.
    pub(super) fn complete(&mut self, values: Vec<Value>) -> Step {
        if let Some(function) = self.frame().replaced_by {
            let frame = self.stacks[self.running].frames.pop().expect("a frame that was left");
            return self.enter(function, values, frame.then);
        }
        let op = self.frame().op.clone().expect("an operation that waits");
        self.set_all(op.results(), &values)
    }

    fn execute(&mut self, op: &Rc<Op>) -> Step {
        if op.burns_fuel() {
            self.burn()?;
        }
        match &**op {
            Op::Typed(typed) => self.typed(typed),
            Op::Bag(bag) => self.bag(bag),
            Op::Task(task) => self.task(task),
            Op::Fiber(fiber) => self.fiber(fiber),
            Op::FirstClass(first_class) => self.first_class(first_class),
            Op::Log { .. } | Op::Note { .. } => self.host(op),
            Op::Enter { .. } | Op::HostThrow { .. } | Op::HostFail => self.host(op),
            _ => self.basic(op),
        }
    }
}
