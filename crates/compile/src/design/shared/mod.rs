//! What the designs share: typed continuations share with them the check of a
//! [reference](crate::translate::stack_reference) and the
//! [switch](crate::translate::switching).
//!
//! A stack that is suspended without a parent is one of these:
//!
//! * a [base](base), or several stacks up to a base, of which the base's reference is
//!   good for one use (bag of stacks, first-class stacks);
//! * one that can be [resumed again and again](resumable): a task or fiber, or
//!   several stacks up to one, whose reference stays the same and whose parent is
//!   null exactly while it is suspended.

mod base;
mod copy;
mod event;
pub(crate) mod new_stack;
mod resumable;

use crate::design::call::OperationCall;
use crate::emit::record::{block, store};
use crate::translate::Translator;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, MemFlagsData, Value, types::*};
use ropewalk_abi::stack::Purpose;
use wasmparser::Operator;

/// Which case of an instruction is emitted. The common one comes first: the
/// running stack is the one that is left, and the other one is suspended alone.
/// Where that is not so it goes to the other, before it has changed anything.
#[derive(Clone, Copy)]
pub(crate) enum Case {
    Common { otherwise: Block },
    Any,
}

impl Translator<'_> {
    /// Opens the `try_table` around a call of an operation. It catches no
    /// exceptions.
    pub fn open_form(&mut self, operator: &Operator<'_>) {
        let Operator::TryTable { try_table } = operator else {
            unreachable!("only these open a form");
        };
        match self.is_reachable() {
            true => self.block(try_table.ty),
            false => self.open_unreachable(),
        }
    }

    /// Translates a call of an operation.
    pub fn operation_call(&mut self, call: &OperationCall) {
        if !self.is_reachable() {
            return;
        }
        (call.operation.translate)(self, call);
    }

    /// Pops the operands of a call, the first one first.
    pub(crate) fn pop_operands(&mut self, call: &OperationCall) -> Vec<Value> {
        let env = self.env;
        let count = env.info.function_type(call.import).params().len();
        self.stack.split_off(self.stack.len() - count)
    }

    /// Emits an instruction in the common case, and in any.
    pub(crate) fn in_both_cases(&mut self, mut emit: impl FnMut(&mut Self, Case)) {
        let otherwise = self.cold_block();
        emit(self, Case::Common { otherwise });
        self.enter_sealed(otherwise);
        emit(self, Case::Any);
    }

    /// What a stack is used for.
    pub(crate) fn load_purpose(&mut self, block: Value) -> Value {
        let offset = block::PURPOSE_AND_OWNS.offset;
        self.builder.ins().uload8(I32, MemFlagsData::trusted(), block, offset)
    }

    pub(crate) fn has_purpose(&mut self, actual: Value, purpose: Purpose) -> Value {
        self.builder.ins().icmp_imm_u(IntCC::Equal, actual, purpose as i64)
    }

    pub(crate) fn no_parent(&mut self) -> Value {
        self.get_from_store(store::NO_PARENT)
    }
}
