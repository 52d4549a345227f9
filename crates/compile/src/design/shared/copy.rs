//! Copies of what is suspended.

use crate::design::call::OperationCall;
use crate::translate::Translator;
use cranelift_codegen::ir::Value;
use ropewalk_abi::Builtin;
use ropewalk_abi::stack::StackKind;

impl Translator<'_> {
    /// Copies what the operand of a call names, which stays as it is.
    pub(crate) fn copy_operand(&mut self, call: &OperationCall, kind: StackKind) {
        let reference = self.pop();
        let copy = self.copy_stack(reference, kind);
        self.push_typed(copy, self.env.info.function_type(call.import).results()[0]);
    }

    /// Copies a first-class stack: its owner has both from then on.
    pub(crate) fn copy_owned(&mut self, call: &OperationCall) {
        let reference = self.pop();
        let copy = self.copy_stack(reference, StackKind::FirstClass);
        for (stack, ty) in
            [reference, copy].into_iter().zip(self.env.info.function_type(call.import).results())
        {
            self.push_typed(stack, *ty);
        }
    }

    /// Copies what a reference of a kind names; returns the reference to the copy.
    fn copy_stack(&mut self, reference: Value, kind: StackKind) -> Value {
        let kind = self.index(kind as u64);
        self.call_builtin(Builtin::copy_stack, &[reference, kind])
    }
}
