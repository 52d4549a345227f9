//! References of every type: null, functions, and branches on null.

use super::Translator;
use super::control::block_args;
use crate::emit::trap;
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{InstBuilder, types::*};
use ropewalk_abi::{RefType, TrapCode, ValType};

impl Translator<'_> {
    pub(super) fn ref_null(&mut self) {
        let null = self.null();
        self.push(null);
    }

    pub(super) fn ref_is_null(&mut self) {
        let reference = self.pop();
        let null = self.ins().icmp_imm_u(IntCC::Equal, reference, 0);
        let null = self.ins().uextend(I32, null);
        self.push(null);
    }

    pub(super) fn ref_func(&mut self, function: u32) {
        let number = self.env.info.func_refs[function as usize];
        let offset = self.env.layout.func_ref(number);
        let reference = self.builder.ins().iadd_imm_s(self.context, i64::from(offset));
        self.push_typed(reference, ValType::Ref(RefType::FUNCREF));
    }

    pub(super) fn ref_as_non_null(&mut self) {
        let reference = self.pop();
        self.ins().trapz(reference, trap(TrapCode::NullReference));
        self.push(reference);
    }

    pub(super) fn br_on_null(&mut self, depth: u32) {
        let reference = self.pop();
        let target = self.branch_target(depth);
        let next = self.builder.create_block();
        let args = block_args(&target.operands);
        self.ins().brif(reference, next, &[], target.block, &args);
        self.emit_intermediate(&target);
        self.enter_sealed(next);
        self.push(reference);
    }

    pub(super) fn br_on_non_null(&mut self, depth: u32) {
        let reference = *self.stack.last().expect("validated");
        let target = self.branch_target(depth);
        let next = self.builder.create_block();
        let args = block_args(&target.operands);
        self.ins().brif(reference, target.block, &args, next, &[]);
        self.emit_intermediate(&target);
        self.enter_sealed(next);
        self.pop();
    }
}
