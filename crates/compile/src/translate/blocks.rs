//! Common and cold blocks, and conditional stores.

use super::Translator;
use crate::emit::record::{Field, Records};
use cranelift_codegen::ir::condcodes::IntCC;
use cranelift_codegen::ir::{Block, InstBuilder, Value, types::*};
use cranelift_frontend::{FuncInstBuilder, FunctionBuilder};

impl<'a> Records<'a> for Translator<'a> {
    fn builder(&mut self) -> &mut FunctionBuilder<'a> {
        &mut self.builder
    }
}

impl<'a> Translator<'a> {
    /// Appends an instruction.
    pub(crate) fn ins<'b>(&'b mut self) -> FuncInstBuilder<'b, 'a> {
        self.builder.ins()
    }

    pub(crate) fn cold_block(&mut self) -> Block {
        let cold = self.builder.create_block();
        self.builder.set_cold_block(cold);
        cold
    }

    /// A cold block, and the block where it rejoins the common path.
    pub(crate) fn cold_and_next(&mut self) -> [Block; 2] {
        [self.cold_block(), self.next_block()]
    }

    /// A block that is cold if the current one is.
    pub(crate) fn next_block(&mut self) -> Block {
        let current = self.builder.current_block();
        let is_cold = current.is_some_and(|block| self.builder.func.layout.is_cold(block));
        match is_cold {
            true => self.cold_block(),
            false => self.builder.create_block(),
        }
    }

    /// Continues here if a condition holds, otherwise at `cold`.
    pub(crate) fn continue_if(&mut self, condition: Value, cold: Block) {
        let next = self.next_block();
        self.ins().brif(condition, next, &[], cold, &[]);
        self.enter_sealed(next);
    }

    /// Continues at `cold` if a condition holds, otherwise here.
    pub(crate) fn continue_unless(&mut self, condition: Value, cold: Block) {
        let next = self.next_block();
        self.ins().brif(condition, cold, &[], next, &[]);
        self.enter_sealed(next);
    }

    /// Emits cold code for a condition.
    pub(crate) fn if_cold(&mut self, condition: Value, emit: impl FnOnce(&mut Self)) {
        let [cold, next] = self.cold_and_next();
        self.ins().brif(condition, cold, &[], next, &[]);
        self.enter_sealed(cold);
        emit(self);
        self.jump(next, &[]);
        self.enter_sealed(next);
    }

    /// Adds words to the parameters of a block.
    pub(crate) fn words<const N: usize>(&mut self, block: Block) -> [Value; N] {
        std::array::from_fn(|_| self.builder.append_block_param(block, I64))
    }

    /// Sets a field unless it already has the value: a store costs more than a load.
    pub(crate) fn set_if_different<R>(&mut self, record: Value, field: Field<R>, value: Value) {
        let present = self.get(record, field);
        let is_other = self.ins().icmp(IntCC::NotEqual, value, present);
        self.if_cold(is_other, |this| this.set(record, field, value));
    }
}
