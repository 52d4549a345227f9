//! The code of the operations.

use crate::design::call::OperationCall;
use crate::design::shared::Case;
use crate::emit::record::{Records, block};
use crate::translate::{Known, Translator, trap};
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use ropewalk_abi::stack::StackKind;
use ropewalk_abi::{Builtin, TrapCode, ValType};

const KIND: StackKind = StackKind::Task;

impl Translator<'_> {
    pub(crate) fn task_new(&mut self, call: &OperationCall) {
        let mut values = self.pop_operands(call);
        let function = values.pop().expect("the last operand is the function");
        let block = self.new_stack(KIND, call, function, &values);
        let reference = self.reference_of_kind(block, KIND);
        let made = self.env.info.function_type(call.import).results()[0];
        self.push_typed(reference, made);
    }

    pub(crate) fn task_resume(&mut self, call: &OperationCall) {
        let values = self.pop_operands(call);
        let types = self.env.info.function_type(call.import).params();
        let back = self.back_with_results(call);
        self.know_running(Known::Stack);
        let task = self.check_reference(values[0], KIND);
        self.in_both_cases(|this, case| {
            let innermost = this.innermost_of_task(task, case);
            this.wait(call);
            let current = this.current_stack();
            this.attach(task, current, case);
            this.continue_with(&values[1..], &types[1..], innermost, back);
        });
        self.receive_results(call, back);
    }

    pub(crate) fn task_suspend(&mut self, call: &OperationCall) {
        let values = self.pop_operands(call);
        let types = self.env.info.function_type(call.import).params();
        let back = self.back_with_results(call);
        self.know_running(Known::Reference);
        self.in_both_cases(|this, case| {
            let task = this.running_task(values[0], case);
            let parent = this.detach(task, case);
            this.continue_with(&values[1..], &types[1..], parent, back);
        });
        self.receive_results(call, back);
    }

    pub(crate) fn task_switchto(&mut self, call: &OperationCall) {
        let values = self.pop_operands(call);
        let types = self.env.info.function_type(call.import).params();
        let back = self.back_with_results(call);
        self.know_running(Known::Reference);
        self.in_both_cases(|this, case| {
            let from = this.running_task(values[0], case);
            let to = this.check_reference(values[1], KIND);
            let innermost = this.innermost_of_task(to, case);
            let parent = this.detach(from, case);
            this.attach(to, parent, case);
            this.continue_with(&values[2..], &types[2..], innermost, back);
        });
        self.receive_results(call, back);
    }

    pub(crate) fn task_retire(&mut self, call: &OperationCall) {
        let values = self.pop_operands(call);
        let types = self.env.info.function_type(call.import).params();
        let back = self.back(0);
        self.know_running(Known::Reference);
        self.in_both_cases(|this, case| {
            let task = this.running_task(values[0], case);
            let parent = this.get(task, block::PARENT);
            this.release_one(task, case);
            this.continue_with(&values[1..], &types[1..], parent, back);
        });
        self.come_back(back);
        self.unreachable();
    }

    pub(crate) fn task_release(&mut self, call: &OperationCall) {
        let values = self.pop_operands(call);
        let task = self.check_reference(values[0], KIND);
        self.innermost_of_task(task, Case::Any);
        self.call_builtin(Builtin::release_suspended, &[task]);
    }

    // ---- the parts

    /// The innermost of the stacks that are suspended with a task, which must be
    /// suspended.
    pub(crate) fn innermost_of_task(&mut self, task: Value, case: Case) -> Value {
        self.innermost_of_suspended(task, case, |this, parent| {
            this.builder.ins().trapnz(parent, trap(TrapCode::TaskNotSuspended));
        })
    }

    /// The block of a task, which must be the running one or above it.
    pub(crate) fn running_task(&mut self, reference: Value, case: Case) -> Value {
        self.running_one(reference, KIND, case, |this| this.trap_invalid(reference, KIND))
    }

    /// Leaves the running stack and continues another with values.
    pub(crate) fn continue_with(
        &mut self,
        values: &[Value],
        types: &[ValType],
        to: Value,
        back: Block,
    ) {
        let none = self.builder.ins().iconst(I64, 0);
        let reference = self.get(to, block::REFERENCE);
        let carried = self.carry(values, types);
        self.switch_to(to, none, reference, &carried, back);
    }

    /// Where somebody switches back with the results of a call.
    pub(crate) fn back_with_results(&mut self, call: &OperationCall) -> Block {
        self.back(self.env.info.function_type(call.import).results().len())
    }

    pub(crate) fn receive_results(&mut self, call: &OperationCall, back: Block) {
        let env = self.env;
        let delivery = self.come_back_regrouped(back);
        self.receive(env.info.function_type(call.import).results(), &delivery);
    }
}
