//! Tasks.

use crate::intrinsic::TaskOp;
use crate::intrinsic::form::Use;
use crate::translate::{Translator, trap};
use cranelift_codegen::ir::{InstBuilder, Value, types::*};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{Builtin, ControlBlock, TrapCode};
use std::mem::offset_of;

const KIND: StackKind = StackKind::Task;

impl Translator<'_> {
    pub(super) fn task_intrinsic(&mut self, op: TaskOp, used: &Use) {
        match op {
            TaskOp::New => self.task_new(used),
            TaskOp::Resume => self.task_resume(used),
            TaskOp::Suspend => self.task_suspend(used),
            TaskOp::SwitchTo => self.task_switchto(used),
            TaskOp::Retire => self.task_retire(used),
            TaskOp::Release => self.task_release(used),
        }
    }

    fn task_new(&mut self, used: &Use) {
        let mut values = self.pop_operands(used);
        let function = values.pop().expect("the last operand is the function");
        let block = self.new_stack(KIND, used, function, &values);
        let reference = self.reference_of_kind(block, KIND);
        let made = self.env.info.function_type(used.function).results()[0];
        self.push_typed(reference, made);
    }

    fn task_resume(&mut self, used: &Use) {
        let values = self.pop_operands(used);
        let task = self.suspended_task(values[0]);
        self.wait(used);
        let current = self.current_stack();
        let innermost = self.load_word(task, offset_of!(ControlBlock, innermost));
        self.attach(task, current);
        self.pass_values(used, &values[1..], innermost);
    }

    fn task_suspend(&mut self, used: &Use) {
        let values = self.pop_operands(used);
        let task = self.running_task(values[0]);
        let parent = self.detach(task);
        self.pass_values(used, &values[1..], parent);
    }

    fn task_switchto(&mut self, used: &Use) {
        let values = self.pop_operands(used);
        let from = self.running_task(values[0]);
        let to = self.suspended_task(values[1]);
        let parent = self.detach(from);
        let innermost = self.load_word(to, offset_of!(ControlBlock, innermost));
        self.attach(to, parent);
        self.pass_values(used, &values[2..], innermost);
    }

    fn task_retire(&mut self, used: &Use) {
        let values = self.pop_operands(used);
        let task = self.running_task(values[0]);
        let parent = self.load_word(task, offset_of!(ControlBlock, parent));
        self.release_up_to(task);
        self.pass_values(used, &values[1..], parent);
        self.unreachable();
    }

    fn task_release(&mut self, used: &Use) {
        let values = self.pop_operands(used);
        let task = self.suspended_task(values[0]);
        self.call_builtin(Builtin::release_suspended, &[task]);
    }

    // ---- the parts

    /// The block of a task, which must be suspended.
    fn suspended_task(&mut self, reference: Value) -> Value {
        let block = self.check_reference(reference, KIND);
        let parent = self.load_word(block, offset_of!(ControlBlock, parent));
        self.builder.ins().trapnz(parent, trap(TrapCode::TaskNotSuspended));
        block
    }

    /// The block of a task, which must be the running one or above it.
    fn running_task(&mut self, reference: Value) -> Value {
        self.running_one(reference, KIND, |this| this.complain(reference, KIND))
    }

    /// Leaves the running stack and continues another with values; pushes those
    /// with which somebody switches back.
    fn pass_values(&mut self, used: &Use, values: &[Value], to: Value) {
        let env = self.env;
        let results = env.info.function_type(used.function).results();
        let none = self.builder.ins().iconst(I64, 0);
        let delivery = self.exchange(to, none, none, values, results.len());
        self.receive(results, &delivery);
    }
}
