//! Operations of the bag of stacks.

use super::stack::{Fresh, StackKind};
use super::{Machine, StackId, Step, Trap, Value};
use crate::designs::program::{Bag, FunctionId, TagId};

impl Machine {
    pub(super) fn bag(&mut self, op: &Bag) -> Step {
        match op {
            Bag::New { to, function, .. } => {
                let stack = self.new_stack(StackKind::Coroutine, Some(Fresh::Function(*function)));
                self.set(*to, self.once(stack))
            }
            Bag::Bind { to, args, stack, .. } => {
                let args = self.take_all(args);
                let stack = self.check_once(self.peek(*stack))?;
                self.stacks[stack].bound.extend(args);
                self.stacks[stack].epoch += 1;
                self.set(*to, self.once(stack))
            }
            Bag::Clone { to, stack, .. } => {
                let stack = self.check_once(self.peek(*stack))?;
                let copy = self.copy(stack)?;
                self.set(*to, self.once(copy))
            }
            Bag::Switch { args, stack, .. } => {
                let args = self.take_all(args);
                self.switch_stack(args, self.peek(*stack), None)
            }
            Bag::ReturnSwitch { args, stack, function, .. } => {
                let args = self.take_all(args);
                self.switch_stack(args, self.peek(*stack), Some(*function))
            }
            Bag::Retire { args, stack, .. } => {
                let mut args = self.take_all(args);
                let target = self.check_target(self.peek(*stack))?;
                let base = self.base();
                self.free_running(base);
                args.push(Value::Zero);
                self.resume(target, None);
                self.deliver(target, args)
            }
            Bag::Throw { tag, args, stack, .. } => {
                let args = self.take_all(args);
                self.switch_throw(*tag, args, self.peek(*stack), None)
            }
            Bag::ReturnThrow { tag, args, stack, function, .. } => {
                let args = self.take_all(args);
                self.switch_throw(*tag, args, self.peek(*stack), Some(*function))
            }
        }
    }

    /// Leaves the running stack, or the function too if another will replace it. The target gets
    /// the suspended stack as its last value.
    fn go_to(
        &mut self,
        stack: Value,
        function: Option<FunctionId>,
        values: &mut Vec<Value>,
    ) -> Result<StackId, Trap> {
        let target = self.check_target(stack)?;
        self.leave_function(function);
        values.push(self.suspend_base());
        self.resume(target, None);
        Ok(target)
    }

    fn switch_stack(
        &mut self,
        mut values: Vec<Value>,
        stack: Value,
        function: Option<FunctionId>,
    ) -> Step {
        let target = self.go_to(stack, function, &mut values)?;
        self.deliver(target, values)
    }

    /// Throws an exception in the target, with the suspended stack as its last value.
    fn switch_throw(
        &mut self,
        tag: TagId,
        mut values: Vec<Value>,
        stack: Value,
        function: Option<FunctionId>,
    ) -> Step {
        let target = self.go_to(stack, function, &mut values)?;
        self.stacks[target].bound.clear();
        if self.stacks[self.running].fresh.is_some() {
            return Err(Trap("exception escaped a coroutine"));
        }
        let exception = self.new_exception(tag, values);
        self.throw(exception)
    }

    /// Suspends everything up to the base, and returns a reference to it.
    pub(super) fn suspend_base(&mut self) -> Value {
        let base = self.base();
        self.suspend(base);
        self.once(base)
    }

    /// For `return_switch`: leaves the function now, and replaces it by another when control
    /// returns.
    fn leave_function(&mut self, replaced_by: Option<FunctionId>) {
        if replaced_by.is_some() {
            self.drop_linear_locals();
            let frame = self.frame();
            frame.cursors.clear();
            frame.replaced_by = replaced_by;
        }
    }
}
