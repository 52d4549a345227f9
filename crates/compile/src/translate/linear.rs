//! Instructions that drop or move first-class stacks, whose type is linear.

use super::Translator;
use cranelift_codegen::ir::Value;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types::*};
use ropewalk_abi::{Builtin, ValType};
use wasmparser::{FuncValidator, Operator, ValidatorResources};

impl Translator<'_> {
    /// Whether the topmost operand is a first-class stack.
    pub(crate) fn is_stack_on_top(&self, validator: &FuncValidator<ValidatorResources>) -> bool {
        if !self.env.has_stackrefs {
            return false;
        }
        let top = validator.get_operand_type(0).flatten();
        top.is_some_and(|ty| self.env.subtyping().is_stackref(ty))
    }

    /// Translates an operator whose topmost operand is a first-class stack, if it frees the stack.
    pub(crate) fn linear(&mut self, operator: &Operator<'_>) -> bool {
        if !self.is_reachable() {
            return false;
        }
        match operator {
            Operator::Drop => {
                let reference = self.pop();
                self.free_unless_null(reference);
            }
            Operator::RefIsNull => {
                let reference = self.pop();
                let is_null = self.ins().icmp_imm_u(IntCC::Equal, reference, 0);
                let is_null = self.ins().uextend(I32, is_null);
                self.free_unless_null(reference);
                self.push(is_null);
            }
            _ => return false,
        }
        true
    }

    /// Frees a stack. The reference is usually null: a function drops all its locals, and has moved
    /// the stacks out of them before.
    pub(super) fn free_unless_null(&mut self, reference: Value) {
        self.if_cold(reference, |this| {
            this.call_builtin(Builtin::drop_stack, &[reference]);
        });
    }

    /// Takes a value out of a caught exception. If it is a stack, the copy that stays in the
    /// exception becomes stale.
    pub(super) fn take_from_exception(&mut self, value: Value, ty: ValType) -> Value {
        match self.env.subtyping().is_brand(ty, crate::module::STACK_BRAND) {
            true => self.call_builtin(Builtin::deliver_stack, &[value]),
            false => value,
        }
    }
}
