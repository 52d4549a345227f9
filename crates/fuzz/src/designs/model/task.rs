//! Operations of tasks.

use super::stack::{Fresh, StackKind};
use super::{Machine, StackId, Step, Trap, Value};
use crate::designs::program::Task;

impl Machine {
    pub(super) fn task(&mut self, op: &Task) -> Step {
        match op {
            Task::New { to, function, args, .. } => {
                let args = self.take_all(args);
                let task = self.new_stack(StackKind::Task, Some(Fresh::Task(*function, args)));
                self.set(*to, Value::Named(task))
            }
            Task::Resume { task, args, .. } => {
                let task = self.peek(*task);
                let args = self.take_all(args);
                let task = self.suspended_task(task)?;
                let parent = self.running;
                self.resume(task, Some(parent));
                self.deliver(task, args)
            }
            Task::Suspend { task, args, .. } | Task::Retire { task, args, .. } => {
                let task = self.peek(*task);
                let args = self.take_all(args);
                let task = self.running_task(task)?;
                let parent = match op {
                    Task::Suspend { .. } => self.suspend(task),
                    _ => self.free_running(task),
                };
                self.running = parent.expect("a task that runs was resumed");
                self.complete(args)
            }
            Task::SwitchTo { from, target, args, .. } => {
                let (from, target) = (self.peek(*from), self.peek(*target));
                let args = self.take_all(args);
                let from = self.running_task(from)?;
                let target = self.suspended_task(target)?;
                let parent = self.suspend(from);
                self.resume(target, parent);
                self.deliver(target, args)
            }
            Task::Release { task, .. } => {
                let task = self.suspended_task(self.peek(*task))?;
                self.free(task);
                Ok(())
            }
        }
    }

    fn live_task(&mut self, reference: Value) -> Result<StackId, Trap> {
        match reference {
            Value::Named(task) if self.stacks[task].dead => Err(Trap("task is moribund")),
            Value::Named(task) => {
                self.unspecified |= self.may_be_collected(task);
                Ok(task)
            }
            _ => Err(Trap("null task reference")),
        }
    }

    fn suspended_task(&mut self, reference: Value) -> Result<StackId, Trap> {
        let task = self.live_task(reference)?;
        if self.stacks[task].suspended { Ok(task) } else { Err(Trap("task is not suspended")) }
    }

    /// The task of a reference, which must be the running one or an ancestor.
    fn running_task(&mut self, reference: Value) -> Result<StackId, Trap> {
        let task = self.live_task(reference)?;
        if self.chain().contains(&task) { Ok(task) } else { Err(Trap("task is not running")) }
    }
}
